"""Which Python line the lines of a stage came from, and what became of a Python line there."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from irscope.diff.sources import instruction_class
from irscope.ir.document import OPAQUE, Document, Location
from irscope.model import Variant
from irscope.tui.page import Side

# A file by its name alone, as captures are read on other machines, and a line in it, from 1.
Place = tuple[str, int]


def place_of(location: Location) -> Place:
    """The place that a location names, whatever it is inlined in."""
    return location.file.replace("\\", "/").rpartition("/")[2], location.line


class Origins:
    """The operations of one stage by the Python lines they came from.

    What a helper was inlined for belongs to the helper's line and to each line that called it.
    """

    def __init__(self, document: Document) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._chains: list[tuple[Place, ...]] = []
        self._parents: list[int] = []
        self._at: dict[Place, list[int]] = defaultdict(list)
        self._opcodes: list[str] = []
        chains: dict[Location | None, tuple[Place, ...]] = {None: ()}
        for index, operation in enumerate(document.operations):
            location = operation.location
            if location not in chains:
                chains[location] = tuple(dict.fromkeys(_chain(location)))
            self._starts.append(operation.line)
            self._ends.append(operation.end)
            self._parents.append(operation.parent)
            self._opcodes.append(operation.opcode)
            self._chains.append(chains[location])
            for place in chains[location]:
                self._at[place].append(index)

    def __len__(self) -> int:
        return len(self._starts)

    def of_line(self, line: int) -> tuple[Place, ...]:
        """The places a line (from 0) came from: the innermost helper first, the kernel's own line last.

        A line on which no operation starts belongs to the one that it lies in.
        """
        index = bisect_right(self._starts, line) - 1
        while index >= 0 and self._ends[index] <= line:
            index = self._parents[index]
        return self._chains[index] if index >= 0 else ()

    def lines(self, place: Place) -> Sequence[int]:
        """The lines (from 0) of the operations that came from `place`, in order."""
        return [self._starts[index] for index in self._at.get(place, ())]

    def count(self, place: Place) -> int:
        """How many operations came from `place`."""
        return len(self._at.get(place, ()))

    def counts(self, place: Place) -> Counter[str]:
        """How many operations or instructions of each class came from `place`."""
        opcodes = (self._opcodes[index] for index in self._at.get(place, ()))
        return Counter(instruction_class(opcode) for opcode in opcodes if opcode != OPAQUE)


@dataclass(frozen=True)
class Python:
    """The kernel's source and that of the functions it calls, and the place of each of its lines."""

    side: Side
    places: Sequence[Place | None]

    def line_of(self, place: Place) -> int | None:
        """The line (from 0) that shows a place; None where the source does not have it."""
        return self.places.index(place) if place in self.places else None


def python_of(variant: Variant) -> Python:
    """The source of a variant's kernel, then of its helpers, with the line numbers of their files."""
    lines: list[str] = []
    places: list[Place | None] = []
    for function in (variant.kernel.source, *variant.kernel.helpers):
        body = function.text.rstrip("\n").split("\n")
        lines += [f"# {function.file}", *body, ""]
        numbers = range(function.line, function.line + len(body))
        places += [None, *(place_of(Location(function.file, number)) for number in numbers), None]
    return Python(Side(lines, "python", [place[1] if place else 0 for place in places]), places)


def _chain(location: Location | None) -> Iterator[Place]:
    while location is not None:
        yield place_of(location)
        location = location.inlined_at
