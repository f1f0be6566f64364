"""Python lines and the operations of A and B: where an operation came from, what a line became."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irscope.analysis.source_map import SourceMap, SourcePlace, place_of, python_lines
from irscope.diff.build_rows import text_rows
from irscope.diff.rows import Row
from irscope.languages.document import Location
from irscope.model import UserError, Variant
from irscope.workspace.texts import PYTHON

if TYPE_CHECKING:
    from irscope.workspace.comparison import Comparison


@dataclass(frozen=True)
class PythonSource:
    """The source of a kernel and of the functions that it calls, as one text.

    `numbers` are the lines' numbers in their files (0: none), `places` their files and numbers.
    """

    lines: Sequence[str] = ()
    numbers: Sequence[int] = ()
    places: Sequence[SourcePlace | None] = ()
    file: str = ""

    def line_of(self, place: SourcePlace) -> int | None:
        """The line (from 0) of a place; None if the source does not have it."""
        return self.places.index(place) if place in self.places else None

    def kernel_line(self, places: Sequence[SourcePlace]) -> int | None:
        """The line (from 0) of the outermost of `places` that is in the kernel's file.

        The line of the innermost if none is; None if the source has none of them.
        """
        found = [line for place in places if (line := self.line_of(place)) is not None]
        own = [line for line in found if (place := self.places[line]) and place[0] == self.file]
        return own[-1] if own else found[0] if found else None


def python_source(variant: Variant) -> PythonSource:
    """The Python source of a variant's kernel, then of its helpers."""
    lines = python_lines(variant.kernel)
    file, _ = place_of(Location(variant.kernel.source.file, 0))
    return PythonSource(
        [line.text for line in lines], [line.number for line in lines], [line.place for line in lines], file
    )


def python_rows(a: PythonSource, b: PythonSource) -> list[Row]:
    """The lines of two sources, aligned."""
    return text_rows(a.lines, b.lines)


@dataclass(frozen=True)
class SourceMaps:
    """The Python lines that the operations of a stage came from, in A and B; None if a side has none."""

    left: SourceMap | None = None
    right: SourceMap | None = None

    def of(self, line: int, right: bool) -> tuple[SourcePlace, ...]:
        """The places that a line of one side came from, the innermost first."""
        side = self.right if right else self.left
        return side.of_line(line) if side else ()

    def counts(self, place: SourcePlace) -> tuple[int, int]:
        """How many operations came from a place, in A and B."""
        left, right = (side.count(place) if side else 0 for side in (self.left, self.right))
        return left, right

    def lines(self, place: SourcePlace) -> tuple[frozenset[int], frozenset[int]]:
        """The lines of these operations, in A and B."""
        left, right = (side.lines(place) if side else () for side in (self.left, self.right))
        return frozenset(left), frozenset(right)


@dataclass(frozen=True)
class LineOutcome:
    """A class of operations that a Python line became in a stage, and their number in A and B.

    A number is None if that side does not have the stage.
    """

    stage: str
    opcode: str
    left: int | None
    right: int | None


def source_maps(pair: Comparison, stage: str) -> SourceMaps:
    """The source maps of a stage, without sides that are missing, damaged or not disassembled yet."""
    if stage == PYTHON:
        return SourceMaps()
    single = pair.a.id == pair.b.id
    return SourceMaps(_source_map(pair, pair.a, stage), None if single else _source_map(pair, pair.b, stage))


def line_outcomes(pair: Comparison, stage: str, place: SourcePlace) -> list[LineOutcome]:
    """What a Python line became in a stage: classes whose numbers differ first, then the largest."""
    maps = source_maps(pair, stage)
    left, right = (side.counts(place) if side else None for side in (maps.left, maps.right))
    opcodes = {**(left or {}), **(right or {})}
    found = [
        LineOutcome(
            stage, opcode, None if left is None else left[opcode], None if right is None else right[opcode]
        )
        for opcode in opcodes
    ]
    found.sort(key=lambda one: (one.left == one.right, -max(one.left or 0, one.right or 0), one.opcode))
    return found


def _source_map(pair: Comparison, variant: Variant, stage: str) -> SourceMap | None:
    workspace = pair.workspace
    if not workspace.key(variant, stage) or not workspace.available(variant, stage):
        return None
    try:
        return workspace.source_map(variant, stage)
    except UserError:  # the view of the stage itself reports the damage
        return None
