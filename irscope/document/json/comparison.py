"""`diff`, its --fail-on, and `why` with --format json; docs/json-schemas.md describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from irscope.document.json.records import (
    Projection,
    Records,
    each,
    from_one,
    json_value,
    known,
    of,
    optional,
    tuples,
    variant_record,
)
from irscope.document.report_content import PairReport
from irscope.model import Variant
from irscope.workspace import (
    CaptureComparison,
    Change,
    ChangedInput,
    Comparison,
    Compilations,
    Evidence,
    Finding,
    GateResult,
    Layout,
    LayoutChange,
    OperandNotes,
    Row,
    RowSide,
    StageDiff,
)
from irscope.workspace.capture_comparison import FactChange, MatchedVariants
from irscope.workspace.diff_rows import hunks, row_sides, rows_in_place
from irscope.workspace.gate import Violation

DIFF_SCHEMA = "irscope.diff/2"
CAPTURES_SCHEMA = "irscope.diff-captures/1"
WHY_SCHEMA = "irscope.why/1"

EVIDENCE: Projection[Evidence] = Projection(stage="stage", line=from_one("line"))
_FINDING: Projection[Finding] = Projection(
    kind="kind",
    subject="subject",
    text="text",
    severity=of("severity.name", str.lower),
    weight="weight",
)
_FINDING_EVIDENCE: Projection[Finding] = Projection(
    evidence_a=each("evidence_a", EVIDENCE), evidence_b=each("evidence_b", EVIDENCE)
)
BIT_REASON = Projection[Any](
    kind="kind",
    stage="stage",
    line=from_one("line"),
    source_line=known("source_line"),
    helper=of("helper", lambda helper: helper and dict(zip(("file", "line"), helper, strict=True))),
    text="text",
)
# Whether A and B compute the same bits.
PAIR_BITS = Projection[Any](
    same="same",
    launch="arguments",
    repeatable=of("repeatable", list),
    unknown=known("unknown"),
    reasons=each("reasons", BIT_REASON),
)
_LAYOUT: Projection[Layout] = Projection(
    alias="alias", kind="kind", fields=of("fields", dict), line=from_one("line")
)
_LAYOUT_CHANGE: Projection[LayoutChange] = Projection(
    a=optional("left", _LAYOUT),
    b=optional("right", _LAYOUT),
    fields=tuples("fields", "name", "a", "b"),
    uses="uses",
)
_STAGE: Projection[StageDiff] = Projection(
    stage="stage",
    equal="equal",
    structural="structural",
    summary="summary",
    counts=lambda diff: {kind.names[0]: diff.counts.get(kind, 0) for kind in Change},
    layouts=each("layouts", _LAYOUT_CHANGE),
)
_LINE_COUNT = Projection[Any](
    file="file", line="line", only_in_a="removed", opcode="opcode", a="left", b="right"
)
_SIDE: Projection[RowSide] = Projection(line="number", text="text", spans="spans")


def diff_document(pair: PairReport, context: int) -> dict[str, Any]:
    """Return the JSON document; lines count from 1. Only the stages asked for have rows."""
    comparison = pair.comparison
    return {
        "schema": DIFF_SCHEMA,
        **pair_record(comparison),
        "config_changes": [
            {"name": name, "a": left or None, "b": right or None}
            for name, left, right in comparison.config_changes
        ],
        "same_machine_code": comparison.duplicate,
        "bits": PAIR_BITS(comparison.bits) if comparison.bits else None,
        "findings": finding_records(comparison),
        "stages": [
            _STAGE(diff) | (_rows(diff, context) if name in pair.shown else {})
            for name, diff in pair.diffs.items()
        ],
    }


def pair_record(comparison: Comparison) -> dict[str, Any]:
    """Return the capture and the two variants, as every document on a pair has them."""
    a, b = map(variant_record, comparison.variants, comparison.names)
    return {"capture": str(comparison.workspace.path), "a": a, "b": b}


def finding_records(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the findings as every document has them.

    `shown` is true for the first ones, which other formats show by default.
    """
    main_count = len(comparison.main_findings)
    return [
        _FINDING(finding) | {"shown": index < main_count} | _FINDING_EVIDENCE(finding)
        for index, finding in enumerate(comparison.findings)
    ]


