"""`bits` with --format json; docs/json-schemas.md describes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from irscope.document.json.estimates import launch_values
from irscope.document.json.records import Projection, each, from_one, known, of
from irscope.workspace import ProblemBits
from irscope.workspace.problem_sizes import Problem

BITS_SCHEMA = "irscope.bits/1"

_LAUNCH: Projection[Problem] = Projection(
    grid=of("grid", lambda grid: list(grid) if grid else None),
    arguments=of("arguments", launch_values),
    constants=of("constants", launch_values),
)
_CLASS: Projection[Any] = Projection(
    **{"class": "name"}, variants=of("variants", list), repeatable="repeatable"
)
_REASON: Projection[Any] = Projection(
    kind="kind", stage="stage", line=from_one("line"), source_line=known("source_line"), text="text"
)
_DIFFERENCE: Projection[Any] = Projection(a="a", b="b", reasons=each("reasons", _REASON))
_BITS: Projection[ProblemBits] = Projection(
    kernel="problem.kernel",
    target="problem.target",
    launch=of("problem", lambda problem: _LAUNCH(problem) if problem.launches else None),
    reference="reference",
    reference_class="reference_class",
    classes=each("classes", _CLASS),
    unknown=of("unknown", list),
    reasons_unknown=of("unknown", lambda reasons: {str(number): text for number, text in reasons.items()}),
    differences=each("differences", _DIFFERENCE),
)


def bits_document(answers: Iterable[ProblemBits]) -> list[dict[str, Any]]:
    """Return the JSON document: a list with an entry per problem."""
    return [{"schema": BITS_SCHEMA, **_BITS(answer)} for answer in answers]
