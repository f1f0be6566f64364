"""Source places as numbers that mean the same on both sides of a diff.

A file that was edited between two captures has its lines shifted, so the lines of the left side are first
mapped to those of the right, by what was compiled from them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from irscope.languages.document import Document, Location

# What the operations of a line are: their opcodes, with their columns and without. An edit elsewhere
# changes neither; another Triton version may count columns otherwise.
_Content = set[tuple[int, str]]
_Lines = dict[int, _Content]

# Shifts tried: an edited file has one for each stretch between edits.
_SHIFTS = 8
# A pair of column and opcode seen on more lines than this tells nothing about the shift.
_RARE = 4
# Lines on either side that speak for a line's shift.
_NEIGHBOURS = 2

NOWHERE = 0
_ANY = -1


@dataclass(frozen=True, slots=True)
class Places:
    """For each operation of a document the number of its source place, NOWHERE if it has none.

    Two operations of the two documents have equal numbers where they come from the same place: `exact`
    counts file, line and column of the whole inlined-at chain, `lines` leaves the columns out.
    """

    exact: list[int]
    lines: list[int]


def places(left: Document, right: Document) -> tuple[Places, Places] | None:
    """The places of both documents' operations; None where one of the two has no locations at all."""
    ours, theirs = _content(left), _content(right)
    if not ours or not theirs:
        return None
    shifts = {name: _line_map(lines, theirs.get(name, {})) for name, lines in ours.items()}
    numbers: dict[object, int] = {}
    return _numbered(left, shifts, numbers), _numbered(right, {}, numbers)


def _content(document: Document) -> dict[str, _Lines]:
    """File name -> line -> what was compiled from it. Folders differ between machines: only the name."""
    files: dict[str, _Lines] = defaultdict(lambda: defaultdict(set))
    # Parsers share one Location between the operations that have it.
    distinct = {(id(op.location), op.opcode): op.location for op in document.operations}
    for (_, opcode), location in distinct.items():
        place = location
        while place is not None:
            files[_name(place.file)][place.line].update(((place.column, opcode), (_ANY, opcode)))
            place = place.inlined_at
    return files


def _name(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]


def _line_map(left: Mapping[int, _Content], right: Mapping[int, _Content]) -> dict[int, int]:
    """Line of the left file -> line of the right: the shift that most of its neighbourhood agrees with."""
    shifts = _likely_shifts(left, right)
    lines = sorted(left)
    mapped = {}
    previous = 0
    for index, line in enumerate(lines):
        around = lines[max(0, index - _NEIGHBOURS) : index + _NEIGHBOURS + 1]
        scores = {
            shift: sum(len(left[near] & right.get(near + shift, set())) for near in around)
            for shift in shifts
        }
        best = max(scores.values())
        if scores[previous] < best:
            previous = next(shift for shift in shifts if scores[shift] == best)
        mapped[line] = line + previous
    return mapped


def _likely_shifts(left: Mapping[int, _Content], right: Mapping[int, _Content]) -> list[int]:
    """No shift at all, then the shifts that most of the rare contents speak for."""
    where: dict[tuple[int, str], list[int]] = defaultdict(list)
    for line, content in right.items():
        for element in content:
            where[element].append(line)
    votes: Counter[int] = Counter()
    for line, content in left.items():
        for element in content:
            if len(where.get(element, ())) <= _RARE:
                votes.update(other - line for other in where.get(element, ()))
    return [0, *(shift for shift, _ in votes.most_common(_SHIFTS) if shift)]


def _numbered(
    document: Document, shifts: Mapping[str, Mapping[int, int]], numbers: dict[object, int]
) -> Places:
    exact, lines = [], []
    known: dict[int, tuple[int, int]] = {id(None): (NOWHERE, NOWHERE)}
    for operation in document.operations:
        location = operation.location
        pair = known.get(id(location))
        if pair is None:
            chain = list(_chain(location, shifts))
            plain = tuple((file, line) for file, line, _ in chain)
            pair = (
                numbers.setdefault(("exact", *chain), len(numbers) + 1),
                numbers.setdefault(("line", *plain), len(numbers) + 1),
            )
            known[id(location)] = pair
        exact.append(pair[0])
        lines.append(pair[1])
    return Places(exact, lines)


def _chain(place: Location | None, shifts: Mapping[str, Mapping[int, int]]) -> Iterable[tuple[str, int, int]]:
    while place is not None:
        name = _name(place.file)
        yield name, shifts.get(name, {}).get(place.line, place.line), place.column
        place = place.inlined_at
