"""The contents of the main area: two aligned texts, and their screen lines."""

from __future__ import annotations

import enum
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple

from irscope.workspace import Change, Language, LayoutChange, OperandNotes, Row

# Equal rows are folded, except this many next to a change.
CONTEXT = 3
_LAYOUT_NAME = re.compile(r"#[A-Za-z_]\w*")


@dataclass(frozen=True)
class PageSide:
    """One text. `language` is None for a message; `numbers` are line numbers other than 1, 2, 3, ..."""

    lines: Sequence[str]
    language: str | None = None
    numbers: Sequence[int] | None = None

    @cached_property
    def longest(self) -> int:
        """Return the length of the longest line in characters."""
        return max(map(len, self.lines), default=0)

    @cached_property
    def code_lines(self) -> Sequence[int]:
        """Return the lines (from 0) that are not debug information or directives, in order."""
        read = -1

        def counted() -> Iterator[str]:
            nonlocal read
            for line in self.lines:
                read += 1
                yield line

        language = Language.named(self.language or "")
        lines = language.strip_debug(counted())
        return [read for line in lines if not language.directive.match(line)]

    def number(self, line: int) -> str:
        """Return the number of a line, or "" if it has none."""
        if self.numbers is None:
            return str(line + 1)
        return str(self.numbers[line]) if self.numbers[line] else ""

    def line_numbered(self, number: int) -> int | None:
        """Return the first line (from 0) with this number, or None if there is none."""
        if self.numbers is None:
            return number - 1 if 0 < number <= len(self.lines) else None
        return self.numbers.index(number) if number and number in self.numbers else None

    def definitions(self, line: int) -> list[str]:
        """Return the lines that define the layouts named on a line (from 0): `#mma = ...`."""
        text = Language.named(self.language or "").strip_location(self.lines[line])
        starts = tuple(f"{name} = " for name in _LAYOUT_NAME.findall(text))
        return [text for text in self.lines if text.startswith(starts)] if starts else []

    @cached_property
    def number_width(self) -> int:
        """Return the width of the widest line number."""
        return len(str(max(self.numbers or (len(self.lines),), default=0)))


@dataclass(frozen=True)
class Page:
    """Two sides and the rows that align them; one text if `right` is None.

    `compared`: a diff aligned the rows. `raw`: every difference in the text counts, even names and locations.
    `layouts` are the layouts that differ, `operands` describes the operands that do.
    """

    left: PageSide
    right: PageSide | None
    rows: Sequence[Row]
    compared: bool = False
    raw: bool = False
    layouts: Sequence[LayoutChange] = ()
    operands: OperandNotes | None = None

    @cached_property
    def runs(self) -> list[tuple[int, int]]:
        """Return the ranges of rows that differ, as (first, end)."""
        if not self.compared:
            return []
        ranges: list[tuple[int, int]] = []
        first = -1
        for index, row in enumerate(self.rows):
            if row.change is not Change.EQUAL:  # faster than the truth of a flag
                first = index if first < 0 else first
            elif first >= 0:
                ranges.append((first, index))
                first = -1
        if first >= 0:
            ranges.append((first, len(self.rows)))
        return ranges

    @cached_property
    def code(self) -> Page:
        """Return the page without lines that only hold debug information; raw text has them."""
        sides = [side for side in (self.left, self.right) if side]
        if self.raw or all(len(side.code_lines) == len(side.lines) for side in sides):
            return self
        left, right = (side.code_lines if side else () for side in (self.left, self.right))
        if not self.compared:
            pairs = zip_longest(left, right)
            return replace(self, rows=[Row(a, b, Change.EQUAL) for a, b in pairs])
        shown = set(left), set(right)
        rows = [row for row in self.rows if row.left in shown[0] or row.right in shown[1]]
        return replace(self, rows=rows)

    def text(self, row: Row, right: bool) -> str | None:
        """Return the line of one side of a row, or None if it has none."""
        side, line = self.right if right else self.left, line_of(row, right)
        return None if side is None or line is None else side.lines[line]

    def row_of(self, line: int, right: bool) -> int:
        """Return the row of a line of one side, or the last row if the line does not exist."""
        last = max(len(self.rows) - 1, 0)
        return bisect_left(range(last), line, key=lambda row: self._line_above(row, right))

    def line_before(self, row: int, right: bool) -> int:
        """Return the number of lines that one side has in the rows above `row`."""
        return self._line_above(row - 1, right) + 1

    def _line_above(self, row: int, right: bool) -> int:
        """Return the line of one side in a row, else the last one above it; -1 if there is none."""
        while row >= 0:
            line = line_of(self.rows[row], right)
            if line is not None:
                return line
            row -= 1
        return -1

    def matches(self, query: str, located: bool) -> list[int]:
        """Return the rows with a line that contains `query`, with smart case.

        Source locations are searched if they are on screen: if `located`, and in raw text.
        """
        is_match = searcher(query)
        located = located or self.raw
        hits = [_hits(side, is_match, located) if side else set() for side in (self.left, self.right)]
        if not any(hits):
            return []
        return [i for i, row in enumerate(self.rows) if row.left in hits[0] or row.right in hits[1]]


