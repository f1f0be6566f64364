"""What the main area shows: two aligned texts, and how they lie on the screen."""

from __future__ import annotations

import enum
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import NamedTuple

from irscope.diff.rows import Change, Row

# A stretch of equal rows is folded but for this many on either side of a change.
CONTEXT = 3


@dataclass(frozen=True)
class Side:
    """One text. `language` None is plain words; `numbers` are line numbers other than 1, 2, 3."""

    lines: Sequence[str]
    language: str | None = None
    numbers: Sequence[int] | None = None

    @cached_property
    def longest(self) -> int:
        """The length of the longest line in characters."""
        return max(map(len, self.lines), default=0)

    def number(self, line: int) -> str:
        """The number shown beside a line, "" for none."""
        if self.numbers is None:
            return str(line + 1)
        return str(self.numbers[line]) if self.numbers[line] else ""

    @cached_property
    def number_width(self) -> int:
        """Cells that the widest line number takes."""
        return len(str(max(self.numbers or (len(self.lines),), default=0)))


@dataclass(frozen=True)
class Page:
    """Two sides and the rows that align them. Where `right` is None there is one text.

    `compared` tells rows that a diff made from texts that only stand beside each other.
    """

    left: Side
    right: Side | None
    rows: Sequence[Row]
    compared: bool = False

    @cached_property
    def runs(self) -> list[tuple[int, int]]:
        """The stretches of rows that differ, as (first, one past the last)."""
        if not self.compared:
            return []
        found: list[tuple[int, int]] = []
        first = -1
        for index, row in enumerate(self.rows):
            if row.change:
                first = index if first < 0 else first
            elif first >= 0:
                found.append((first, index))
                first = -1
        if first >= 0:
            found.append((first, len(self.rows)))
        return found

    def text(self, row: Row, right: bool) -> str | None:
        """The line that one side has in a row, None where it has none."""
        side = self.right if right else self.left
        line = row.right if right else row.left
        return None if side is None or line is None else side.lines[line]

    def row_of(self, line: int, right: bool) -> int:
        """The row that holds a line of one side; the last row where there is no such line."""
        return min(bisect_left(_Lines(self.rows, right), line), max(len(self.rows) - 1, 0))

    def matches(self, query: str) -> list[int]:
        """The rows of which a line contains `query`; capitals count only where it has some."""
        found = searcher(query)
        hits = [
            {index for index, line in enumerate(side.lines) if found(line)} if side else set()
            for side in (self.left, self.right)
        ]
        if not any(hits):
            return []
        return [i for i, row in enumerate(self.rows) if row.left in hits[0] or row.right in hits[1]]


class _Lines(Sequence[int]):
    """The line of one side in each row, the last one above where there is none; non-decreasing."""

    def __init__(self, rows: Sequence[Row], right: bool) -> None:
        self._rows = rows
        self._right = right

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> int:  # type: ignore[override]  # bisect asks for no slices
        while index >= 0:
            line = self._rows[index].right if self._right else self._rows[index].left
            if line is not None:
                return line
            index -= 1
        return -1


class _Beside(Sequence[Row]):
    """Rows that put line n beside line n; made as they are asked for, as most never are."""

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


def searcher(query: str) -> Callable[[str], bool]:
    """Whether a line contains `query`; smart case: capitals count only where the query has some."""
    if query != query.lower():
        return lambda line: query in line
    return lambda line: query in line.lower()


def plain_page(left: Side, right: Side | None) -> Page:
    """Two texts side by side as they stand, not aligned: before a diff is there, or where none can be."""
    return Page(left, right, _Beside(len(left.lines), len(right.lines) if right else 0))


class Kind(enum.Enum):
    """What one screen line shows of a row: both sides, one side, or a fold of many rows."""

    BOTH = enum.auto()
    LEFT = enum.auto()
    RIGHT = enum.auto()
    FOLD = enum.auto()


class ScreenLine(NamedTuple):
    """A line on the screen: of which row it shows what. A fold stands for `folded` rows from `row`."""

    row: int
    kind: Kind
    folded: int = 1


class Layout:
    """The screen lines of a page: two sides or unified, equal stretches folded or not."""

    def __init__(self, page: Page, unified: bool, folded: bool, opened: Collection[int] = ()) -> None:
        self.page = page
        self.unified = unified and page.compared
        self.lines = list(self._lay_out(_folds(page, opened) if folded and page.compared else []))
        self._rows = [line.row for line in self.lines]

    def find(self, row: int) -> int:
        """The index of the screen line that shows `row`, or holds it in a fold."""
        first = bisect_left(self._rows, row)
        if first < len(self._rows) and self._rows[first] == row:
            return first
        return max(first - 1, 0)

    def _lay_out(self, folds: Sequence[tuple[int, int]]) -> Iterator[ScreenLine]:
        start = 0
        for first, last in folds:
            yield from self._spread(start, first)
            yield ScreenLine(first, Kind.FOLD, last - first)
            start = last
        yield from self._spread(start, len(self.page.rows))

    def _spread(self, start: int, end: int) -> Iterator[ScreenLine]:
        if not self.unified:
            yield from map(ScreenLine, range(start, end), repeat(Kind.BOTH))
            return
        for first, last in self.page.runs[bisect_left(self.page.runs, (start, 0)) :]:
            if first >= end:
                break
            yield from map(ScreenLine, range(start, first), repeat(Kind.RIGHT))
            yield from self._spread_run(first, last)
            start = last
        yield from map(ScreenLine, range(start, end), repeat(Kind.RIGHT))

    def _spread_run(self, first: int, last: int) -> Iterator[ScreenLine]:
        """What differs, in one column: A's line above B's."""
        for index in range(first, last):
            row = self.page.rows[index]
            if row.left is not None:
                yield ScreenLine(index, Kind.LEFT)
            if row.right is not None:
                yield ScreenLine(index, Kind.RIGHT)


def _folds(page: Page, opened: Collection[int]) -> list[tuple[int, int]]:
    """The stretches of equal rows to be folded: none whose first row is in `opened`, none of equal texts."""
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
