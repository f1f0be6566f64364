"""`irscope passes --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from typing import Any

from irscope.report.json.records import variant_record
from irscope.workspace import Divergence, PassLine, PassReport, change_names

SCHEMA = "irscope.passes/2"


def passes_document(report: PassReport) -> dict[str, Any]:
    """The JSON document."""
    records = list(map(variant_record, report.variants, report.names))
    differences = report.differences
    return {
        "schema": SCHEMA,
        "capture": report.capture,
        "a": records[0],
        "b": records[1] if len(records) > 1 else None,
        "divergences": None
        if differences is None
        else {difference.kind: _divergence(difference.divergence) for difference in differences},
        "passes": [{"a": _pass(line, 0), "b": _pass(line, 1)} for line in report.lines],
    }


def _divergence(divergence: Divergence | None) -> dict[str, Any] | None:
    """The passes of A and B, by number, after which they differ; empty if they differ before the first."""
    if divergence is None:
        return None
    pair = divergence.passes
    return {
        "stage": pair.stage if pair else None,
        "name": pair.name if pair else None,
        "a": [step.number for step in pair.a] if pair else [],
        "b": [step.number for step in pair.b] if pair else [],
        "summary": divergence.summary,
    }


def _pass(line: PassLine, index: int) -> dict[str, Any] | None:
    """The pass in A (0) or in B (1)."""
    step = (line.a, line.b)[index]
    if step is None:
        return None
    record: dict[str, Any] = {
        "number": step.number,
        "stage": step.stage,
        "name": step.name,
        "options": step.options,
        "seconds": step.seconds,
        "changed": step.changed,
        "failed": step.failed,
        "summary": line.effects[index] if line.effects else "",
    }
    if line.touched is not None:
        touched = line.touched[index]
        record["touched"] = {name: n for kind, n in touched.items() for name in change_names(kind)}
    return record