def line_of(row: Row, right: bool) -> int | None:
    """Return the line (from 0) of B, or of A, in a row; None if it has none."""
    return row.right if right else row.left


class _UnalignedRows(Sequence[Row]):
    """Rows that put line n next to line n; created on demand, because most are never shown."""

    def __init__(self, left: int, right: int) -> None:
        self._left = left
        self._right = right

    def __len__(self) -> int:
        return max(self._left, self._right)

    def __getitem__(self, index: int) -> Row:  # type: ignore[override]  # views ask for no slices
        if not 0 <= index < len(self):
            raise IndexError(index)
        left = index if index < self._left else None
        return Row(left, index if index < self._right else None, Change.EQUAL)


def _hits(side: PageSide, found: Callable[[str], bool], located: bool) -> set[int]:
    """Return the lines (from 0) that match, with or without their locations."""
    hits = {index for index, line in enumerate(side.lines) if found(line)}
    language = side.language
    if located or not language:
        return hits
    return {index for index in hits if found(Language.named(language).strip_location(side.lines[index]))}


def searcher(query: str) -> Callable[[str], bool]:
    """Test whether a line contains `query`; smart case: case matters only if the query has capitals."""
    if query != query.lower():
        return lambda line: query in line
    return lambda line: query in line.lower()


def plain_page(left: PageSide, right: PageSide | None) -> Page:
    """Two texts side by side, not aligned, because they are not compared."""
    return Page(left, right, _UnalignedRows(len(left.lines), len(right.lines) if right else 0))


class LineKind(enum.Enum):
    """The content of a screen line: both sides of a row, one side, or a fold of many rows."""

    BOTH = enum.auto()
    LEFT = enum.auto()
    RIGHT = enum.auto()
    FOLD = enum.auto()


class ScreenLine(NamedTuple):
    """A line on the screen: a row and its visible part. A fold replaces `folded` rows from `row` on."""

    row: int
    kind: LineKind
    folded: int = 1


class ScreenLayout(Sequence[ScreenLine]):
    """The screen lines of a page: in two columns or one, with equal rows folded or not.

    They are created on demand from pieces: consecutive screen lines of one kind.
    """

    def __init__(self, page: Page, unified: bool, folded: bool, opened: Collection[int] = ()) -> None:
        self.page = page
        self.unified = unified and page.compared
        # The first screen line, the first row and the kind of each piece; then the ends of both texts.
        self._starts: list[int] = []
        self._rows: list[int] = []
        self._kinds: list[LineKind] = []
        self._length = 0
        start = 0
        for first, last in _folds(page, opened) if folded and page.compared else ():
            self._spread(start, first)
            self._add(first, LineKind.FOLD, 1)
            start = last
        self._spread(start, len(page.rows))
        self._starts.append(self._length)
        self._rows.append(len(page.rows))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> ScreenLine:  # type: ignore[override]  # views ask for no slices
        if not 0 <= index < self._length:
            raise IndexError(index)
        piece = bisect_right(self._starts, index) - 1
        row, kind = self._rows[piece], self._kinds[piece]
        if kind is LineKind.FOLD:
            return ScreenLine(row, kind, self._rows[piece + 1] - row)
        return ScreenLine(row + index - self._starts[piece], kind)

    def find(self, row: int) -> int:
        """Return the index of the first screen line that shows `row`, or of its fold."""
        if not self._kinds:
            return 0
        last = bisect_right(self._rows, row, hi=len(self._kinds)) - 1
        piece = bisect_left(self._rows, self._rows[last])
        start, end = self._starts[piece : piece + 2]
        return min(start + row - self._rows[piece], end - 1)

    def _spread(self, start: int, end: int) -> None:
        """Lay out rows that are not folded; of those that differ, in one column A's line is above B's."""
        if not self.unified:
            self._add(start, LineKind.BOTH, end - start)
            return
        runs, rows = self.page.runs, self.page.rows
        for index in range(bisect_left(runs, (start, 0)), len(runs)):
            first, last = runs[index]
            if first >= end:
                break
            self._add(start, LineKind.RIGHT, first - start)
            for row in range(first, last):
                self._add(row, LineKind.LEFT, rows[row].left is not None)
                self._add(row, LineKind.RIGHT, rows[row].right is not None)
            start = last
        self._add(start, LineKind.RIGHT, end - start)

    def _add(self, row: int, kind: LineKind, lines: int) -> None:
        if lines:
            self._starts.append(self._length)
            self._rows.append(row)
            self._kinds.append(kind)
            self._length += lines


def _folds(page: Page, opened: Collection[int]) -> list[tuple[int, int]]:
    """Return the ranges of equal rows to fold, except those whose first row is in `opened`.

    Equal texts have none.
    """
    if not page.runs:
        return []
    edges = [0, *(edge for run in page.runs for edge in run), len(page.rows)]
    folds = []
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        first = start + CONTEXT if start else start
        last = end - CONTEXT if end < len(page.rows) else end
        if last - first > 1 and first not in opened:
            folds.append((first, last))
    return folds
