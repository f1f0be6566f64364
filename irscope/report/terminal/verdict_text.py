"""`irscope verdict` as text: a handful of lines per variant, for a person or an agent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.model.text import one_line, pluralize
from irscope.workspace import KeyPoint, PairVerdict, Verdict

NO_REMEDY = "try: no remedy is known; findings, lint rules and the other variants suggest none"


def verdict_text(verdict: Verdict) -> Iterator[str]:
    """The lines of a verdict."""
    variant = verdict.variant
    yield one_line(f"#{variant.id} {verdict.name}  {variant.kernel.name}  {variant.target}")
    yield from ("  " + one_line(line) for line in _body(verdict))
    if verdict.pair is not None:
        yield from map(one_line, _pair(verdict, verdict.pair))


def _body(verdict: Verdict) -> Iterator[str]:
    if verdict.problem:
        yield verdict.problem
    elif verdict.launchable:
        yield "can be launched"
    used = ", ".join(resource.text for resource in verdict.resources)
    if verdict.occupancy is not None:
        limited = f", limited by {verdict.limiter}" if verdict.limiter else ""
        used += f"; occupancy {round(verdict.occupancy * 100, 1):g}%{limited}"
    if used:
        yield used
    if verdict.variant.failure is None:
        yield verdict.bound
    yield from _points(verdict.points, verdict.more)
    if not verdict.remedies:
        yield NO_REMEDY
    yield from (f"{remedy} [{remedy.basis}]" for remedy in verdict.remedies)


def _pair(verdict: Verdict, pair: PairVerdict) -> Iterator[str]:
    yield f"B, compared with A = #{pair.against.id} {pair.name}: {pair.change or 'equal config'}"
    if pair.duplicate:
        yield "  the machine code is identical: measure only one"
    yield from (f"  {line}" for line in _points(pair.points, pair.more))
    if pair.estimate and not any(point.kind == "estimate" for point in pair.points):
        yield f"  {pair.estimate}"


def _points(points: Sequence[KeyPoint], more: int) -> Iterator[str]:
    for number, point in enumerate(points, 1):
        line = f"line {point.line}" if point.line and f"line {point.line}" not in point.text else ""
        places = ", ".join(part for part in (line, point.stage_line) if part)
        yield f"{number}. {point.text}{f' ({places})' if places else ''}"
    if more:
        yield pluralize(more, "more finding")
