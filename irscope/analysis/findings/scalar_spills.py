"""The finding about scalar registers that AMD's backend spills to lanes of vector registers."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.analysis.findings.finding import Finding, PairContext
from irscope.facts.registry import SCALAR_SPILLS
from irscope.facts.spills import spills_only_scalars
from irscope.model.text import pluralize

# As other resources that do not change occupancy.
_WEIGHT = 4.0


def scalar_spills(pair: PairContext) -> Iterator[Finding]:
    """Scalar registers spilled without a stack; with one, they are part of the finding about spills."""
    numbers = pair.numbers(SCALAR_SPILLS)
    sides = (pair.facts_a, pair.facts_b)
    if numbers is None or numbers[0] == numbers[1]:
        return
    if not all(
        spills_only_scalars(facts) or not number for facts, number in zip(sides, numbers, strict=True)
    ):
        return
    a, b = (pluralize(int(number), "scalar register") for number in numbers)
    if not numbers[0]:
        text = f"B spills {b} to lanes of vector registers, A spills none"
    elif not numbers[1]:
        text = f"A spills {a} to lanes of vector registers, B spills none"
    else:
        text = f"A spills {a} to lanes of vector registers, B spills {b}"
    yield Finding(text, _WEIGHT, "scalar spills")
