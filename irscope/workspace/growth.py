"""A capture that another process is still writing: how much of it there is, and whether more will come.

The writer holds a lock next to the capture and records there how many variants it will have (see
`store/output_lock.py`), so looking costs three calls of the operating system.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.model.frozen_value import FrozenValue
from irscope.model.text import pluralize
from irscope.store.connection import sidecars
from irscope.store.output_lock import FoundWriter, find_writer

if TYPE_CHECKING:
    from irscope.workspace.workspace import Workspace

# Commands that take --resume.
_RESUMING = ("compile", "run")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Growth(FrozenValue):
    """The other process that writes, or wrote, the capture; None if it is complete."""

    writer: FoundWriter | None = None

    @property
    def running(self) -> bool:
        """Whether a process is still writing the capture."""
        return self.writer is not None and self.writer.running

    @property
    def unfinished(self) -> bool:
        """Whether variants may be added: a process writes the capture, or ended before it was complete."""
        return self.writer is not None

    def count(self, variants: int) -> str:
        """`10 variants`; `7 of 10 variants` if the writer will add, or would have added, the others."""
        planned = self.writer.planned if self.writer is not None else None
        if planned is None or planned <= variants:
            return pluralize(variants, "variant")
        return f"{variants:,} of {pluralize(planned, 'variant')}"

    def state(self, variants: int) -> str:
        """`still compiling`, `still being written`, `incomplete`; "" if the capture is complete."""
        if self.writer is None:
            return ""
        planned = self.writer.planned
        if self.running:
            return "still compiling" if planned is not None and planned > variants else "still being written"
        return "incomplete" if planned is None or planned > variants else ""

    def progress(self, variants: int) -> str:
        """`7 of 10, still compiling`; "" if the capture is complete."""
        state, planned = self.state(variants), self.writer.planned if self.writer is not None else None
        of = f" of {planned:,}" if planned is not None and planned > variants else ""
        return f"{variants:,}{of}, {state}" if state else ""

    def ended(self, variants: int) -> str:
        """The message for a capture whose writer was killed; "" if it has every variant, or is written."""
        if self.writer is None or self.running or not self.state(variants):
            return ""
        command = next((name for name in _RESUMING if f" {name} " in self.writer.holder), _RESUMING[0])
        if self.writer.planned is None:
            return f"The writer ended before the capture was complete; `irscope {command} --resume` goes on"
        rest = f"`irscope {command} --resume` compiles the rest"
        return f"The writer has ended, {variants:,} of {self.writer.planned:,}; {rest}"


def incomplete_note(path: Path, variants: int) -> str:
    """Return a line that says that the writer of a capture ended too early; "" if it did not."""
    growth = Growth(find_writer(path))
    text = growth.ended(variants)
    return f"{path} is incomplete. {text}" if text else ""


class GrowthWatch:
    """Looks at the files of a capture for changes by other processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = (Path(os.path.realpath(path)), sidecars(path)[0])
        self._seen = self._state()

    def look(self) -> tuple[Growth, bool]:
        """The process that writes the capture now, and whether its files changed since the last call."""
        growth, state = Growth(find_writer(self._path)), self._state()
        changed, self._seen = state != self._seen, state
        return growth, changed

    def _state(self) -> tuple[tuple[int, int, int], ...]:
        return tuple(map(_file_state, self._files))


def is_abandoned(workspace: Workspace) -> bool:
    """Whether a capture is empty and no other process compiles into it."""
    return not workspace.variants and not GrowthWatch(workspace.path).look()[0].running


def _file_state(path: Path) -> tuple[int, int, int]:
    """The identity, size and time of a file, which change if it is written; zeros without a file."""
    try:
        state = path.stat()
    except OSError:
        return 0, 0, 0
    return state.st_ino, state.st_size, state.st_mtime_ns
