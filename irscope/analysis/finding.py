"""What a finding is: one sentence about two variants, with the lines that prove it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from irscope.facts.fact import Evidence


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about how B differs from A.

    `kind` names what it is about ("launch", "identical", "spills", "global load", "layout", ...).
    `weight` is the effect that findings are ranked by, not a count. `evidence_a` and `evidence_b` are
    the lines on each side that prove it.
    """

    text: str
    weight: float
    kind: str
    evidence_a: tuple[Evidence, ...] = ()
    evidence_b: tuple[Evidence, ...] = ()


def effect(a: float, b: float) -> float:
    """How far a quantity moved, in doublings or halvings; from or to 0 counts as from or to a half."""
    return abs(math.log2(max(b, 0.5) / max(a, 0.5)))
