"""`irscope diff --format json`: the whole comparison. docs/json-schemas.md describes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irscope.report.json.records import variant_record
from irscope.report.pair_report import PairReport
from irscope.workspace import (
    CHANGES,
    Comparison,
    Evidence,
    Finding,
    Layout,
    LayoutChange,
    OperandNotes,
    Row,
    RowSide,
    StageDiff,
    by_source_line,
    change_names,
    hunks,
    row_sides,
    rows_in_place,
    summarize,
)

SCHEMA = "irscope.diff/2"


def diff_document(pair: PairReport, context: int) -> dict[str, Any]:
    """The JSON document; lines count from 1. Only the stages asked for have rows."""
    comparison = pair.comparison
    return {
        "schema": SCHEMA,
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
    """The capture and the two variants in every document on a pair."""
    a, b = map(variant_record, comparison.variants, comparison.names)
    return {"capture": str(comparison.workspace.path), "a": a, "b": b}


def finding_records(comparison: Comparison) -> list[dict[str, Any]]:
    """The findings in every document; the first `shown` ones are those that other formats show by default."""
    shown = len(comparison.main_findings)
    return [_finding(finding, index < shown) for index, finding in enumerate(comparison.findings)]


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
