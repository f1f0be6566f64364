"""Findings about whole variants: one does not compile or launch, or both have identical machine code."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.analysis.duplicates import are_duplicates
from irscope.analysis.findings.finding import EVERYTHING, Finding, PairContext
from irscope.analysis.findings.severity import Severity
from irscope.facts.fact import status_of


def launch_problems(pair: PairContext) -> Iterator[Finding]:
    """A side that did not compile or cannot be launched."""
    for side, variant, facts in pair.sides():
        status = status_of(variant, facts)
        if variant.failure is not None and status is not None:
            # Weightier than a variant that compiles but cannot launch.
            weight = Severity.FAILURE.weight(effect=1)
            yield Finding(f"{side} did not compile: {status.reason}", weight, "launch", subject=side)
        elif status is not None and not status.ok:
            text = f"{side} cannot launch on {variant.target}: {status.reason}"
            yield Finding(text, Severity.FAILURE.weight(), "launch", subject=side)


def identical_code(pair: PairContext) -> Iterator[Finding]:
    """Both sides have the same machine code, so that no other difference has an effect."""
    if are_duplicates(pair.a, pair.b, pair.facts_a, pair.facts_b):
        text = "A and B have identical machine code; benchmarking both is redundant"
        yield Finding(text, Severity.IDENTICAL.weight(), "identical", covers=frozenset([EVERYTHING]))
