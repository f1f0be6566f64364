"""Python lines and the operations of A and B: where an operation came from, what a line became."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from irscope.facts.source.map import PythonLine, SourceMap, SourcePlace, origin_lines, python_lines
from irscope.model import UserError, Variant
from irscope.model.records import frozen_with_dict
from irscope.targets import backend_with_assembly
from irscope.targets.instructions import InstructionKind, scan
from irscope.workspace.variant_texts import TEXTS

if TYPE_CHECKING:
    from irscope.diff.rows import Row
    from irscope.languages.document import Document
    from irscope.workspace.comparison import Comparison


# The instructions of each kind that came from each line of Python.
InstructionCounts = Mapping[SourcePlace, Mapping[InstructionKind, int]]


@frozen_with_dict
class PythonSource:
    """The source of a kernel, then of the functions that it calls; `file` is the kernel's own."""

    lines: Sequence[PythonLine] = ()
    file: str = ""

    @classmethod
    def of_variant(cls, variant: Variant) -> PythonSource:
        """Return the Python source of a variant's kernel, then of its helpers.

        The lines of the program that a generated kernel came from are first.
        """
        program = origin_lines(variant.origin) if variant.origin else []
        return cls([*program, *python_lines(variant.kernel)], variant.kernel.source.file)

    @cached_property
    def texts(self) -> list[str]:
        """Return the text of each line."""
        return [line.text for line in self.lines]

    @cached_property
    def numbers(self) -> list[int]:
        """Return the number of each line in its file; 0 for a heading."""
        return [line.number for line in self.lines]

    @cached_property
    def places(self) -> list[SourcePlace | None]:
        """Return the file and number of each line; None for a heading."""
        return [line.place for line in self.lines]

    def line_of(self, place: SourcePlace) -> int | None:
        """Return the line (from 0) of a place; None if the source does not have it."""
        return self.places.index(place) if place in self.places else None

    def kernel_line(self, places: Sequence[SourcePlace]) -> int | None:
        """Return the line (from 0) of the outermost of `places` that is in the kernel's file.

        The line of the innermost if none is; None if the source has none of them.
        """
        indices = [line for line_place in places if (line := self.line_of(line_place)) is not None]
        kernel_lines = [
            line for line in indices if (line_place := self.places[line]) and line_place[0] == self.file
        ]
        return kernel_lines[-1] if kernel_lines else indices[0] if indices else None


def python_rows(a: PythonSource, b: PythonSource) -> list[Row]:
    """Align the lines of two sources."""
    from irscope.diff.build_rows import text_rows  # the app opens without a diff

    return text_rows(a.texts, b.texts)


@frozen_with_dict
class Listing:
    """The Python that A, B or both ("AB") were compiled from. `first` is the id of its first line."""

    sides: str
    source: PythonSource
    first: int

    @property
    def ids(self) -> dict[SourcePlace, int]:
        """Return the ids of the lines by their places."""
        return {
            source_place: self.first + index
            for index, source_place in enumerate(self.source.places)
            if source_place
        }


def listings(a: Variant, b: Variant) -> list[Listing]:
    """Return one listing if A and B have the same Python, otherwise one of each."""
    left, right = PythonSource.of_variant(a), PythonSource.of_variant(b)
    if left.lines == right.lines:
        return [Listing("AB", left, 0)]
    return [Listing("A", left, 0), Listing("B", right, len(left.lines))]


@frozen_with_dict
class SourceMaps:
    """The Python lines that the operations of a stage came from, in A and B; None if a side has none."""

    left: SourceMap | None = None
    right: SourceMap | None = None

    def of(self, line: int, right: bool) -> tuple[SourcePlace, ...]:
        """Return the places that a line of one side came from, the innermost first."""
        side = self.right if right else self.left
        return side.of_line(line) if side else ()

    def counts(self, place: SourcePlace) -> tuple[int, int]:
        """Count the operations that came from a place, in A and B."""
        left, right = (side.count(place) if side else 0 for side in (self.left, self.right))
        return left, right

    def lines(self, place: SourcePlace) -> tuple[frozenset[int], frozenset[int]]:
        """Return the lines of these operations, in A and B."""
        left, right = (side.lines(place) if side else () for side in (self.left, self.right))
        return frozenset(left), frozenset(right)


