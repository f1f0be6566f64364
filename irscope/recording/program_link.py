"""The pipe from the program to the process that writes the capture, which the program must not notice.

Its descriptor is out of the way of those that the program opens, survives a program that closes all
descriptors (as daemons do), and is closed in a process that the program forks.

The interface between the recorders and the process that writes the capture.
"""

from __future__ import annotations

import fcntl
import functools
import os
import resource
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Protocol

from irscope.compiling.messages import Answer, DisconnectedError, Question, Record, receive, send
from irscope.model.errors import print_note
from irscope.recording.shadowed_modules import ShadowedModules
from irscope.recording.subprocesses import ProcessCapture

# The first descriptor to try; select() does not take more than 1024.
_DESCRIPTOR = 1000


def out_of_the_way(descriptor: int) -> int:
    """Move the descriptor to a high number: the program's first file gets the number 3 as always."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = _DESCRIPTOR + 24 if limit == resource.RLIM_INFINITY else limit
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, max(min(_DESCRIPTOR, most - 8), 3))
    os.close(descriptor)
    return moved


class PipeLink:
    """Sends records to the parent, or nowhere once it has ended; a forked process writes its own capture."""

    def __init__(self, pipe: Connection, forked: ProcessCapture, shadowed: ShadowedModules) -> None:
        self._pipe, self._owner, self._lock = pipe, os.getpid(), threading.RLock()
        self._forked, self._shadowed = forked, shadowed
        self._identity = _identity(pipe.fileno())
        self._lost = False
        os.register_at_fork(after_in_child=self._pipe.close)
        _protect(pipe.fileno())

    def put(self, record: Record) -> None:
        """Send a record."""
        if os.getpid() != self._owner:
            self._forked.put(record)
            return
        with self._lock, self._shadowed.set_aside(), suppress(DisconnectedError):
            if self._usable():
                send(self._pipe, record)

    def ask(self, question: Question) -> Answer | None:
        """Send a question and wait for its answer; None if the parent has ended."""
        if os.getpid() != self._owner:
            return self._forked.ask(question)
        with self._lock, self._shadowed.set_aside(), suppress(DisconnectedError):
            if self._usable():
                send(self._pipe, question)
                answer = receive(self._pipe)
                return answer if isinstance(answer, Answer) else None
        return None

    def _usable(self) -> bool:
        """Return True if the pipe is still ours.

        The program may have closed or replaced it in compiled code.
        """
        if not self._lost and _identity(self._pipe.fileno()) != self._identity:
            self._lost = True
            print_note("the program closed irscope's pipe: the rest is not captured")
        return not self._lost


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _protect(kept: int) -> None:
    """`os.close` and `os.closerange` leave this descriptor open, as if it were not there."""
    close, close_range, owner = os.close, os.closerange, os.getpid()

    @functools.wraps(close)
    def close_other(fd: int) -> None:
        if fd == kept and os.getpid() == owner:
            raise OSError(9, "Bad file descriptor")
        close(fd)

    @functools.wraps(close_range)
    def close_others(fd_low: int, fd_high: int, /) -> None:
        if fd_low <= kept < fd_high and os.getpid() == owner:
            close_range(fd_low, kept)
            fd_low = kept + 1
        close_range(fd_low, fd_high)

    os.close, os.closerange = close_other, close_others


# The note of a capture without kernels.
NO_KERNEL_LAUNCHED = "this process launched no @triton.jit kernel"
# The note if the kernels ran without being compiled, so that there is nothing to capture.
INTERPRETED = "TRITON_INTERPRET is set, so that Triton compiles no kernel: run the program without it"

NEEDS_TRITON = "needs triton, which is not installed: pip install 'irscope[run]' (Linux)"


class Link(Protocol):
    """The destination of this process's records."""

    def put(self, record: Record) -> None:
        """Send a record."""

    def ask(self, question: Question) -> Answer | None:
        """Send a question and wait for its answer; None if the other process has ended."""
