"""The finding about warp specialization: the groups of warps, and what each of them does."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.analysis.findings.finding import Finding, PairContext
from irscope.analysis.findings.severity import Severity
from irscope.facts.fact import value_of
from irscope.facts.registry import WARP_SPECIALIZATION
from irscope.model.text import pluralize


def warp_specialization(pair: PairContext) -> Iterator[Finding]:
    """Partitions that differ, or that only one side has."""
    a, b = (value_of(facts, WARP_SPECIALIZATION) for facts in (pair.facts_a, pair.facts_b))
    if a is None or b is None or a == b:
        return
    if a == WARP_SPECIALIZATION.absent:
        text = f"B is warp specialized, A is not: {_text(str(b))}"
    elif b == WARP_SPECIALIZATION.absent:
        text = f"A is warp specialized, B is not: {_text(str(a))}"
    else:
        text = f"Both are warp specialized. A: {_text(str(a))}. B: {_text(str(b))}"
    yield Finding(text, Severity.LOOP.weight(), "warp_specialization", *pair.evidence(WARP_SPECIALIZATION))


def _text(value: str) -> str:
    """`3 partitions (default: 4 warps, ...; partition0: ...)`."""
    return f"{pluralize(value.count(';') + 1, 'partition')} ({value})"
