"""Running a program in a process of its own and writing what it tells."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from types import FrameType

from irscope.capturing.messages import Program
from irscope.capturing.record.background_writer import Writing
from irscope.capturing.record.subprocesses import Subprocesses


def run(program: Program, children: Subprocesses, writing: Writing) -> int:
    """Runs the program to its end, writing all it tells; its exit code, 128 + N where signal N ended it.

    What the processes that it starts compile goes where `children` says.
    """
    ours, theirs = socket.socketpair()
    child = subprocess.Popen(
        [sys.executable, "-m", "irscope.capturing.record.script", str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
    )
    theirs.close()
    with Connection(ours.detach()) as pipe, _passing_signals(child):
        with suppress(EOFError, ConnectionResetError, BrokenPipeError):
            pipe.send((program, children))
            while True:
                message, asks = pipe.recv()
                if asks:
                    pipe.send(writing.ask(message))
                else:
                    writing.put(message)
        code = child.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def _passing_signals(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ctrl-C reaches the program from the terminal, SIGTERM from here; we stay until it has ended."""

    def stay(number: int, frame: FrameType | None) -> None:
        return

    def pass_on(number: int, frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(child.pid, number)

    handlers = ((signal.SIGINT, stay), (signal.SIGTERM, pass_on))
    old = [(number, signal.signal(number, handler)) for number, handler in handlers]
    try:
        yield
    finally:
        for number, handler in old:
            signal.signal(number, handler)
