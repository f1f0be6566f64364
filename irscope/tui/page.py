"""What the main area shows: two aligned texts, and how they lie on the screen."""

from __future__ import annotations

import enum
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from irscope.diff.rows import Change, Row
from irscope.languages.registry import line_without_location

# A stretch of equal rows is folded but for this many on either side of a change.
CONTEXT = 3


@dataclass(frozen=True)
class PageSide:
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

    def line_numbered(self, number: int) -> int | None:
        """The line (from 0) that has this number beside it, the first of them; None where none has."""
        if self.numbers is None:
            return number - 1 if 0 < number <= len(self.lines) else None
        return self.numbers.index(number) if number and number in self.numbers else None

    @cached_property
    def number_width(self) -> int:
        """Cells that the widest line number takes."""
        return len(str(max(self.numbers or (len(self.lines),), default=0)))


@dataclass(frozen=True)
class Page:
    """Two sides and the rows that align them. Where `right` is None there is one text.

    `compared` tells rows that a diff made from texts that only stand beside each other; in `raw` ones
    every difference of the texts counts, of names and places too.
    """

    left: PageSide
    right: PageSide | None
    rows: Sequence[Row]
    compared: bool = False
    raw: bool = False

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

    def matches(self, query: str, located: bool) -> list[int]:
        """The rows of which a line contains `query`; capitals count only where it has some.

        Source locations count where they are shown: where `located`, and in raw text.
        """
        found = searcher(query)
        located = located or self.raw
        hits = [_hits(side, found, located) if side else set() for side in (self.left, self.right)]
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


def _hits(side: PageSide, found: Callable[[str], bool], located: bool) -> set[int]:
    """The lines (from 0) in which something is found, with their locations or without."""
    hits = {index for index, line in enumerate(side.lines) if found(line)}
    language = side.language
    if located or not language:
        return hits
    return {index for index in hits if found(line_without_location(side.lines[index], language))}


def searcher(query: str) -> Callable[[str], bool]:
    """Whether a line contains `query`; smart case: capitals count only where the query has some."""
    if query != query.lower():
        return lambda line: query in line
    return lambda line: query in line.lower()


def plain_page(left: PageSide, right: PageSide | None) -> Page:
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


class _Piece(NamedTuple):
    """Screen lines of one kind in a row: the first of them, the first row, how many of each."""

    start: int
    row: int
    kind: Kind
    rows: int

    @property
    def height(self) -> int:
        """How many screen lines it takes."""
        return 1 if self.kind is Kind.FOLD else self.rows


class _ScreenLines(Sequence[ScreenLine]):
    """Screen lines, made as they are asked for from stretches of rows that show alike."""

    def __init__(self, stretches: Iterator[tuple[int, Kind, int]]) -> None:
        self._pieces: list[_Piece] = []
        self._length = 0
        for row, kind, rows in stretches:
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
        if piece.kind is Kind.FOLD:
            return ScreenLine(piece.row, piece.kind, piece.rows)
        return ScreenLine(piece.row + index - piece.start, piece.kind)

    def find(self, row: int) -> int:
        """The first screen line of `row`, or the fold that holds it."""
        place = bisect_right(self._pieces, row, key=lambda piece: piece.row) - 1
        while place > 0 and self._pieces[place - 1].row == row:
            place -= 1
        if place < 0:
            return 0
        piece = self._pieces[place]
        return piece.start + min(row - piece.row, piece.height - 1)


class ScreenLayout:
    """The screen lines of a page: two sides or unified, equal stretches folded or not."""

    def __init__(self, page: Page, unified: bool, folded: bool, opened: Collection[int] = ()) -> None:
        self.page = page
        self.unified = unified and page.compared
        self.lines = _ScreenLines(self._lay_out(_folds(page, opened) if folded and page.compared else []))

    def find(self, row: int) -> int:
        """The index of the screen line that shows `row`, or holds it in a fold."""
        return self.lines.find(row)

    def _lay_out(self, folds: Sequence[tuple[int, int]]) -> Iterator[tuple[int, Kind, int]]:
        start = 0
        for first, last in folds:
            yield from self._spread(start, first)
            yield first, Kind.FOLD, last - first
            start = last
        yield from self._spread(start, len(self.page.rows))

    def _spread(self, start: int, end: int) -> Iterator[tuple[int, Kind, int]]:
        if not self.unified:
            yield start, Kind.BOTH, end - start
            return
        for first, last in self.page.runs[bisect_left(self.page.runs, (start, 0)) :]:
            if first >= end:
                break
            yield start, Kind.RIGHT, first - start
            yield from self._spread_run(first, last)
            start = last
        yield start, Kind.RIGHT, end - start

    def _spread_run(self, first: int, last: int) -> Iterator[tuple[int, Kind, int]]:
        """What differs, in one column: A's line above B's."""
        for index in range(first, last):
            row = self.page.rows[index]
            if row.left is not None:
                yield index, Kind.LEFT, 1
            if row.right is not None:
                yield index, Kind.RIGHT, 1


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
