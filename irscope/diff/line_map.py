"""The lines of A's source as lines of B's, because a line is identified by its function and not its number.

    A: kernels.py:14  x = tl.load(p)   ->   B: copy.py:17  x = tl.load(ptr)
    A: kernels.py:15  x = x * 2        ->   removed: B has no such line

Without it, a comment added above a kernel would turn every finding into "all loads of line 14 are gone".

Source locations as numbers that are comparable across both sides of a diff.

    left:  kernels.py:14 -> 3        right, after two lines were inserted above:  kernels.py:16 -> 3

A file that was edited between two captures has shifted lines. So lines of the left side are first mapped to
lines of the right: by the captured sources, and those of other files by the operations that were compiled
from them. Without that, an added comment would unmatch every operation below it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from functools import cached_property

from irscope.languages.document import Document, Location, inlining_chain
from irscope.model.records import frozen, frozen_with_dict
from irscope.model.text import base_name

# A file as captured, and a line from 1.
FileLine = tuple[str, int]


@frozen
class MatchedLine:
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
        """Return B's line and column of a column of A."""
        index = bisect_right(self.columns, column) - 1
        if index < 0:
            return self.line, column
        line, other_column = self.places[index]
        return line, other_column + column - self.columns[index]


@frozen_with_dict
class LineMap:
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
        """Return A's location as one of B's, without its inlined-at chain; unchanged if not captured."""
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
        """Check whether the line of A's location was captured, so that `move` is certain."""
        if self.kernels and _is_below(location, self.kernels[0]):
            return True
        return (location.file, location.line) in self.lines

    def right_known(self, location: Location) -> bool:
        """Check whether the line of B's location was captured."""
        if self.kernels and _is_below(location, self.kernels[1]):
            return True
        return (location.file, location.line) in self.right

    def left_edited(self, location: Location) -> bool:
        """Check whether the line of A's location differs from its match in more than names."""
        match = self.lines.get((location.file, location.line))
        return match is not None and match.edited

    def right_edited(self, location: Location) -> bool:
        """Check whether the line of B's location differs from its match in more than names."""
        return (location.file, location.line) in self._edited_lines

    @cached_property
    def _edited_lines(self) -> Collection[FileLine]:
        return {(match.file, match.line) for match in self.lines.values() if match and match.edited}

    def in_lines_of_b(self, document: Document) -> Document:
        """Return A's document with B's lines."""
        return document.relocated(self._move_also_moved) if self.moves else document

    def _move_also_moved(self, location: Location) -> Location:
        match = self.moved.get((location.file, location.line))
        return Location(match.file, *match.place(location.column)) if match else self.move(location)

    @cached_property
    def inverse(self) -> LineMap:
        """Return the map from lines of B to lines of A."""
        lines: dict[FileLine, MatchedLine | None] = dict.fromkeys(self.right)
        tokens: dict[FileLine, list[tuple[int, tuple[int, int]]]] = defaultdict(list)
        for (file, line), match in self.lines.items():
            if match is None:
                continue
            lines[match.file, match.line] = MatchedLine(file, line, edited=match.edited)
            for column, (other_line, other_column) in zip(match.columns, match.places, strict=True):
                tokens[match.file, other_line].append((other_column, (line, column)))
                lines[match.file, other_line] = MatchedLine(file, line, edited=match.edited)
        for key, line_tokens in tokens.items():
            if own_match := lines[key]:
                columns, positions = zip(*sorted(line_tokens), strict=True)
                lines[key] = replace(own_match, line=positions[0][0], columns=columns, places=positions)
        kernels = None if self.kernels is None else (self.kernels[1], self.kernels[0])
        moved = LineMap(self.moved).inverse.lines if self.moved else {}
        moved_matches = {line: match for line, match in moved.items() if match is not None}
        return LineMap(lines, self.lines.keys(), kernels, moved_matches)

    @property
    def moves(self) -> bool:
        """Return True if any line differs from its match in file or number, or has none."""
        if self.kernels and self.kernels[0] != self.kernels[1]:
            return True
        return any(match is None or (match.file, match.line) != key for key, match in self.lines.items())


def _is_below(location: Location, definition: FileLine) -> bool:
    """Check whether a location is at or below a `def` in its file."""
    file, line = definition
    return location.file == file and location.line >= line


NO_LINES = LineMap()


# The opcodes that were compiled from a line, with their columns and without: an edit elsewhere changes
# neither, and another Triton version may only change the columns.
_Opcodes = set[tuple[int, str]]
_Lines = dict[int, _Opcodes]
# File, line, column, and whether only the left side has the line.
_Position = tuple[str, int, int, bool]

# The shifts to try: an edited file has one for each part between edits.
_SHIFTS = 8
# A pair of column and opcode on more lines than this is not evidence for a shift.
_RARE = 4
# The lines on either side that are evidence for the shift of a line.
_NEIGHBORS = 2

