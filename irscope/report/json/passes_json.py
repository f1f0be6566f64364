"""`irscope passes --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from typing import Any

from irscope.analysis.divergence import KINDS, Divergence
from irscope.report.hunks import kinds_of
from irscope.report.json.records import variant_record
from irscope.report.passes import PassReport, PassSummary

SCHEMA = "irscope.passes/1"


def passes_document(report: PassReport) -> dict[str, Any]:
    """The JSON document."""
    records = [
        variant_record(variant, name) for variant, name in zip(report.variants, report.names, strict=True)
    ]
    found = report.partings
    return {
        "schema": SCHEMA,
        "capture": report.capture,
        "a": records[0],
        "b": records[1] if len(records) > 1 else None,
        "partings": None if found is None else {kind: parting_record(getattr(found, kind)) for kind in KINDS},
        "passes": [{"a": _told(a), "b": _told(b)} for a, b in report.rows],
    }


def parting_record(parting: Divergence | None) -> dict[str, Any] | None:
    """Where two variants part in one way: the passes by number, None where it was before the first."""
    if parting is None:
        return None
    moment = parting.passes
    return {
        "stage": moment.stage if moment else None,
        "name": moment.name if moment else None,
        "a": [step.number for step in moment.a] if moment else [],
        "b": [step.number for step in moment.b] if moment else [],
        "summary": parting.summary,
    }


def _told(told: PassSummary | None) -> dict[str, Any] | None:
    if told is None:
        return None
    step = told.step
    record: dict[str, Any] = {
        "number": step.number,
        "stage": step.stage,
        "name": step.name,
        "options": step.options,
        "seconds": step.seconds,
        "changed": step.changed,
        "failed": step.failed,
        "summary": told.summary,
    }
    if told.touched is not None:
        record["touched"] = {word: n for kind, n in told.touched.items() for word in kinds_of(kind)}
    return record
