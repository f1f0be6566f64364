"""Findings about whole variants: one does not compile or launch, or both have identical machine code."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.analysis.duplicates import are_duplicates
from irscope.analysis.findings.finding import Finding, PairContext
from irscope.facts.fact import status_of


def launch_problems(pair: PairContext) -> Iterator[Finding]:
    """A side that did not compile or cannot be launched."""
    for side, variant, facts in pair.sides():
        status = status_of(variant, facts)
        if variant.failure is not None and status is not None:
            yield Finding(f"{side} did not compile: {status.reason}", 1100, "launch")
        elif status is not None and not status.ok:
            yield Finding(f"{side} cannot launch on {variant.target}: {status.reason}", 1000, "launch")


def identical_code(pair: PairContext) -> Iterator[Finding]:
    """Both sides have the same machine code."""
    if are_duplicates(pair.a, pair.b, pair.facts_a, pair.facts_b):
        text = "A and B have identical machine code; benchmarking both is redundant"
        yield Finding(text, 500, "identical")
