"""The lock that a writer holds on its capture until it closes: `NAME.irscope-lock`, next to SQLite's files.

SQLite locks transactions. This locks the file for all of them, so that no second writer replaces it.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from irscope.model import UserError
from irscope.model.text import clipped, one_line

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_MAX_HOLDER = 200
# The locks of this process by path: the operating system does not refuse a process its own lock.
_held: dict[str, int] = {}


class OutputLock:
    """A lock on `target`, held until `release`; the operating system releases it if the process dies.

    Raises UserError, which names the holder, if another writer has it; OSError if it cannot be made.
    """

    def __init__(self, target: Path, shown: Path) -> None:
        self._path = str(lock_file(target))
        self._descriptor = -1
        if _held.get(self._path) == os.getpid():
            raise _busy(shown, f"process {os.getpid()}, this one,")
        if fcntl is not None:
            self._descriptor = _locked(self._path, shown)
        _held[self._path] = os.getpid()

    def release(self) -> None:
        """Releases the lock and removes its file; does nothing in a process forked from the holder."""
        if _held.get(self._path) != os.getpid():
            return
        del _held[self._path]
        if self._descriptor >= 0:
            Path(self._path).unlink(missing_ok=True)  # before others can lock it: they look at its links
            os.close(self._descriptor)


def lock_file(path: Path) -> Path:
    """The file that is locked while `path` is written; a killed writer leaves it, unlocked."""
    return Path(os.path.realpath(path) + "-lock")


def _locked(path: str, shown: Path) -> int:
    """The descriptor of a locked file at `path`. Raises UserError if another process has it locked."""
    while True:
        descriptor = os.open(path, _FLAGS, 0o644)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError) as error:
            holder = os.pread(descriptor, _MAX_HOLDER, 0).decode("utf-8", "replace")
            os.close(descriptor)
            raise _busy(shown, one_line(holder.strip()) or "another process") from error
        except OSError:  # a file system without locks
            pass
        if os.fstat(descriptor).st_nlink:  # else its last holder has just removed it
            break
        os.close(descriptor)
    os.ftruncate(descriptor, 0)
    command = clipped(shlex.join(sys.argv), _MAX_HOLDER // 2)
    os.pwrite(descriptor, f"process {os.getpid()} ({command})".encode("utf-8", "replace"), 0)
    return descriptor


def _busy(shown: Path, holder: str) -> UserError:
    return UserError(f"{shown} is being written by {holder}; wait for it, or choose another name with -o")
