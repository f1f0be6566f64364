"""Interrupting a bisection: by Ctrl-C, by the end of its terminal, or by a time limit such as timeout(1)'s.

The interruption ends the main thread's wait at once. Threads that still build are left behind: the caller
writes what is known, then ends the process, which ends the compilers that it started.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from irscope.compiling.processes.temporary_folders import remove_at_end

_Handler = Callable[[int, FrameType | None], Any] | int | None
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal asked the process to end; `number` is that of the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def signal_of(error: KeyboardInterrupt) -> signal.Signals:
    """Return the signal that an interruption came from: Ctrl-C sends SIGINT."""
    return signal.Signals(error.number if isinstance(error, Interrupted) else signal.SIGINT)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise Interrupted in the block, as Ctrl-C raises KeyboardInterrupt.

    Temporary files of the block are in a folder that is removed also if threads are left behind. In a thread
    other than the main one, signals stay as they are.
    """
    before: dict[signal.Signals, _Handler] = {}
    with suppress(ValueError):
        for number in _SIGNALS:
            before[number] = signal.signal(number, _interrupt)
    own, outer = tempfile.mkdtemp(prefix="irscope-"), tempfile.tempdir
    tempfile.tempdir = own
    handlers: dict[signal.Signals, _Handler] = before
    try:
        yield
        tempfile.tempdir = outer
    except KeyboardInterrupt:
        # timeout(1) sends its signal twice: the second must not cut off the report.
        handlers = dict.fromkeys(before, signal.SIG_IGN)
        # Threads that are left behind may still make files there.
        remove_at_end(own)
        raise
    except BaseException:
        tempfile.tempdir = outer
        raise
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        shutil.rmtree(own, ignore_errors=True)


def _interrupt(number: int, frame: FrameType | None) -> None:
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted(number)


@contextmanager
def threads(number: int) -> Iterator[ThreadPoolExecutor]:
    """Run work in threads and wait for it; if the block is interrupted, wait for nothing."""
    executor = ThreadPoolExecutor(number)
    try:
        yield executor
    except KeyboardInterrupt:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    except BaseException:
        executor.shutdown()
        raise
    executor.shutdown()


def end_process(error: KeyboardInterrupt) -> None:
    """End this process without waiting for threads; its exit status is that of a shell's for the signal."""
    os._exit(128 + signal_of(error))
