"""A finding: one sentence about how two variants differ, with the lines that prove it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from irscope.analysis.divergence import Divergences
from irscope.backends import backend_of
from irscope.diff.rows import StageDiff
from irscope.facts.fact import Evidence, FactKind, Facts, evidence_of, number_of
from irscope.model import Variant


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about how B differs from A.

    `kind` names the subject ("launch", "identical", "spills", "global load", "layout", ...). `weight`
    ranks findings; it is not a count. `evidence_a` and `evidence_b` are the lines on each side that
    prove it.
    """

    text: str
    weight: float
    kind: str
    evidence_a: tuple[Evidence, ...] = ()
    evidence_b: tuple[Evidence, ...] = ()

    def __str__(self) -> str:
        """The sentence."""
        return self.text


@dataclass(frozen=True)
class PairContext:
    """Two variants with their facts and stages: the only input of a finding.

    `diffs` are the stages that were compared, by name; the locations of both sides are lines of B (see
    `StageDiff.in_lines_of_b`), so equal lines have equal places. `divergences` says where the passes of both
    diverge; None if the capture does not have the passes.
    """

    a: Variant
    b: Variant
    facts_a: Facts
    facts_b: Facts
    diffs: Mapping[str, StageDiff] = field(default_factory=dict)
    divergences: Divergences | None = None

    def sides(self) -> Iterator[tuple[str, Variant, Facts]]:
        """Both sides with their letter."""
        yield "A", self.a, self.facts_a
        yield "B", self.b, self.facts_b

    def numbers(self, kind: FactKind) -> tuple[float, float] | None:
        """A fact's numbers; None if one is unknown."""
        a, b = number_of(self.facts_a, kind), number_of(self.facts_b, kind)
        return None if a is None or b is None else (a, b)

    def evidence(self, kind: FactKind) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
        """The lines on each side that prove a fact."""
        return evidence_of(self.facts_a, kind), evidence_of(self.facts_b, kind)


def effect(a: float, b: float) -> float:
    """How far a quantity moved, in doublings or halvings; 0 counts as a half."""
    return abs(math.log2(max(b, 0.5) / max(a, 0.5)))


def assembly_diff(pair: PairContext) -> StageDiff | None:
    """The diff of the assembly; None if it was not compared."""
    return pair.diffs.get(backend_of(pair.b.target).assembly)
