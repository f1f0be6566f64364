"""The lines of A's source as lines of B's, because a line is identified by its function and not its number.

    A: kernels.py:14  x = tl.load(p)   ->   B: copy.py:17  x = tl.load(ptr)
    A: kernels.py:15  x = x * 2        ->   removed: B has no such line

Without it, a comment added above a kernel would turn every finding into "all loads of line 14 are gone".
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from irscope.languages.document import Document, Location

# A file as captured, and a line from 1.
FileLine = tuple[str, int]


@dataclass(frozen=True, slots=True)
class MatchedLine:
    """B's line of a line of A. `columns` are the columns (from 0) of their common tokens: A's, B's."""

    file: str
    line: int
    columns: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    edited: bool = False

    def column(self, column: int) -> int:
        """B's column of a column of A."""
        ours, theirs = self.columns
        index = bisect_right(ours, column) - 1
        return column if index < 0 else theirs[index] + column - ours[index]


@dataclass(frozen=True)
class LineMap:
    """The captured lines of A with their matches in B, None without one. `right` are B's captured lines.

    `kernels` are the `def` lines of A's and B's kernel if one of them was captured without its source: its
    lines keep their distance from the `def`. Other files are not in the map.
    """

    lines: Mapping[FileLine, MatchedLine | None] = field(default_factory=dict)
    right: Collection[FileLine] = frozenset()
    kernels: tuple[FileLine, FileLine] | None = None

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
        return Location(match.file, match.line, match.column(location.column))

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
        return document.relocated(self.move) if self.moves else document

    @cached_property
    def inverse(self) -> LineMap:
        """The lines of B in A."""
        lines: dict[FileLine, MatchedLine | None] = dict.fromkeys(self.right)
        for (file, line), match in self.lines.items():
            if match is not None:
                ours, theirs = match.columns
                lines[match.file, match.line] = MatchedLine(file, line, (theirs, ours), match.edited)
        return LineMap(lines, self.lines.keys())

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
