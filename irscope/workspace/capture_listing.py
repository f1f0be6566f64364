"""Finding captures: those in a folder, and those that are being written now."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

_SUFFIX = ".irscope"
# A folder may be anything, a home folder or a disk of data sets: no more than this is looked at.
_MAX_ENTRIES, _MAX_CAPTURES = 5000, 100


def captures_in(folder: Path) -> list[Path]:
    """The captures in a folder and in the folders in it, newest first; the first 100 that are found."""
    found = list(islice(_captures(folder), _MAX_CAPTURES))
    return sorted(found, key=_modified, reverse=True)


def _captures(folder: Path) -> Iterator[Path]:
    left = [_MAX_ENTRIES]
    below = []
    for entry in _entries(folder, left):
        if entry.name.endswith(_SUFFIX) and _is_file(entry):
            yield Path(entry.path)
        elif not entry.name.startswith(".") and _is_folder(entry):
            below.append(entry.path)
    for path in below:
        for entry in _entries(Path(path), left):
            if entry.name.endswith(_SUFFIX) and _is_file(entry):
                yield Path(entry.path)


def _entries(folder: Path, left: list[int]) -> Iterator[os.DirEntry[str]]:
    """The entries of a folder, while `left` has some of the allowed number left."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if left[0] <= 0:
                return
            left[0] -= 1
            yield entry


def _is_file(entry: os.DirEntry[str]) -> bool:
    with contextlib.suppress(OSError):
        return entry.is_file()
    return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    with contextlib.suppress(OSError):
        return entry.is_dir(follow_symlinks=False)
    return False


def _modified(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0
