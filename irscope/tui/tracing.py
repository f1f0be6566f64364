"""Python lines and the operations of A and B: what one came from, and what the other became."""

from __future__ import annotations

from dataclasses import dataclass

from irscope.analysis.source_map import SourceMap, SourcePlace
from irscope.model import UserError, Variant
from irscope.tui.pair_state import PairState
from irscope.workspace import PYTHON, Workspace


@dataclass(frozen=True)
class Traces:
    """Where the operations of one stage came from, in A and in B; None where that side has none."""

    left: SourceMap | None = None
    right: SourceMap | None = None

    def of(self, line: int, right: bool) -> tuple[SourcePlace, ...]:
        """The places that a line of one side came from, the innermost first."""
        origins = self.right if right else self.left
        return origins.of_line(line) if origins else ()

    def counts(self, place: SourcePlace) -> tuple[int, int]:
        """How many operations came from a place, in A and in B."""
        left, right = (side.count(place) if side else 0 for side in (self.left, self.right))
        return left, right

    def lines(self, place: SourcePlace) -> tuple[frozenset[int], frozenset[int]]:
        """The lines of those operations, in A and in B."""
        left, right = (side.lines(place) if side else () for side in (self.left, self.right))
        return frozenset(left), frozenset(right)


@dataclass(frozen=True)
class LineOutcome:
    """A class of operations that a Python line became in a stage, and how many of them in A and in B.

    None where A, or B, has no such stage.
    """

    stage: str
    opcode: str
    left: int | None
    right: int | None


def trace(comparison: PairState, stage: str) -> Traces:
    """The traces of a stage; parses it where it was not yet, so it is for the background."""
    if stage == PYTHON:
        return Traces()
    workspace = comparison.workspace
    left = _origins(workspace, comparison.a, stage)
    return Traces(left, None if comparison.single else _origins(workspace, comparison.b, stage))


def work_in(comparison: PairState, stage: str, place: SourcePlace) -> list[LineOutcome]:
    """What `place` became in a stage: what differs in number first, then what there is most of."""
    traces = trace(comparison, stage)
    left, right = (side.counts(place) if side else None for side in (traces.left, traces.right))
    opcodes = {**(left or {}), **(right or {})}
    found = [
        LineOutcome(
            stage, opcode, None if left is None else left[opcode], None if right is None else right[opcode]
        )
        for opcode in opcodes
    ]
    found.sort(key=lambda work: (work.left == work.right, -max(work.left or 0, work.right or 0), work.opcode))
    return found


def _origins(workspace: Workspace, variant: Variant, stage: str) -> SourceMap | None:
    if not workspace.key(variant, stage) or not workspace.available(variant, stage):
        return None
    try:
        return workspace.source_map(variant, stage)
    except UserError:  # a damaged stage: the tab itself says so
        return None
