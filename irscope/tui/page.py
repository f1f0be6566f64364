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


class _Piece(NamedTuple):
    """Consecutive screen lines of one kind: the first one, the first row, the number of rows."""

    start: int
    row: int
    kind: LineKind
    rows: int

    @property
    def height(self) -> int:
        """Return the number of screen lines."""
        return 1 if self.kind is LineKind.FOLD else self.rows


class ScreenLayout(Sequence[ScreenLine]):
    """The screen lines of a page: in two columns or one, with equal rows folded or not.

    They are created on demand from ranges of rows that are shown in the same way.
    """

    def __init__(self, page: Page, unified: bool, folded: bool, opened: Collection[int] = ()) -> None:
        self.page = page
        self.unified = unified and page.compared
        self._pieces: list[_Piece] = []
        self._length = 0
        for row, kind, rows in self._lay_out(_folds(page, opened) if folded and page.compared else []):
            if rows:
                piece = _Piece(self._length, row, kind, rows)
                self._pieces.append(piece)
                self._length += piece.height

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> ScreenLine:  # type: ignore[override]  # views ask for no slices
        if not 0 <= index < self._length:
            raise IndexError(index)
        piece = self._pieces[bisect_right(self._pieces, index, key=lambda piece: piece.start) - 1]
        if piece.kind is LineKind.FOLD:
            return ScreenLine(piece.row, piece.kind, piece.rows)
        return ScreenLine(piece.row + index - piece.start, piece.kind)

    def find(self, row: int) -> int:
        """Return the index of the first screen line that shows `row`, or of its fold."""
        index = bisect_right(self._pieces, row, key=lambda piece: piece.row) - 1
        while index > 0 and self._pieces[index - 1].row == row:
            index -= 1
        if index < 0:
            return 0
        piece = self._pieces[index]
        return piece.start + min(row - piece.row, piece.height - 1)

    def _lay_out(self, folds: Sequence[tuple[int, int]]) -> Iterator[tuple[int, LineKind, int]]:
        start = 0
        for first, last in folds:
            yield from self._spread(start, first)
            yield first, LineKind.FOLD, last - first
            start = last
        yield from self._spread(start, len(self.page.rows))

    def _spread(self, start: int, end: int) -> Iterator[tuple[int, LineKind, int]]:
        if not self.unified:
            yield start, LineKind.BOTH, end - start
            return
        for first, last in self.page.runs[bisect_left(self.page.runs, (start, 0)) :]:
            if first >= end:
                break
            yield start, LineKind.RIGHT, first - start
            yield from self._spread_run(first, last)
            start = last
        yield start, LineKind.RIGHT, end - start

    def _spread_run(self, first: int, last: int) -> Iterator[tuple[int, LineKind, int]]:
        """Rows that differ, in one column: A's line above B's."""
        for index in range(first, last):
            row = self.page.rows[index]
            if row.left is not None:
                yield index, LineKind.LEFT, 1
            if row.right is not None:
                yield index, LineKind.RIGHT, 1


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
