"""The process that runs the user's program, with its own stdin, stdout and stderr.

Started as `python -m irscope.capturing.record.script FD` by run.py, which writes what this sends.
"""

from __future__ import annotations

import os
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

from irscope.capturing.messages import Finished, Message
from irscope.capturing.record.subprocesses import OwnCapture, announce, capture_forks


class PipeLink:
    """The way to the parent. Where that is gone, nothing is sent; a process forked from this has its own."""

    def __init__(self, pipe: Connection, forked: OwnCapture) -> None:
        self._pipe, self._owner, self._lock = pipe, os.getpid(), threading.Lock()
        self._forked = forked

    def put(self, message: Message) -> None:
        """Sends a message, if anybody is there."""
        if os.getpid() != self._owner:
            self._forked.put(message)
            return
        with self._lock:
            self._send(message)

    def ask(self, message: Message) -> Any:
        """Sends a message and waits for its answer; None where nobody is there."""
        if os.getpid() != self._owner:
            return self._forked.ask(message)
        with self._lock:
            try:
                self._pipe.send((message, True))
                return self._pipe.recv()
            except (BrokenPipeError, ConnectionResetError, EOFError):
                return None

    def _send(self, message: Message) -> None:
        try:
            self._pipe.send((message, False))
        except (BrokenPipeError, ConnectionResetError):
            return


def main(descriptor: int) -> int:
    """Runs the program that the parent names, capturing it; its exit code."""
    os.set_inheritable(descriptor, False)
    pipe = Connection(descriptor)
    program, children = pipe.recv()
    link = PipeLink(pipe, OwnCapture(children))
    announce(children)

    from irscope.capturing.record.program import run_program
    from irscope.capturing.record.session import capturing
    from irscope.model import UserError

    # torch.compile's kernels are seen where they are compiled: in this process, not in its workers.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    try:
        with capturing(children.options, link) as running:
            capture_forks(running, link)
            code = run_program(program)
    except UserError as error:
        print(f"irscope: {error}", file=sys.stderr)
        code = 2
    link.ask(Finished())
    return code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
