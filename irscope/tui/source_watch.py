"""Notices that a source file was saved: its size, time or inode changed, and then stayed for a moment."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

# Seconds between two looks; one takes a system call per file.
INTERVAL = 0.5

_State = tuple[tuple[int, int, int], ...]


class SourceWatch:
    """Looks at the files that a kernel is in. Editors write a file in parts, or replace it by a new one."""

    def __init__(self) -> None:
        self._files: tuple[Path, ...] = ()
        self._known: _State = ()
        self._last: _State = ()

    def follow(self, files: Iterable[Path]) -> None:
        """Looks at these files from now on; those followed already keep their state."""
        before = dict(zip(self._files, self._known, strict=True))
        self._files = tuple(dict.fromkeys(files))
        self._known = self._last = tuple(before.get(file) or _state(file) for file in self._files)

    def saved(self) -> bool:
        """Whether a file changed since the last time that this was true, and not since the last call."""
        now = tuple(map(_state, self._files))
        settled, self._last = now == self._last, now
        if not settled or now == self._known:
            return False
        self._known = now
        return True


def _state(file: Path) -> tuple[int, int, int]:
    """The identity, size and time of a file, which change if it is saved; zeros without a file."""
    try:
        state = os.stat(file)  # noqa: PTH116 - Path.stat takes twice as long
    except OSError:
        return 0, 0, 0
    return state.st_ino, state.st_size, state.st_mtime_ns
