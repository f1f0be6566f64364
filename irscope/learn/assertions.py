"""Whether what a lesson says is so on the capture that was just made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.analysis.expectations import parse_expectation, unmet
from irscope.backends import stage_named
from irscope.diff.stage_diff import diff_stage
from irscope.diff.summary import summarize
from irscope.languages.registry import parse
from irscope.learn.context import LessonContext, ReadStage, pair_of
from irscope.learn.lesson import Claim, Lesson
from irscope.model import Variant


def broken_claims(lesson: Lesson, variants: Sequence[Variant], read: ReadStage) -> Iterator[str]:
    """A line for each claim of a lesson that does not hold on a capture of it.

    Raises UserError where that lacks a variant.
    """
    for step in lesson.steps:
        a, b = pair_of(step, variants, read)
        for claim in step.claims:
            if why := broken(claim, a, b):
                yield f"{step.title}: {why}"


def broken(claim: Claim, a: LessonContext, b: LessonContext) -> str | None:
    """Why a claim does not hold; None where it does, or is not made of this version of Triton."""
    if not _made_of(claim, a.variant.toolchain.versions.get("triton", "")):
        return None
    if claim.error:
        return _error(claim, a)
    if claim.has:
        return _lines(claim, a, b)
    if claim.diff:
        return _diff(claim, a, b)
    if claim.more or claim.less or claim.same:
        return _order(claim, a, b)
    return _facts(claim, a, b)


def _made_of(claim: Claim, version: str) -> bool:
    number = _version(version)
    too_old = bool(claim.since) and number < _version(claim.since)
    too_new = bool(claim.before) and number >= _version(claim.before)
    return not (too_old or too_new)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def _error(claim: Claim, a: LessonContext) -> str | None:
    failure = a.variant.failure
    if failure is None:
        return "it compiled"
    if claim.error in f"{failure.kind}: {failure.summary}\n{failure.message}":
        return None
    return f"the error is {failure.kind}: {failure.summary}"


def _lines(claim: Claim, a: LessonContext, b: LessonContext) -> str | None:
    for name, seen, wanted in (("A", a, claim.a), ("B", b, claim.b)):
        if wanted is None:
            continue
        found = seen.count(claim.stage, claim.has)
        if found != wanted and not (wanted == "some" and found):
            return f"{found} lines of {name}'s {claim.stage} match {claim.has!r}, not {wanted}"
    return None


def _diff(claim: Claim, a: LessonContext, b: LessonContext) -> str | None:
    language = stage_named(claim.stage).language or ""
    left, right = (parse(seen.text(claim.stage), language) for seen in (a, b))
    told = summarize(diff_stage(claim.stage, left, right))
    return None if claim.diff in told else f"the diff of {claim.stage} says: {told}"


def _order(claim: Claim, a: LessonContext, b: LessonContext) -> str | None:
    name = claim.more or claim.less or claim.same
    of_a, of_b = a.facts[name].value, b.facts[name].value
    if isinstance(of_a, int | float) and isinstance(of_b, int | float):
        holds = of_b > of_a if claim.more else of_b < of_a if claim.less else of_a == of_b
    else:
        holds = bool(claim.same) and of_a == of_b and of_a is not None
    return None if holds else f"{name} is {of_a} in A and {of_b} in B"


def _facts(claim: Claim, a: LessonContext, b: LessonContext) -> str | None:
    for name, seen, expected in (("A", a, claim.a), ("B", b, claim.b)):
        if expected is None:
            continue
        for missed in unmet(parse_expectation(str(expected)), seen.facts):
            return f"{name}: {missed.comparison.text}: {missed.reason} ({missed.value})"
    return None
