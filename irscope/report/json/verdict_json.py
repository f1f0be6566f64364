"""`irscope verdict --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irscope.report.json.records import json_value
from irscope.workspace import KeyPoint, PairVerdict, Remedy, Verdict

SCHEMA = "irscope.verdict/1"


def verdicts_document(capture: str, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The JSON document."""
    return {"schema": SCHEMA, "capture": capture, "verdicts": list(map(verdict_record, verdicts))}


def verdict_record(verdict: Verdict) -> dict[str, Any]:
    """One verdict; the MCP server sends the same. What does not apply is left out, to keep it short."""
    variant, estimate = verdict.variant, verdict.estimate
    record: dict[str, Any] = {
        "variant": variant.id,
        "name": verdict.name,
        "kernel": variant.kernel.name,
        "target": str(variant.target),
        "launchable": verdict.launchable,
        "problem": verdict.problem or None,
        "resources": {r.name: [r.used, r.limit] for r in verdict.resources} or None,
        "occupancy": verdict.occupancy,
        "limiter": verdict.limiter or None,
        "estimate_us": round(estimate.microseconds, 2) if estimate else None,
        "bound": estimate.bound if estimate else None,
        "device": estimate.device if estimate else None,
        "no_estimate": verdict.no_estimate or None,
        "findings": list(map(_point, verdict.points)),
        "more": verdict.more or None,
        "remedies": list(map(_remedy, verdict.remedies)),
        "against": None if verdict.pair is None else _pair(verdict.pair),
    }
    return without_nulls(record) | {"launchable": verdict.launchable}


def without_nulls(record: dict[str, Any]) -> dict[str, Any]:
    """A record without the keys whose value is null."""
    return {name: value for name, value in record.items() if value is not None}


def _point(point: KeyPoint) -> dict[str, Any]:
    record = {
        "kind": point.kind,
        "text": point.text,
        "line": point.line,
        "evidence": point.stage_line or None,
    }
    return without_nulls(record)


def _remedy(remedy: Remedy) -> dict[str, Any]:
    config = {name: json_value(value) for name, value in remedy.config}
    record = {"try": remedy.action, "because": remedy.reason, "basis": remedy.basis, "config": config or None}
    return without_nulls(record | {"variant": remedy.variant})


def _pair(pair: PairVerdict) -> dict[str, Any]:
    estimated = any(point.kind == "estimate" for point in pair.points)
    record = {
        "variant": pair.against.id,
        "name": pair.name,
        "change": pair.change or None,
        "duplicate": pair.duplicate,
        "estimate": None if estimated else pair.estimate or None,
        "faster": pair.faster,
        "findings": list(map(_point, pair.points)),
        "more": pair.more or None,
    }
    return without_nulls(record)
