"""The minimap: an overview of a whole text in three cells per group of lines.

The first says what changed: `~`, or `+` or `-` if lines were only added or removed. The second is `!` for
spills, else `*` for matrix instructions. The third is `▌` for the hot loop, `▐` for the lines on screen, `█`
for both.

The gauge next to assembly: a bar per line for the registers that are occupied, scaled to the limit.

`███▌` is 112 of at most 128 registers. The line under the cursor has the number instead, and so has the line
with the maximum, followed by `◂`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from rich.segment import Segment
from rich.style import Style

from irscope.tui.page import ScreenLayout
from irscope.tui.paint import Styles
from irscope.workspace import Change, LineMarks
from irscope.workspace.stage_marks import Pressure

WIDTH = 3
# In a narrower panel, the text needs the cells.
NARROWEST = 100
# At most this many changed rows of a group decide which sign it has.
_SAMPLED = 64
_PLACES = {(False, False): " ", (True, False): "▌", (False, True): "▐", (True, True): "█"}


@dataclass(frozen=True)
class _LineGroup:
    """Consecutive screen lines: the first, the first row, and the row after the last."""

    line: int
    first: int
    end: int


@dataclass(frozen=True)
class Minimap:
    """The overview of a layout in `height` groups. `marks` are those of A and B."""

    layout: ScreenLayout
    marks: tuple[LineMarks, LineMarks]
    height: int

    @cached_property
    def _groups(self) -> Sequence[_LineGroup]:
        """Return the groups from top to bottom; one per line if the text is shorter than the panel."""
        lines, rows = self.layout, len(self.layout.page.rows)
        count = max(len(lines), self.height)
        starts = [-(-index * count // self.height) for index in range(self.height)]
        firsts = [(line, lines[line].row) for line in starts if line < len(lines)]
        # Both lines of a row can be on a screen line of their own, in two groups.
        ends = [max(row, after) for (_, row), (_, after) in pairwise(firsts)]
        return [
            _LineGroup(line, row, max(end, row + 1))
            for (line, row), end in zip(firsts, [*ends, rows], strict=True)
        ]

    @cached_property
    def signs(self) -> Sequence[str]:
        """Return the signs of each group: of its changes, and of its instructions."""
        return [self._change(group) + self._instruction(group) for group in self._groups]

    @cached_property
    def _hot(self) -> Sequence[bool]:
        return [
            any(_overlaps(marks.hot, *self._lines(group, right)) for right, marks in enumerate(self.marks))
            for group in self._groups
        ]

    def cells(self, place: int, top: int, shown: int) -> str:
        """Return the cells of a group (from 0). `shown` screen lines from `top` on are on screen."""
        groups = self._groups
        if place >= len(groups):
            return " " * WIDTH
        end = groups[place + 1].line if place + 1 < len(groups) else len(self.layout)
        on_screen = shown < len(self.layout) and groups[place].line < top + shown and top < end
        return self.signs[place] + _PLACES[self._hot[place], on_screen]

    def changed(self, place: int) -> bool:
        """Return True if a group has a change."""
        return place < len(self._groups) and self._first_run(self._groups[place]) is not None

    def target(self, place: int) -> int:
        """Return the row to go to from a group.

        It is the first change, spill or matrix instruction, or else the first row.
        """
        if place >= len(self._groups):
            return max(len(self.layout.page.rows) - 1, 0)
        group = self._groups[place]
        run = self._first_run(group)
        if run is not None:
            return max(run[0], group.first)
        for right, marks in enumerate(self.marks):
            for lines in (marks.spills, marks.matrix):
                first, end = self._lines(group, right)
                index = bisect_left(lines, first)
                if index < len(lines) and lines[index] < end:
                    return self.layout.page.row_of(lines[index], bool(right))
        return group.first

    def _lines(self, group: _LineGroup, right: int) -> tuple[int, int]:
        """Return the lines of a side in a group, as the first and the one after the last."""
        page = self.layout.page
        return page.line_before(group.first, bool(right)), page.line_before(group.end, bool(right))

    def _first_run(self, group: _LineGroup) -> tuple[int, int] | None:
        runs = self.layout.page.runs
        index = bisect_right(runs, group.first, key=lambda run: run[1])
        return runs[index] if index < len(runs) and runs[index][0] < group.end else None

    def _change(self, group: _LineGroup) -> str:
        run = self._first_run(group)
        if run is None:
            return " "
        rows = self.layout.page.rows
        last = min(group.end, max(run[0], group.first) + _SAMPLED)
        kinds = {
            change & (Change.ADDED | Change.REMOVED)
            for row in range(max(run[0], group.first), last)
            if (change := rows[row].change)
        }
        return "+" if kinds == {Change.ADDED} else "-" if kinds == {Change.REMOVED} else "~"

    def _instruction(self, group: _LineGroup) -> str:
        ranges = [(marks, *self._lines(group, right)) for right, marks in enumerate(self.marks)]
        if any(_has(marks.spills, first, end) for marks, first, end in ranges):
            return "!"
        return "*" if any(_has(marks.matrix, first, end) for marks, first, end in ranges) else " "


def _has(lines: Sequence[int], first: int, end: int) -> bool:
    index = bisect_left(lines, first)
    return index < len(lines) and lines[index] < end


def _overlaps(ranges: Sequence[range], first: int, end: int) -> bool:
    index = bisect_right(ranges, first, key=lambda lines: lines.stop)
    return index < len(ranges) and ranges[index].start < end


STYLE_CLASSES = ("gauge", "gauge--peak")
# A blank, the bar or the number, and the mark of the maximum.
GAUGE_WIDTH = 6
_BAR = 4
# In a narrower column, the text needs the cells.
GAUGE_NARROWEST = 70
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_PEAK = "◂"


def segments(
    pressure: Pressure | None, line: int, at_cursor: bool, base: Style, styles: Styles, part: int = 0
) -> list[Segment]:
    """Draw the gauge of a line (from 0), in WIDTH cells."""
    number = pressure.by_line.get(line) if pressure and not part else None
    if pressure is None or number is None:
        return [Segment(" " * GAUGE_WIDTH, base)]
    at_peak = line == pressure.peak_line
    text = f"{number:.0f}".rjust(_BAR) if at_cursor or at_peak else bar(number, pressure.limit)
    ink = base + styles.ink("gauge--peak" if at_peak else "gauge")
    return [Segment(f" {text}{_PEAK if at_peak else ' '}", ink)]


def bar(number: float, limit: int) -> str:
    """Draw a bar of _BAR cells, full at `limit`; it is never empty for a register or more."""
    eighths = min(round(number * 8 * _BAR / max(limit, 1)), 8 * _BAR)
    eighths = max(eighths, 1 if number else 0)
    whole, rest = divmod(eighths, 8)
    return f"{'█' * whole}{_EIGHTHS[rest] if rest else ''}".ljust(_BAR)


def is_hot(marks: LineMarks, line: int) -> bool:
    """Return True if a line (from 0) is in the hot loop."""
    return _overlaps(marks.hot, line, line + 1)
