"""The marks of a stage's lines, as the texts draw them: looked up by line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from irscope.workspace import NO_MARKS, LineMarks, Pressure


@dataclass(frozen=True)
class LineFlags:
    """One side's marks. `marks` are those of the whole stage."""

    marks: LineMarks = NO_MARKS

    @property
    def pressure(self) -> Pressure | None:
        """The register pressure, if it is known."""
        return self.marks.pressure

    @cached_property
    def _starts(self) -> Sequence[int]:
        return [lines.start for lines in self.marks.hot]

    def is_hot(self, line: int) -> bool:
        """Whether a line (from 0) is in the hot loop."""
        place = bisect_right(self._starts, line) - 1
        return place >= 0 and line in self.marks.hot[place]


NO_FLAGS = LineFlags()
