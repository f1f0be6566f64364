"""The Python of a pair's kernels, and how many instructions each line became in A and in B."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irscope.analysis.instruction_mix import instructions_by_line
from irscope.analysis.source_map import PythonLine, SourceMap, SourcePlace, place_of, python_lines
from irscope.backends import backend_with_assembly
from irscope.backends.instructions import InstructionKind
from irscope.diff.rows import StageDiff
from irscope.languages.document import Document, Location
from irscope.model import Variant

InstructionCounts = Mapping[SourcePlace, Mapping[InstructionKind, int]]
# The lines of a page's sources by their places: what the lines of a stage refer to.
SourceIds = Mapping[SourcePlace, int]


@dataclass(frozen=True)
class Listing:
    """The Python that A, B or both ("AB") were compiled from. `first` is the id of its first line."""

    sides: str
    lines: Sequence[PythonLine]
    first: int

    @property
    def ids(self) -> SourceIds:
        """The ids of the lines by their places."""
        return {line.place: self.first + index for index, line in enumerate(self.lines) if line.place}


def listings(a: Variant, b: Variant) -> list[Listing]:
    """One listing if A and B have the same Python, otherwise one of each."""
    ours, theirs = python_lines(a.kernel), python_lines(b.kernel)
    if ours == theirs:
        return [Listing("AB", ours, 0)]
    return [Listing("A", ours, 0), Listing("B", theirs, len(ours))]


def assembly_diff(diffs: Mapping[str, StageDiff]) -> StageDiff | None:
    """The diff of the assembly among `diffs`, which are by stage; None if it was not compared."""
    return next((diff for name, diff in diffs.items() if backend_with_assembly(name)), None)


def instruction_counts(diff: StageDiff, side: str) -> InstructionCounts:
    """How many instructions of each kind a Python line became in A or in B (`side`), by place."""
    document: Document = diff.left if side == "A" else diff.right
    found: dict[SourcePlace, dict[InstructionKind, int]] = defaultdict(dict)
    for (_, place), mix in instructions_by_line(document, diff.stage).items():
        if place is not None:
            found[place_of(Location(*place))].update(mix.counts)
    return found


def source_chains(document: Document, ids: SourceIds) -> list[tuple[int, ...]]:
    """For each line of a stage, the ids of the Python lines that it came from, innermost first."""
    origins = SourceMap(document)
    return [
        tuple(ids[place] for place in origins.of_line(line) if place in ids)
        for line in range(len(document.lines))
    ]