def _rows(diff: StageDiff, context: int) -> dict[str, Any]:
    notes = OperandNotes(diff)
    return {
        "source_lines": list(map(_LINE_COUNT, diff.source_lines)),
        "rows": [
            _row(diff, row, notes)
            for hunk in hunks(rows_in_place(diff), context, lambda row: row.change)
            for row in hunk.rows
        ],
    }


def _row(diff: StageDiff, row: Row, notes: OperandNotes) -> dict[str, Any]:
    left, right = (_SIDE(side) if side else None for side in row_sides(diff, row))
    record = {"change": row.change.names, "a": left, "b": right}
    operands = notes.of_row(row)
    return {**record, "operands": operands} if operands else record


_FACT_CHANGE: Projection[FactChange] = Projection(
    fact="name", old=of("a", json_value), new=of("b", json_value)
)
_MATCHED: Projection[MatchedVariants] = Projection(
    same_machine_code="identical", worse=each("worse", _FACT_CHANGE), better=each("better", _FACT_CHANGE)
)
_CAPTURES: Projection[CaptureComparison] = Projection(
    old=lambda comparison: comparison.paths[0],
    new=lambda comparison: comparison.paths[1],
    matched_by_target="diff.by_target",
    renamed="diff.renamed",
    seconds=lambda comparison: {
        "old": comparison.diff.seconds[0],
        "new": comparison.diff.seconds[1],
        "variants": comparison.diff.timed,
    },
    edits=tuples("edits", "kernel", "text"),
)


def captures_document(comparison: CaptureComparison) -> dict[str, Any]:
    """Return the JSON document."""
    diff = comparison.diff
    old, new = (partial(_named, names=names) for names in comparison.names)
    return {
        "schema": CAPTURES_SCHEMA,
        **_CAPTURES(comparison),
        "pairs": Records(diff.pairs, lambda pair: {"old": old(pair.a), "new": new(pair.b)} | _MATCHED(pair)),
        "only_old": Records(diff.only_a, old),
        "only_new": Records(diff.only_b, new),
    }


def _named(variant: Variant, names: Mapping[int, str]) -> dict[str, Any]:
    return variant_record(variant, names[variant.id])


_VIOLATION: Projection[Violation] = Projection(
    condition="condition.text",
    variant=lambda violation: variant_record(violation.pair.variant, violation.name),
    text="text",
)
# The conditions of --fail-on, and the variants for which they are true.
gate_record: Projection[GateResult] = Projection(
    failed="failed",
    conditions=each("conditions", attrgetter("text")),
    compared="pairs",
    violations=each("violations", _VIOLATION),
    problems="problems",
    unchecked="unchecked",
    notes="notes",
)
_REASON: Projection[ChangedInput] = Projection(
    kind="input.kind",
    name="input.name",
    a="a",
    b="b",
    text="text",
    parameters=tuples("parameters", "name", "a", "b"),
    components="components",
    following=each("following", lambda name: f"{name.kind} {name.name}".rstrip()),
)
_WHY: Projection[Comparison] = Projection(
    whole_key="recompilation.whole",
    reasons=each("recompilation.reasons", _REASON),
    unknown="recompilation.unknown",
    first_stage=optional("first_difference", Projection[StageDiff](stage="stage", summary="summary")),
    findings=finding_records,
    same_machine_code="duplicate",
    bits=optional("bits", PAIR_BITS),
    verdict="verdict",
    remedies="remedies",
)


def why_document(comparison: Comparison) -> dict[str, Any]:
    """Return the JSON document on two variants."""
    return {"schema": WHY_SCHEMA, **pair_record(comparison), **_WHY(comparison)}


_VARIED = Projection[Any](kind="input.kind", name="input.name", values=tuples("values", "value", "compiled"))
_ARGUMENT_SET = Projection[Any](
    arguments=of("arguments", dict), compiled="compiled", seconds="seconds", chosen="chosen"
)
_COMPILATIONS: Projection[Compilations] = Projection(
    kernel="kernel",
    compiled=of("variants", len),
    failed="failed",
    seconds=lambda kernel: kernel.seconds if kernel.timed else None,
    timed="timed",
    varied=each("varied", _VARIED),
    repeated="repeated",
    repeated_seconds="repeated_seconds",
    argument_sets=each("argument_sets", _ARGUMENT_SET),
)


def compilations_document(capture: str, kernels: Sequence[Compilations]) -> dict[str, Any]:
    """Return the JSON document on a whole capture."""
    return {"schema": WHY_SCHEMA, "capture": capture, "kernels": list(map(_COMPILATIONS, kernels))}