NO_LOCATION = 0
_ANY_COLUMN = -1


@frozen
class LocationNumbers:
    """For each operation of a document the number of its source location, NO_LOCATION if it has none.

    Operations of the two documents have equal numbers if they have the same location: `exact` compares file,
    line and column of the whole inlined-at chain, `lines` ignores the columns.
    """

    exact: list[int]
    lines: list[int]


def number_locations(
    left: Document, right: Document, lines: LineMap
) -> tuple[LocationNumbers, LocationNumbers] | None:
    """Assign numbers to the locations of both documents' operations; None if either has none.

    `lines` maps the lines of the left source to the right one.
    """
    if not _has_locations(left) or not _has_locations(right):
        return None
    left_files = _opcodes_by_line(left, lines.left_known)
    right_files = _opcodes_by_line(right, lines.right_known) if left_files else {}
    shifts = {
        name: _line_map(left_lines, right_files.get(name, {})) for name, left_lines in left_files.items()
    }

    def left_key(location: Location) -> _Position:
        if lines.left_known(location):
            moved = lines.move(location)
            column = _ANY_COLUMN if lines.left_edited(location) else moved.column
            return moved.file, moved.line, column, moved.removed
        name = base_name(location.file)
        return name, shifts.get(name, {}).get(location.line, location.line), location.column, False

    def right_key(location: Location) -> _Position:
        file = location.file if lines.right_known(location) else base_name(location.file)
        column = _ANY_COLUMN if lines.right_edited(location) else location.column
        return file, location.line, column, False

    numbers: dict[object, int] = {}
    return _numbered(left, left_key, numbers), _numbered(right, right_key, numbers)


def _has_locations(document: Document) -> bool:
    return any(operation.location is not None for operation in document.operations)


def _opcodes_by_line(document: Document, known: Callable[[Location], bool]) -> dict[str, _Lines]:
    """Map file names to lines to the opcodes compiled from them, without lines that are `known`.

    Folders are ignored: they differ between machines.
    """
    files: dict[str, _Lines] = defaultdict(lambda: defaultdict(set))
    # Parsers share one Location between the operations that have it.
    distinct = {(id(op.location), op.opcode): op.location for op in document.operations}
    for (_, opcode), location in distinct.items():
        for link in inlining_chain(location):
            if not known(link):
                files[base_name(link.file)][link.line].update(((link.column, opcode), (_ANY_COLUMN, opcode)))
    return files


def _line_map(left: Mapping[int, _Opcodes], right: Mapping[int, _Opcodes]) -> dict[int, int]:
    """Map lines of the left file to the right, by the shift that most neighboring lines agree with."""
    shifts = _likely_shifts(left, right)
    lines = sorted(left)
    mapped = {}
    previous = 0
    for index, line in enumerate(lines):
        around = lines[max(0, index - _NEIGHBORS) : index + _NEIGHBORS + 1]
        scores = {
            shift: sum(len(left[near] & right.get(near + shift, set())) for near in around)
            for shift in shifts
        }
        best = max(scores.values())
        if scores[previous] < best:
            previous = next(shift for shift in shifts if scores[shift] == best)
        mapped[line] = line + previous
    return mapped


def _likely_shifts(left: Mapping[int, _Opcodes], right: Mapping[int, _Opcodes]) -> list[int]:
    """Return 0, then the shifts with the most evidence from rare opcodes, in that order."""
    lines_of: dict[tuple[int, str], list[int]] = defaultdict(list)
    for line, opcodes in right.items():
        for opcode in opcodes:
            lines_of[opcode].append(line)
    votes: Counter[int] = Counter()
    for line, opcodes in left.items():
        for opcode in opcodes:
            if len(lines_of.get(opcode, ())) <= _RARE:
                votes.update(other_line - line for other_line in lines_of.get(opcode, ()))
    return [0, *(shift for shift, _ in votes.most_common(_SHIFTS) if shift)]


def _numbered(
    document: Document, key_of: Callable[[Location], _Position], numbers: dict[object, int]
) -> LocationNumbers:
    exact, lines = [], []
    pair_of_location: dict[int, tuple[int, int]] = {id(None): (NO_LOCATION, NO_LOCATION)}
    for operation in document.operations:
        location = operation.location
        pair = pair_of_location.get(id(location))
        if pair is None:
            chain = [key_of(link) for link in inlining_chain(location)]
            plain = tuple((file, line, removed) for file, line, _, removed in chain)
            pair = (
                numbers.setdefault(("exact", *chain), len(numbers) + 1),
                numbers.setdefault(("line", *plain), len(numbers) + 1),
            )
            pair_of_location[id(location)] = pair
        exact.append(pair[0])
        lines.append(pair[1])
    return LocationNumbers(exact, lines)
