"""A capture that another process is still writing: how much of it there is, and whether more will come.

The writer holds a lock next to the capture and records there how many variants it will have (see
`store/output_lock.py`), so looking costs three calls of the operating system.

Finding captures: those in a folder, and those that are being written now.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from irscope.model.records import FrozenValue
from irscope.model.text import pluralize
from irscope.store.capture_file import FoundWriter, find_writer
from irscope.store.connection import sidecars
from irscope.store.overview import CaptureOverview

# Commands that take --resume.
_RESUMING = ("compile", "run")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Growth(FrozenValue):
    """The other process that writes, or wrote, the capture; None if it is complete."""

    writer: FoundWriter | None = None

    @classmethod
    def read(cls, path: Path) -> Growth:
        """Find the other process that writes, or wrote, the capture at `path`."""
        return cls(find_writer(path))

    @property
    def running(self) -> bool:
        """Return True if a process is still writing the capture."""
        return self.writer is not None and self.writer.running

    @property
    def unfinished(self) -> bool:
        """Return True if variants may be added.

        A process writes the capture, or ended before it was complete.
        """
        return self.writer is not None

    def count(self, variants: int) -> str:
        """Write `10 variants`; `7 of 10 variants` if the writer will, or would have, added the others."""
        planned = self.writer.planned if self.writer is not None else None
        if planned is None or planned <= variants:
            return pluralize(variants, "variant")
        return f"{variants:,} of {pluralize(planned, 'variant')}"

    def state(self, variants: int) -> str:
        """Return `still compiling`, `still being written`, `incomplete`; "" if the capture is complete."""
        if self.writer is None:
            return ""
        planned = self.writer.planned
        if self.running:
            return "still compiling" if planned is not None and planned > variants else "still being written"
        return "incomplete" if planned is None or planned > variants else ""

    def progress(self, variants: int) -> str:
        """Write `7 of 10, still compiling`; "" if the capture is complete."""
        state, planned = self.state(variants), self.writer.planned if self.writer is not None else None
        of = f" of {planned:,}" if planned is not None and planned > variants else ""
        return f"{variants:,}{of}, {state}" if state else ""

    def ended(self, variants: int) -> str:
        """Return the message for a capture whose writer was killed.

        "" if it has every variant, or is being written.
        """
        if self.writer is None or self.running or not self.state(variants):
            return ""
        command = next((name for name in _RESUMING if f" {name} " in self.writer.holder), _RESUMING[0])
        if self.writer.planned is None:
            return f"The writer ended before the capture was complete; `irscope {command} --resume` goes on"
        rest = f"`irscope {command} --resume` compiles the rest"
        return f"The writer has ended, {variants:,} of {self.writer.planned:,}; {rest}"


def incomplete_note(path: Path) -> str:
    """Return a line that says that the writer of a capture ended too early; "" if it did not.

    Raises UserError if the file is not a capture.
    """
    variants = CaptureOverview.read(path).variants
    text = Growth.read(path).ended(variants)
    return f"{path} is incomplete. {text}" if text else ""


class GrowthWatch:
    """Looks at the files of a capture for changes by other processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = (Path(os.path.realpath(path)), sidecars(path)[0])
        self._seen = self._state()

    def look(self) -> tuple[Growth, bool]:
        """Find the process that writes the capture now; say if files changed since the last call."""
        growth, state = Growth.read(self._path), self._state()
        changed, self._seen = state != self._seen, state
        return growth, changed

    def _state(self) -> tuple[tuple[int, int, int], ...]:
        return tuple(map(_file_state, self._files))


def _file_state(path: Path) -> tuple[int, int, int]:
    """Return a file's identity, size and time, which change if it is written; zeros without a file."""
    try:
        state = path.stat()
    except OSError:
        return 0, 0, 0
    return state.st_ino, state.st_size, state.st_mtime_ns


_SUFFIX = ".irscope"
# A folder may be anything, a home folder or a disk of data sets: no more than this is looked at.
_MAX_ENTRIES, _MAX_CAPTURES = 5000, 100


def captures_in(folder: Path) -> list[Path]:
    """Return the captures in a folder and in the folders in it, newest first.

    At most the first 100 that are found.
    """
    captures = list(islice(_captures(folder), _MAX_CAPTURES))
    return sorted(captures, key=_modified, reverse=True)


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
    """Yield the entries of a folder, while `left` has some of the allowed number left."""
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
