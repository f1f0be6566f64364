"""`irscope diff --format json`: the whole comparison. docs/json-schemas.md describes it.

`irscope diff OLD NEW --format json`; docs/json-schemas.md describes it.

The outcome of --fail-on in the documents of `irscope diff`; docs/json-schemas.md describes it.

`irscope why --format json`; docs/json-schemas.md describes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irscope.document.json.records import Records, json_value, variant_record
from irscope.document.report_content import PairReport
from irscope.workspace import (
    CaptureComparison,
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
    by_source_line,
    reason_text,
    summarize,
)
from irscope.workspace.capture_comparison import FactChange, MatchedVariants
from irscope.workspace.diff_rows import CHANGES, change_names, hunks, row_sides, rows_in_place

DIFF_SCHEMA = "irscope.diff/2"


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
        "findings": finding_records(comparison),
        "stages": [
            _stage(diff, context if name in pair.shown else None) for name, diff in pair.diffs.items()
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
    return [_finding(finding, index < main_count) for index, finding in enumerate(comparison.findings)]


def _finding(finding: Finding, shown: bool) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "subject": finding.subject,
        "text": finding.text,
        "severity": finding.severity.name.lower(),
        "weight": finding.weight,
        "shown": shown,
        "evidence_a": _evidence(finding.evidence_a),
        "evidence_b": _evidence(finding.evidence_b),
    }


def _evidence(lines: Sequence[Evidence]) -> list[dict[str, Any]]:
    return [{"stage": evidence.stage, "line": evidence.line + 1} for evidence in lines]


def _stage(diff: StageDiff, context: int | None) -> dict[str, Any]:
    document = {
        "stage": diff.stage,
        "equal": diff.equal,
        "structural": diff.structural,
        "summary": summarize(diff),
        "counts": {change_names(kind)[0]: diff.counts.get(kind, 0) for kind in CHANGES},
        "layouts": [_layout_change(change) for change in diff.layouts],
    }
    if context is not None:
        document["source_lines"] = [
            {
                "file": c.file,
                "line": c.line,
                "only_in_a": c.removed,
                "opcode": c.opcode,
                "a": c.left,
                "b": c.right,
            }
            for c in by_source_line(diff)
        ]
        notes = OperandNotes(diff)
        document["rows"] = [
            _row(diff, row, notes)
            for hunk in hunks(rows_in_place(diff), context, lambda row: row.change)
            for row in hunk.rows
        ]
    return document


def _layout_change(change: LayoutChange) -> dict[str, Any]:
    return {
        "a": _layout(change.left),
        "b": _layout(change.right),
        "fields": [{"name": name, "a": a, "b": b} for name, a, b in change.fields],
        "uses": change.uses,
    }


def _layout(layout: Layout | None) -> dict[str, Any] | None:
    if layout is None:
        return None
    return {
        "alias": layout.alias,
        "kind": layout.kind,
        "fields": dict(layout.fields),
        "line": layout.line + 1,
    }


def _row(diff: StageDiff, row: Row, notes: OperandNotes) -> dict[str, Any]:
    left, right = row_sides(diff, row)
    record = {"change": change_names(row.change), "a": _side(left), "b": _side(right)}
    operands = notes.of_row(row)
    return {**record, "operands": operands} if operands else record


def _side(side: RowSide | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {"line": side.number, "text": side.text, "spans": [list(span) for span in side.spans]}


CAPTURES_SCHEMA = "irscope.diff-captures/1"


def captures_document(comparison: CaptureComparison) -> dict[str, Any]:
    """Return the JSON document."""
    diff = comparison.diff
    old, new = comparison.names

    def pair_record(pair: MatchedVariants) -> dict[str, Any]:
        return {
            "old": variant_record(pair.a, old[pair.a.id]),
            "new": variant_record(pair.b, new[pair.b.id]),
            "same_machine_code": pair.identical,
            "worse": [_change(change) for change in pair.worse],
            "better": [_change(change) for change in pair.better],
        }

    return {
        "schema": CAPTURES_SCHEMA,
        "old": comparison.paths[0],
        "new": comparison.paths[1],
        "matched_by_target": diff.by_target,
        "renamed": dict(diff.renamed),
        "seconds": {"old": diff.seconds[0], "new": diff.seconds[1], "variants": diff.timed},
        "edits": [{"kernel": kernel, "text": text} for kernel, text in comparison.edits],
        "pairs": Records(diff.pairs, pair_record),
        "only_old": Records(diff.only_a, lambda variant: variant_record(variant, old[variant.id])),
        "only_new": Records(diff.only_b, lambda variant: variant_record(variant, new[variant.id])),
    }


def _change(change: FactChange) -> dict[str, Any]:
    return {"fact": change.name, "old": json_value(change.a), "new": json_value(change.b)}


def gate_record(gate: GateResult) -> dict[str, Any]:
    """Return the conditions, and the variants for which they are true."""
    return {
        "failed": gate.failed,
        "conditions": [condition.text for condition in gate.conditions],
        "compared": gate.pairs,
        "violations": [
            {
                "condition": violation.condition.text,
                "variant": variant_record(violation.pair.variant, violation.name),
                "text": violation.text,
            }
            for violation in gate.violations
        ],
        "problems": list(gate.problems),
        "notes": list(gate.notes),
    }


WHY_SCHEMA = "irscope.why/1"


def why_document(comparison: Comparison) -> dict[str, Any]:
    """Return the JSON document on two variants."""
    first = comparison.first_difference
    recompilation = comparison.recompilation
    return {
        "schema": WHY_SCHEMA,
        **pair_record(comparison),
        "whole_key": recompilation.whole,
        "reasons": [_reason(reason) for reason in recompilation.reasons],
        "unknown": list(recompilation.unknown),
        "first_stage": {"stage": first.stage, "summary": summarize(first)} if first else None,
        "findings": finding_records(comparison),
        "same_machine_code": comparison.duplicate,
        "verdict": comparison.verdict,
        "remedies": list(comparison.remedies),
    }


def compilations_document(capture: str, kernels: Sequence[Compilations]) -> dict[str, Any]:
    """Return the JSON document on a whole capture."""
    return {"schema": WHY_SCHEMA, "capture": capture, "kernels": list(map(_kernel, kernels))}


def _reason(reason: ChangedInput) -> dict[str, Any]:
    return {
        "kind": reason.input.kind,
        "name": reason.input.name,
        "a": reason.a,
        "b": reason.b,
        "text": reason_text(reason),
        "parameters": [{"name": name, "a": a, "b": b} for name, a, b in reason.parameters],
        "components": list(reason.components),
        "following": [f"{name.kind} {name.name}".rstrip() for name in reason.following],
    }


def _kernel(kernel: Compilations) -> dict[str, Any]:
    return {
        "kernel": kernel.kernel,
        "compiled": len(kernel.variants),
        "failed": kernel.failed,
        "seconds": kernel.seconds if kernel.timed else None,
        "timed": kernel.timed,
        "varied": [
            {
                "kind": varied.input.kind,
                "name": varied.input.name,
                "values": [{"value": value, "compiled": number} for value, number in varied.values],
            }
            for varied in kernel.varied
        ],
        "repeated": list(kernel.repeated),
        "repeated_seconds": kernel.repeated_seconds,
        "argument_sets": [
            {
                "arguments": dict(argument_set.arguments),
                "compiled": argument_set.compiled,
                "seconds": argument_set.seconds,
                "chosen": list(argument_set.chosen),
            }
            for argument_set in kernel.argument_sets
        ],
    }
