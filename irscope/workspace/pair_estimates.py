"""The estimates of two variants for the same problem: what makes one slower, as a finding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irscope.analysis.findings.finding import Finding
from irscope.analysis.findings.severity import Severity, effect
from irscope.model import Launch, UserError, Variant
from irscope.model.frozen_value import FrozenValue
from irscope.workspace.estimate_text import (
    are_equal,
    difference_evidence,
    estimate_difference,
)

if TYPE_CHECKING:
    from irscope.estimating.terms import Estimate
    from irscope.workspace.comparison import Comparison


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairEstimates(FrozenValue):
    """The estimates of A and B for the first problem that both were launched for.

    `problem` is its text ("M=4096, N=4096"). `a` and `b` are the estimates.
    """

    problem: str
    a: Estimate
    b: Estimate

    @property
    def text(self) -> str:
        """How B compares with A, in one sentence."""
        return f"{estimate_difference(self.a, self.b)}, for {self.problem}"


def pair_estimates(comparison: Comparison) -> PairEstimates | None:
    """The estimates of a pair; None if the two were not launched for the same problem, or there are none."""
    if comparison.mismatch or comparison.single:
        return None
    shared = shared_launch(comparison.a, comparison.b)
    if shared is None:
        return None
    estimates = comparison.workspace.estimates
    try:
        a, b = (
            estimates.of(variant, launch) for variant, launch in zip(comparison.variants, shared, strict=True)
        )
    except UserError:
        return None
    from irscope.workspace.problems import launch_text  # here and below: many modules, if there are launches

    return PairEstimates(launch_text(comparison.a, shared[0]), a, b)


def estimate_findings(comparison: Comparison) -> Iterator[Finding]:
    """The finding that B is slower or faster than A by estimate, and because of which resource."""
    pair = comparison.estimates
    if pair is None or comparison.duplicate or are_equal(pair.a, pair.b):
        return
    weight = Severity.MATRIX_PATH.weight(effect(pair.a.microseconds, pair.b.microseconds))
    evidence_a, evidence_b = difference_evidence(pair.a, pair.b)
    yield Finding(pair.text, weight, "estimate", evidence_a, evidence_b)


def shared_launch(a: Variant, b: Variant) -> tuple[Launch, Launch] | None:
    """The first launch of A and one of B that are for the same problem."""
    if not a.launches or not b.launches:
        return None
    from irscope.workspace.problems import problem_text

    of_b = {problem_text(b, launch): launch for launch in reversed(b.launches)}
    shared = ((launch, of_b.get(problem_text(a, launch))) for launch in a.launches)
    return next(((one, other) for one, other in shared if other is not None), None)
