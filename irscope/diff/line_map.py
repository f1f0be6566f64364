"""The lines of A's source as lines of B's, because a line is identified by its function and not its number.

    A: kernels.py:14  x = tl.load(p)   ->   B: copy.py:17  x = tl.load(ptr)
    A: kernels.py:15  x = x * 2        ->   removed: B has no such line

Without it, a comment added above a kernel would turn every finding into "all loads of line 14 are gone".
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from irscope.languages.document import Document, Location
from irscope.model.frozen_value import FrozenValue

# A file as captured, and a line from 1.
FileLine = tuple[str, int]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MatchedLine(FrozenValue):
    """B's line of a line of A.

    `columns` are the columns (from 0) of the tokens of A's line that B has too, and `places` their lines and
    columns in B: several lines, if B breaks the statement at other places. If the statement was `edited`, its
    expressions can start elsewhere: parentheses move the start of a sum.
    """

    file: str
    line: int
    columns: tuple[int, ...] = ()
    places: tuple[tuple[int, int], ...] = ()
    edited: bool = False

    def place(self, column: int) -> tuple[int, int]:
        """B's line and column of a column of A."""
        index = bisect_right(self.columns, column) - 1
        if index < 0:
            return self.line, column
        line, other = self.places[index]
        return line, other + column - self.columns[index]


@dataclass(frozen=True, eq=False, repr=False)
class LineMap(FrozenValue):
    """The lines of A's source in B's.

    `lines` maps the captured lines of A to their matches in B, None without one. `right` are B's captured
    lines. `kernels` are the `def` lines of A's and B's kernel if one of them was captured without its source:
    its lines keep their distance from the `def`. Other files are not in the map.

    `moved` has the matches of lines without one in `lines`: of statements that B has at another place. They
    are out of order, so the diff does not use them to align operations; `in_lines_of_b` does.
    """

    lines: Mapping[FileLine, MatchedLine | None] = field(default_factory=dict)
    right: Collection[FileLine] = frozenset()
    kernels: tuple[FileLine, FileLine] | None = None
    moved: Mapping[FileLine, MatchedLine] = field(default_factory=dict)

    def match(self, line: FileLine) -> MatchedLine | None:
        """Return B's line of a line of A, also if the statement moved; None if B does not have it."""
        return self.lines.get(line) or self.moved.get(line)

    def move(self, location: Location) -> Location:
        """A's location as one of B's, without its inlined-at chain; as it is if its line was not captured."""
        key = location.file, location.line
        if self.kernels and _is_below(location, self.kernels[0]):
            (_, first), (file, other_first) = self.kernels
            return Location(file, location.line - first + other_first, location.column)
        if key not in self.lines:
            return location
        match = self.lines[key]
        if match is None:
            return Location(location.file, location.line, location.column, removed=True)
        return Location(match.file, *match.place(location.column))

    def left_known(self, location: Location) -> bool:
        """Whether the line of A's location was captured, so that `move` is certain."""
        if self.kernels and _is_below(location, self.kernels[0]):
            return True
        return (location.file, location.line) in self.lines

    def right_known(self, location: Location) -> bool:
        """Whether the line of B's location was captured."""
        if self.kernels and _is_below(location, self.kernels[1]):
            return True
        return (location.file, location.line) in self.right

    def left_edited(self, location: Location) -> bool:
        """Whether the line of A's location differs from its match in more than names."""
        match = self.lines.get((location.file, location.line))
        return match is not None and match.edited

    def right_edited(self, location: Location) -> bool:
        """Whether the line of B's location differs from its match in more than names."""
        return (location.file, location.line) in self._edited_lines

    @cached_property
    def _edited_lines(self) -> Collection[FileLine]:
        return {(match.file, match.line) for match in self.lines.values() if match and match.edited}

    def in_lines_of_b(self, document: Document) -> Document:
        """A's document with B's lines."""
        return document.relocated(self._move_also_moved) if self.moves else document

    def _move_also_moved(self, location: Location) -> Location:
        match = self.moved.get((location.file, location.line))
        return Location(match.file, *match.place(location.column)) if match else self.move(location)

    @cached_property
    def inverse(self) -> LineMap:
        """The lines of B in A."""
        lines: dict[FileLine, MatchedLine | None] = dict.fromkeys(self.right)
        tokens: dict[FileLine, list[tuple[int, tuple[int, int]]]] = defaultdict(list)
        for (file, line), match in self.lines.items():
            if match is None:
                continue
            lines[match.file, match.line] = MatchedLine(file, line, edited=match.edited)
            for column, (other, other_column) in zip(match.columns, match.places, strict=True):
                tokens[match.file, other].append((other_column, (line, column)))
                lines[match.file, other] = MatchedLine(file, line, edited=match.edited)
        for key, found in tokens.items():
            if own := lines[key]:
                columns, places = zip(*sorted(found), strict=True)
                lines[key] = replace(own, line=places[0][0], columns=columns, places=places)
        kernels = None if self.kernels is None else (self.kernels[1], self.kernels[0])
        moved = LineMap(self.moved).inverse.lines if self.moved else {}
        known = {line: match for line, match in moved.items() if match is not None}
        return LineMap(lines, self.lines.keys(), kernels, known)

    @property
    def moves(self) -> bool:
        """Whether any line differs from its match in file or number, or has none."""
        if self.kernels and self.kernels[0] != self.kernels[1]:
            return True
        return any(match is None or (match.file, match.line) != key for key, match in self.lines.items())


def _is_below(location: Location, definition: FileLine) -> bool:
    """Whether a location is at or below a `def` in its file."""
    file, line = definition
    return location.file == file and location.line >= line


NO_LINES = LineMap()
