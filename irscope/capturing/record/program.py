"""Runs and captures the user's program in a separate process; the parent writes the capture.

The parent's half is `run_captured`. It starts the child as `python -m irscope.capturing.record.program FD`,
which runs the program as Python itself would (main_module.py).
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from types import FrameType

from irscope.capturing.fake_cuda.stub_modules import print_missing
from irscope.capturing.messages import (
    Answer,
    DisconnectedError,
    Finished,
    Program,
    Question,
    Record,
    StartProgram,
    SubprocessOptions,
    receive,
    send,
)
from irscope.capturing.record.background_writer import BackgroundWriter
from irscope.capturing.record.main_module import run_program
from irscope.capturing.record.subprocesses import OwnCapture, announce, capture_forks
from irscope.capturing.torch_ptxas import use_torch_ptxas
from irscope.model import UserError
from irscope.plugins import silence


def run_captured(program: Program, subprocesses: SubprocessOptions, writer: BackgroundWriter) -> int:
    """Runs the program and writes its records; returns its exit code, 128 + N if signal N ended it.

    `subprocesses` says where the processes that it starts write theirs.
    """
    ours, theirs = socket.socketpair()
    child = subprocess.Popen(
        [sys.executable, "-m", "irscope.capturing.record.program", str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
    )
    theirs.close()
    with Connection(ours.detach()) as pipe, _forwarded_signals(child):
        with suppress(DisconnectedError):
            send(pipe, StartProgram(program, subprocesses))
            while True:
                record = receive(pipe)
                if isinstance(record, Question):
                    send(pipe, writer.ask(record))
                elif isinstance(record, Record):
                    writer.put(record)
        code = child.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def _forwarded_signals(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ignores Ctrl-C, which the terminal sends to the program too, and forwards SIGTERM to the program."""

    def ignore(number: int, frame: FrameType | None) -> None:
        return

    def forward(number: int, frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(child.pid, number)

    handlers = ((signal.SIGINT, ignore), (signal.SIGTERM, forward))
    old = [(number, signal.signal(number, handler)) for number, handler in handlers]
    try:
        yield
    finally:
        for number, handler in old:
            signal.signal(number, handler)


class PipeLink:
    """Sends records to the parent, or nowhere once it has ended; a forked process writes its own capture."""

    def __init__(self, pipe: Connection, forked: OwnCapture) -> None:
        self._pipe, self._owner, self._lock = pipe, os.getpid(), threading.Lock()
        self._forked = forked

    def put(self, record: Record) -> None:
        """Sends a record."""
        if os.getpid() != self._owner:
            self._forked.put(record)
            return
        with self._lock, suppress(DisconnectedError):
            send(self._pipe, record)

    def ask(self, question: Question) -> Answer | None:
        """Sends a question and waits for its answer; None if the parent has ended."""
        if os.getpid() != self._owner:
            return self._forked.ask(question)
        with self._lock, suppress(DisconnectedError):
            send(self._pipe, question)
            answer = receive(self._pipe)
            return answer if isinstance(answer, Answer) else None
        return None


def main(descriptor: int) -> int:
    """Runs and captures the program that the parent names; returns its exit code."""
    silence()
    os.set_inheritable(descriptor, False)
    pipe = Connection(descriptor)
    start = receive(pipe)
    if not isinstance(start, StartProgram):
        raise TypeError(start)
    link = PipeLink(pipe, OwnCapture(start.subprocesses))
    announce(start.subprocesses)

    from irscope.capturing.record.session import recording

    # Makes torch.compile compile its kernels in this process, which records them, instead of in workers.
    if os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1") == "1":
        use_torch_ptxas()
    try:
        with recording(start.subprocesses.options, link) as fork_hooks:
            capture_forks(fork_hooks, link)
            code = run_program(start.program)
            if code:
                print_missing()
    except UserError as error:
        print(f"irscope: {error.command_line_text}", file=sys.stderr)
        code = 2
    link.ask(Finished())
    return code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
