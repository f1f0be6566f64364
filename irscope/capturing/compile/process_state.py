"""The state that user code can change in a worker: restored between tasks, so that no task affects the next.

Importing a kernel file may change it for good, as it does in the user's program, except for what the compiler
itself needs: the file mode of the cache (umask), the signal of an ended ptxas (SIGCHLD), stdout and stderr.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

# stdout and stderr go to the file that the parent reads.
_LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
_STREAMS = ((1, "stdout"), (2, "stderr"))


@dataclass(frozen=True)
class ProcessState:
    """The state of this process when it was made."""

    folder: str | None
    environment: Mapping[str, str]
    handlers: Mapping[signal.Signals, Any]
    recursion_limit: int
    limits: Mapping[int, tuple[int, int]]

    @classmethod
    def current(cls) -> ProcessState:
        """The state of this process now."""
        folder = None
        with suppress(OSError):  # it may have been removed
            folder = os.getcwd()  # noqa: PTH109
        handlers = {number: signal.getsignal(number) for number in signal.Signals}
        limits = {number: resource.getrlimit(number) for number in _LIMITS}
        return cls(folder, dict(os.environ), handlers, sys.getrecursionlimit(), limits)

    def restore(self) -> bool:
        """Makes this the state of the process again; False if that is not possible."""
        for number, before in self.limits.items():
            if resource.getrlimit(number) != before:
                try:
                    resource.setrlimit(number, before)
                except (OSError, ValueError):  # a hard limit was lowered
                    return False
        if self.folder is not None:
            with suppress(OSError):
                os.chdir(self.folder)
        if os.environ != self.environment:
            os.environ.clear()
            os.environ.update(self.environment)
        self.restore_handlers()
        sys.setrecursionlimit(self.recursion_limit)
        return True

    def restore_handlers(self) -> None:
        """Restores the handlers of all signals that Python knows; ends timers."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self.handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                with suppress(OSError, ValueError):
                    signal.signal(number, handler)


class Isolation:
    """Keeps what tasks do to this process from the tasks after them; made before any user code runs."""

    def __init__(self) -> None:
        self._umask = _umask()
        self._first = ProcessState.current()
        self._printed = os.dup(1)
        self.spoiled = False

    @contextmanager
    def task(self) -> Iterator[None]:
        """Restores after the block what it changed; if it cannot, the process is `spoiled`."""
        process, state = os.getpid(), ProcessState.current()
        try:
            yield
        finally:
            self.spoiled = not state.restore() and os.getpid() == process
            self.repair()

    def repair(self) -> None:
        """Restores what the compiler needs, after the import of a kernel file or a task."""
        os.umask(self._umask)
        self._first.restore_handlers()
        for descriptor, name in _STREAMS:
            if not _same_file(descriptor, self._printed):
                os.dup2(self._printed, descriptor)
            stream = getattr(sys, name)
            if stream is None or getattr(stream, "closed", False):
                setattr(sys, name, open(descriptor, "w", closefd=False, errors="replace"))  # noqa: SIM115


def _umask() -> int:
    now = os.umask(0o077)
    os.umask(now)
    return now


def _same_file(descriptor: int, other: int) -> bool:
    try:
        return os.path.sameopenfile(descriptor, other)
    except OSError:  # it is closed
        return False
