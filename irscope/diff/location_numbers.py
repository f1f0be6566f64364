"""Source locations as numbers that are comparable across both sides of a diff.

    left:  kernels.py:14 -> 3        right, after two lines were inserted above:  kernels.py:16 -> 3

A file that was edited between two captures has shifted lines. So lines of the left side are first mapped to
lines of the right: by the captured sources, and those of other files by the operations that were compiled
from them. Without that, an added comment would unmatch every operation below it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from irscope.diff.line_map import NO_LINES, LineMap
from irscope.languages.document import Document, Location
from irscope.model.frozen_value import FrozenValue
from irscope.model.text import base_name

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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LocationNumbers(FrozenValue):
    """For each operation of a document the number of its source location, NO_LOCATION if it has none.

    Operations of the two documents have equal numbers if they have the same location: `exact` compares file,
    line and column of the whole inlined-at chain, `lines` ignores the columns.
    """

    exact: list[int]
    lines: list[int]


def number_locations(
    left: Document, right: Document, lines: LineMap = NO_LINES
) -> tuple[LocationNumbers, LocationNumbers] | None:
    """The locations of both documents' operations; None if one of the two has no locations at all.

    `lines` are the lines of the left source in the right one.
    """
    if not _has_locations(left) or not _has_locations(right):
        return None
    left_files = _opcodes_by_line(left, lines.left_known)
    right_files = _opcodes_by_line(right, lines.right_known) if left_files else {}
    shifts = {name: _line_map(own, right_files.get(name, {})) for name, own in left_files.items()}

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
    """File name -> line -> opcodes compiled from it, without lines that are `known`.

    Folders are ignored: they differ between machines.
    """
    files: dict[str, _Lines] = defaultdict(lambda: defaultdict(set))
    # Parsers share one Location between the operations that have it.
    distinct = {(id(op.location), op.opcode): op.location for op in document.operations}
    for (_, opcode), location in distinct.items():
        link = location
        while link is not None:
            if not known(link):
                files[base_name(link.file)][link.line].update(((link.column, opcode), (_ANY_COLUMN, opcode)))
            link = link.inlined_at
    return files


def _line_map(left: Mapping[int, _Opcodes], right: Mapping[int, _Opcodes]) -> dict[int, int]:
    """Line of the left file -> line of the right: the shift that most of the neighboring lines agree with."""
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
    """0, then the shifts with the most evidence from rare opcodes, in that order."""
    lines_of: dict[tuple[int, str], list[int]] = defaultdict(list)
    for line, opcodes in right.items():
        for opcode in opcodes:
            lines_of[opcode].append(line)
    votes: Counter[int] = Counter()
    for line, opcodes in left.items():
        for opcode in opcodes:
            if len(lines_of.get(opcode, ())) <= _RARE:
                votes.update(other - line for other in lines_of.get(opcode, ()))
    return [0, *(shift for shift, _ in votes.most_common(_SHIFTS) if shift)]


def _numbered(
    document: Document, key_of: Callable[[Location], _Position], numbers: dict[object, int]
) -> LocationNumbers:
    exact, lines = [], []
    known: dict[int, tuple[int, int]] = {id(None): (NO_LOCATION, NO_LOCATION)}
    for operation in document.operations:
        location = operation.location
        pair = known.get(id(location))
        if pair is None:
            chain = [key_of(link) for link in _chain(location)]
            plain = tuple((file, line, removed) for file, line, _, removed in chain)
            pair = (
                numbers.setdefault(("exact", *chain), len(numbers) + 1),
                numbers.setdefault(("line", *plain), len(numbers) + 1),
            )
            known[id(location)] = pair
        exact.append(pair[0])
        lines.append(pair[1])
    return LocationNumbers(exact, lines)


def _chain(location: Location | None) -> Iterator[Location]:
    while location is not None:
        yield location
        location = location.inlined_at
