"""An estimate as lines: the time, the bound, and a bar with the numbers of each term.

The command line, the app, the report and the lessons lay out these lines; none of them adds words.

The estimates of two variants for the same problem: what makes one slower, as a finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irscope.facts.fact import Evidence
from irscope.findings.finding import Finding, FindingCause, Severity, effect
from irscope.model import Launch, UserError, Variant
from irscope.model.records import frozen
from irscope.model.text import microseconds_text

if TYPE_CHECKING:
    from irscope.estimating.terms import Estimate, Term
    from irscope.workspace.comparison import Comparison


_BAR = 20
_FULL = "\u2588"
_PARTS = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589"
# Terms below this share of the time are noise.
_LEAST_SHARE = 0.005
# Estimates closer than this are equal: the model is not better than that.
_EQUAL = 0.05
# Terms that are no resource: they explain a difference only if they are the bound.
_NO_CAUSES = ("tail", "launch overhead")


@frozen
class EstimateLine:
    """A sentence, or a term: its name, time and bar, and in `detail` the numbers that the time comes from.

    `evidence` are the lines of code that show them.
    """

    text: str
    detail: str = ""
    evidence: tuple[Evidence, ...] = ()


def estimate_lines(estimate: Estimate) -> list[EstimateLine]:
    """Return the lines of the estimate of one launch."""
    return [
        EstimateLine(f"{estimate.text} us estimated on {estimate.device}; bound by {estimate.bound}"),
        *_terms(estimate),
        *(EstimateLine(note) for note in estimate.notes),
    ]


def estimate_difference(a: Estimate, b: Estimate) -> str:
    """Compare B with A in one sentence: "B is 1.4x slower by estimate: shared memory 2.1x, ..."."""
    return ": ".join((_ratio_text(a, b), *_causes(a, b)))


def _ratio_text(a: Estimate, b: Estimate) -> str:
    """Return `B is 1.4x slower by estimate (10 -> 14 us, bound by latency)`."""
    times = f"{a.text} -> {b.text} us"
    if are_equal(a, b):
        return f"A and B are equally fast by estimate ({times})"
    ratio = b.microseconds / a.microseconds
    word, factor = ("slower", ratio) if ratio > 1 else ("faster", 1 / ratio)
    bounds = f"bound by {a.bound}" if a.bound == b.bound else f"bound by {a.bound} -> {b.bound}"
    return f"B is {_factor(factor)} {word} by estimate ({times}, {bounds})"


def are_equal(a: Estimate, b: Estimate) -> bool:
    """Check whether the times differ by less than measurements do."""
    return abs(b.microseconds - a.microseconds) <= _EQUAL * a.microseconds


def difference_evidence(a: Estimate, b: Estimate) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    """Return the lines of A and of B that show the term that changed most."""
    names = _changed(a, b)
    terms = [estimate.term(names[0]) if names else None for estimate in (a, b)]
    of_a, of_b = (term.evidence if term else () for term in terms)
    return of_a, of_b


def _causes(a: Estimate, b: Estimate) -> tuple[str, ...]:
    """Return the terms that explain the difference, at most two, in one text; none if no term does."""
    causes = []
    for name in () if are_equal(a, b) else _changed(a, b)[:2]:
        before, after = (_time(estimate, name) for estimate in (a, b))
        if before and after:
            causes.append(f"{name} {_factor(after / before)}")
        else:
            causes.append(f"{name} {microseconds_text(before)} -> {microseconds_text(after)} us")
    return (", ".join(causes),) if causes else ()


def _factor(ratio: float) -> str:
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:,.0f}x"


def _changed(a: Estimate, b: Estimate) -> list[str]:
    """Return the terms that changed in the direction of the whole, the largest change first."""
    sign = 1 if b.microseconds > a.microseconds else -1
    bounds = {a.bound, b.bound}
    every = dict.fromkeys(term.name for term in (*a.terms, *b.terms))
    names = [name for name in every if name not in _NO_CAUSES or name in bounds]
    changes = {name: sign * (_time(b, name) - _time(a, name)) for name in names}
    least = _EQUAL * max(a.microseconds, b.microseconds)
    return sorted((name for name in names if changes[name] > least), key=lambda name: -changes[name])


def _time(estimate: Estimate, name: str) -> float:
    term = estimate.term(name)
    return term.microseconds if term else 0.0


def _terms(estimate: Estimate) -> list[EstimateLine]:
    least = _LEAST_SHARE * estimate.microseconds
    terms = [term for term in estimate.terms if term.microseconds >= least]
    width = max((len(term.name) for term in terms), default=0)
    longest = max((term.microseconds for term in terms), default=1.0)
    return [_term(term, width, longest) for term in terms]


def _term(term: Term, width: int, longest: float) -> EstimateLine:
    bar = bar_text(term.microseconds / longest, _BAR)
    time = microseconds_text(term.microseconds)
    return EstimateLine(f"{term.name:<{width}} {time:>6} us {bar}".rstrip(), term.text, term.evidence)


def bar_text(share: float, width: int) -> str:
    """Draw a bar of `share` (0 to 1) of `width` characters, padded with blanks."""
    eighths = round(max(0.0, min(share, 1.0)) * width * 8)
    part = _PARTS[eighths % 8] if eighths % 8 else ""
    return (_FULL * (eighths // 8) + part).ljust(width)


@frozen
class PairEstimates:
    """The estimates of A and B for the first problem that both were launched for.

    `problem` is its text ("M=4096, N=4096"). `a` and `b` are the estimates.
    """

    problem: str
    a: Estimate
    b: Estimate

    @property
    def text(self) -> str:
        """Compare B with A in one sentence."""
        return f"{estimate_difference(self.a, self.b)}, for {self.problem}"


def pair_estimates(comparison: Comparison) -> PairEstimates | None:
    """Return a pair's estimates; None if the two share no problem, or if there are none."""
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
    from irscope.workspace.problem_sizes import (
        launch_text,  # here and below: many modules, if there are launches
    )

    return PairEstimates(launch_text(comparison.a, shared[0]), a, b)


def estimate_findings(comparison: Comparison) -> Iterator[Finding]:
    """Yield the finding that B is slower or faster than A by estimate, and because of which resource."""
    pair = comparison.estimates
    if pair is None or comparison.duplicate or are_equal(pair.a, pair.b):
        return
    weight = Severity.MATRIX_PATH.weight(effect(pair.a.microseconds, pair.b.microseconds))
    evidence_a, evidence_b = difference_evidence(pair.a, pair.b)
    yield Finding(
        _ratio_text(pair.a, pair.b),
        weight,
        "estimate",
        evidence_a,
        evidence_b,
        changes=_causes(pair.a, pair.b),
        causes=(FindingCause("problem", (pair.problem,)),),
    )


def shared_launch(a: Variant, b: Variant) -> tuple[Launch, Launch] | None:
    """Return the first launch of A and one of B that are for the same problem."""
    if not a.launches or not b.launches:
        return None
    from irscope.workspace.problem_sizes import problem_text

    of_b = {problem_text(b, launch): launch for launch in reversed(b.launches)}
    shared = ((launch, of_b.get(problem_text(a, launch))) for launch in a.launches)
    return next(((launch_a, launch_b) for launch_a, launch_b in shared if launch_b is not None), None)
