"""`irscope passes --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from typing import Any

from irscope.report.json.records import variant_record
from irscope.workspace import Divergence, PassReport, PassSummary, change_names

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
        "passes": [{"a": _pass(a), "b": _pass(b)} for a, b in report.rows],
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


def _pass(side: PassSummary | None) -> dict[str, Any] | None:
    if side is None:
        return None
    step = side.step
    record: dict[str, Any] = {
        "number": step.number,
        "stage": step.stage,
        "name": step.name,
        "options": step.options,
        "seconds": step.seconds,
        "changed": step.changed,
        "failed": step.failed,
        "summary": side.summary,
    }
    if side.touched is not None:
        record["touched"] = {name: n for kind, n in side.touched.items() for name in change_names(kind)}
    return record
