"""`pick`, `bits` and `verdict` with --format json; docs/json-schemas.md describes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from irscope.document.json.comparison import BIT_REASON, EVIDENCE, PAIR_BITS
from irscope.document.json.records import (
    Projection,
    each,
    json_value,
    known,
    of,
    optional,
    without_nulls,
)
from irscope.model import Launch, Value, parse_value
from irscope.workspace import Choice, Pick, Verdict
from irscope.workspace.launched_bits import LaunchedBits, agreement
from irscope.workspace.verdict import KeyPoint, PairVerdict, Remedy

if TYPE_CHECKING:
    from irscope.workspace.bits import ProblemBits
    from irscope.workspace.device_matrix import DeviceCell, DeviceColumn, DeviceMatrix
    from irscope.workspace.invariance import Invariance, SizedLaunch

PICK_SCHEMA = "irscope.pick/1"
BITS_SCHEMA = "irscope.bits/1"
DEVICES_SCHEMA = "irscope.devices/1"
VERDICT_SCHEMA = "irscope.verdict/1"


def _values(pairs: Iterable[tuple[str, Value]]) -> dict[str, Any]:
    return {name: json_value(value) for name, value in pairs}


def _parsed(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    return _values((name, parse_value(text)) for name, text in pairs)


def _by_id(values: Mapping[int, Any]) -> dict[str, Any]:
    return {str(number): value for number, value in values.items()}


def _grid(launch: Launch | None) -> list[int] | None:
    return list(launch.grid) if launch else None


_TERM = Projection[Any](
    name="name",
    us=of("microseconds", lambda time: round(time, 4)),
    text="text",
    evidence=each("evidence", EVIDENCE),
)
_CHOICE: Projection[Choice] = Projection(
    id="variant.id",
    config=of("variant.settings", lambda settings: _values(settings.items())),
    grid=of("launch", _grid),
    estimate_us=optional("estimate", lambda estimate: round(estimate.microseconds, 4)),
    bound=optional("estimate", attrgetter("bound")),
    depends_on=of("estimate", lambda estimate: list(estimate.depends) if estimate else []),
    rejected="rejected",
    reason=known("reason"),
    measured_us="measured",
    terms=of("estimate", lambda estimate: list(map(_TERM, estimate.terms)) if estimate else []),
)
_FASTEST = Projection[Choice](
    id="variant.id", estimate_us=of("estimate.microseconds", lambda time: round(time, 4))
)
_SAME_BITS = Projection[Any](
    reference="reference",
    variants=of("variants", list),
    unknown=of("unknown", list),
    reasons_unknown=of("unknown", _by_id),
    fastest=optional("fastest", _FASTEST),
    fastest_same=optional("fastest_same", _FASTEST),
    cost=optional("cost", lambda cost: round(cost, 4)),
    trouble=known("trouble"),
)
_PICK: Projection[Pick] = Projection(
    kernel="problem.kernel",
    target="problem.target",
    device="device",
    launch=Projection[Pick](
        grid=lambda pick: _grid(next((choice.launch for choice in pick.choices if choice.launch), None)),
        arguments=of("problem.arguments", _parsed),
        constants=of("problem.constants", _parsed),
    ),
    rank_correlation="correlation",
    limits="limits",
    expected_loss=optional("expected_loss", lambda loss: round(loss, 4)),
    doubts=of("doubts", list),
    confidence="confidence",
    same_bits=optional("same_bits", _SAME_BITS),
    ranking=each("choices", _CHOICE),
)


def pick_document(picks: Iterable[Pick]) -> list[dict[str, Any]]:
    """Return the JSON document: a list with an entry per problem."""
    return [{"schema": PICK_SCHEMA, **_PICK(pick)} for pick in picks]


_DEVICE_CELL: Projection[DeviceCell] = Projection(
    variant="variant.id",
    launchable=of("problem", lambda problem: not problem),
    problem=known("problem"),
    spills="spills",
    occupancy="occupancy",
    estimate_us=optional("estimate", lambda estimate: round(estimate.microseconds, 4)),
    bound=optional("estimate", attrgetter("bound")),
)
_DEVICE: Projection[DeviceColumn] = Projection(
    device="device",
    name="rates.name",
    target="rates.target",
    sources="rates.sources",
    first="best",
    trouble=known("trouble"),
    cells=of("cells", lambda cells: [cell and _DEVICE_CELL(cell) for cell in cells]),
)
_MATRIX: Projection[DeviceMatrix] = Projection(
    kernel="kernel",
    problem=known("problem"),
    configs=of("rows", lambda rows: [_values(variant.settings.items()) for variant in rows]),
    devices=each("columns", _DEVICE),
)


def devices_document(matrices: Iterable[DeviceMatrix]) -> list[dict[str, Any]]:
    """Return the JSON document: a list with an entry per kernel and problem."""
    return [{"schema": DEVICES_SCHEMA, **_MATRIX(matrix)} for matrix in matrices]


_BIT_LAUNCH: Projection[ProblemBits] = Projection(
    grid=of("problem.grid", lambda grid: list(grid) if grid else None),
    arguments=of("problem.arguments", _parsed),
    constants=of("problem.constants", _parsed),
)
_LAUNCHED: Projection[LaunchedBits] = Projection(
    device="device",
    values="inputs",
    hashes=of("hashes", _by_id),
    not_launched=of("failed", _by_id),
)
_AGREEMENT = Projection[Any](kind="kind", text="text")
_BITS: Projection[ProblemBits] = Projection(
    kernel="problem.kernel",
    target="problem.target",
    launch=lambda answer: _BIT_LAUNCH(answer) if answer.problem.launches else None,
    reference="reference",
    reference_class="reference_class",
    classes=each(
        "classes",
        Projection[Any](**{"class": "name"}, variants=of("variants", list), repeatable="repeatable"),
    ),
    unknown=of("unknown", list),
    reasons_unknown=of("unknown", _by_id),
    differences=each("differences", Projection[Any](a="a", b="b", reasons=each("reasons", BIT_REASON))),
    launched=optional("launched", _LAUNCHED),
    agreement=lambda answer: list(map(_AGREEMENT, agreement(answer))),
)


_SIZED: Projection[SizedLaunch] = Projection(variant="variant.id", size="size")
_INVARIANCE: Projection[Invariance] = Projection(
    vary=of("vary", list),
    sizes=of("sizes", list),
    answer="answer",
    choice="choice",
    differences=each(
        "differences",
        Projection[Any](a=of("a", _SIZED), b=of("b", _SIZED), reasons=each("reasons", BIT_REASON)),
    ),
    unknown=of("unknown", list),
    unanswered=of("unanswered", list),
)


def bits_document(answers: Iterable[ProblemBits]) -> list[dict[str, Any]]:
    """Return the JSON document: a list with an entry per problem."""
    return [
        {"schema": BITS_SCHEMA, **_BITS(item)}
        | ({"invariance": _INVARIANCE(item.invariance)} if item.invariance else {})
        for item in answers
    ]


def verdicts_document(capture: str, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the JSON document."""
    return {"schema": VERDICT_SCHEMA, "capture": capture, "verdicts": list(map(verdict_record, verdicts))}