@frozen_with_dict
class LineOutcome:
    """A class of operations that a Python line became in a stage, and their number in A and B.

    A number is None if that side does not have the stage.
    """

    stage: str
    opcode: str
    left: int | None
    right: int | None


def source_maps(pair: Comparison, stage: str) -> SourceMaps:
    """Return a stage's source maps, without sides that are missing, damaged or not disassembled yet.

    A's operations are mapped to the lines of B's source.
    """
    if stage in TEXTS:
        return SourceMaps()
    right = None if pair.single else _source_map(pair, pair.b, stage)
    return SourceMaps(_source_map(pair, pair.a, stage), right)


def line_outcomes(maps: Mapping[str, SourceMaps], place: SourcePlace) -> list[LineOutcome]:
    """Return a Python line's operations in each stage: classes whose numbers differ first, then largest."""
    return [outcome for stage in maps for outcome in _stage_outcomes(stage, maps[stage], place)]


def _stage_outcomes(stage: str, maps: SourceMaps, place: SourcePlace) -> list[LineOutcome]:
    left, right = (side.counts(place) if side else None for side in (maps.left, maps.right))
    opcodes = {**(left or {}), **(right or {})}
    outcomes = [
        LineOutcome(
            stage, opcode, None if left is None else left[opcode], None if right is None else right[opcode]
        )
        for opcode in opcodes
    ]
    outcomes.sort(key=lambda one: (one.left == one.right, -max(one.left or 0, one.right or 0), one.opcode))
    return outcomes


def source_chains(document: Document, ids: Mapping[SourcePlace, int]) -> list[tuple[int, ...]]:
    """Return for each line of a stage the ids of the Python lines it came from, innermost first."""
    source_map = SourceMap(document)
    return [
        tuple(ids[source_place] for source_place in source_map.of_line(line) if source_place in ids)
        for line in range(len(document.lines))
    ]


def assembly_stage(stages: Iterable[str]) -> str | None:
    """Return the stage among `stages` that is assembly; None if there is none."""
    return next((stage for stage in stages if backend_with_assembly(stage)), None)


def instruction_counts(document: Document, stage: str) -> InstructionCounts:
    """Count the instructions of each kind that came from each line of Python, in an assembly stage.

    As in SourceMap, an instruction of an inlined helper counts for the helper's line and for
    each call.
    """
    counts: dict[SourcePlace, Counter[InstructionKind]] = defaultdict(Counter)
    backend = backend_with_assembly(stage)
    if backend is not None:
        source_map = SourceMap(document)
        for kind, lines in scan(document.text, backend.instruction_set()).lines.items():
            for line in lines:
                for source_place in source_map.of_line(line):
                    counts[source_place][kind] += 1
    return counts


def instruction_lines(document: Document, stage: str) -> frozenset[int]:
    """Return the lines (from 0) of an assembly stage that move data or multiply matrices.

    Empty for other stages.
    """
    backend = backend_with_assembly(stage)
    lines_by_kind = scan(document.text, backend.instruction_set()).lines if backend else {}
    return frozenset(line for lines in lines_by_kind.values() for line in lines)


def _source_map(pair: Comparison, variant: Variant, stage: str) -> SourceMap | None:
    workspace = pair.workspace
    if not workspace.contents.key(variant, stage) or not workspace.contents.available(variant, stage):
        return None
    try:
        return workspace.source_map(variant, stage, pair.b)
    except UserError:  # the view of the stage itself reports the damage
        return None