def verdict_record(verdict: Verdict) -> dict[str, Any]:
    """Return one verdict; the MCP server sends the same.

    What does not apply is left out, to keep it short.
    """
    return without_nulls(_VERDICT(verdict)) | {"launchable": verdict.launchable}


_POINT: Projection[KeyPoint] = Projection(kind="kind", text="text", line="line", evidence=known("stage_line"))
_REMEDY: Projection[Remedy] = Projection(
    **{"try": "action"},
    because="reason",
    basis="basis",
    config=lambda remedy: _values(remedy.config) or None,
    variant="variant",
)


def _points(points: Sequence[KeyPoint]) -> list[dict[str, Any]]:
    return [without_nulls(_POINT(point)) for point in points]


def _estimate_text(pair: PairVerdict) -> str | None:
    """Return what the estimates say, unless a finding says it."""
    return None if any(point.kind == "estimate" for point in pair.points) else pair.estimate or None


_PAIR: Projection[PairVerdict] = Projection(
    variant="against.id",
    name="name",
    change=known("change"),
    duplicate="duplicate",
    estimate=_estimate_text,
    faster="faster",
    bits=optional("bits", PAIR_BITS),
    findings=of("points", _points),
    more=known("more"),
)
_VERDICT: Projection[Verdict] = Projection(
    variant="variant.id",
    name="name",
    kernel="variant.kernel.name",
    target=of("variant.target", str),
    launchable="launchable",
    problem=known("problem"),
    resources=lambda verdict: {r.name: [r.used, r.limit] for r in verdict.resources} or None,
    occupancy="occupancy",
    limiter=known("limiter"),
    estimate_us=optional("estimate", lambda estimate: round(estimate.microseconds, 2)),
    bound=optional("estimate", attrgetter("bound")),
    device=optional("estimate", attrgetter("device")),
    no_estimate=known("no_estimate"),
    findings=of("points", _points),
    more=known("more"),
    remedies=each("remedies", lambda remedy: without_nulls(_REMEDY(remedy))),
    against=optional("pair", lambda pair: without_nulls(_PAIR(pair))),
)
