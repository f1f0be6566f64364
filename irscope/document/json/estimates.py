"""`irscope pick --format json`; docs/json-schemas.md describes it.

`irscope verdict --format json`; docs/json-schemas.md describes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from irscope.document.json.records import json_value
from irscope.model import Launch, Variant, parse_value
from irscope.workspace import Choice, Estimate, Evidence, Pick, Verdict
from irscope.workspace.verdict import KeyPoint, PairVerdict, Remedy

PICK_SCHEMA = "irscope.pick/1"


def pick_document(picks: Iterable[Pick]) -> list[dict[str, Any]]:
    """Return the JSON document: a list with an entry per problem."""
    return [_pick(pick) for pick in picks]


def _pick(pick: Pick) -> dict[str, Any]:
    problem = pick.problem
    first = next((choice.launch for choice in pick.choices if choice.launch), None)
    return {
        "schema": PICK_SCHEMA,
        "kernel": problem.kernel,
        "target": problem.target,
        "device": pick.device,
        "launch": {
            "grid": _grid(first),
            "arguments": {name: json_value(parse_value(text)) for name, text in problem.arguments},
            "constants": {name: json_value(parse_value(text)) for name, text in problem.constants},
        },
        "rank_correlation": pick.correlation,
        "limits": list(pick.limits),
        "ranking": [_choice(choice) for choice in pick.choices],
    }


def _choice(choice: Choice) -> dict[str, Any]:
    estimate = choice.estimate
    return {
        "id": choice.variant.id,
        "config": config_record(choice.variant),
        "grid": _grid(choice.launch),
        "estimate_us": round(estimate.microseconds, 4) if estimate else None,
        "bound": estimate.bound if estimate else None,
        "rejected": choice.rejected,
        "reason": choice.reason or None,
        "measured_us": choice.measured,
        "terms": terms_record(estimate) if estimate else [],
    }


def config_record(variant: Variant) -> dict[str, Any]:
    """Return the config of a variant, and the environment variables it was compiled with."""
    return {name: json_value(value) for name, value in variant.settings.items()}


def terms_record(estimate: Estimate) -> list[dict[str, Any]]:
    """Return the terms of an estimate, the longest first."""
    return [
        {
            "name": term.name,
            "us": round(term.microseconds, 4),
            "text": term.text,
            "evidence": _evidence(term.evidence),
        }
        for term in estimate.terms
    ]


def _evidence(lines: Sequence[Evidence]) -> list[dict[str, Any]]:
    """Return the lines, counted from 1 as in every document."""
    return [{"stage": evidence.stage, "line": evidence.line + 1} for evidence in lines]


def _grid(launch: Launch | None) -> list[int] | None:
    return list(launch.grid) if launch else None


VERDICT_SCHEMA = "irscope.verdict/1"


def verdicts_document(capture: str, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the JSON document."""
    return {"schema": VERDICT_SCHEMA, "capture": capture, "verdicts": list(map(verdict_record, verdicts))}


def verdict_record(verdict: Verdict) -> dict[str, Any]:
    """Return one verdict; the MCP server sends the same.

    What does not apply is left out, to keep it short.
    """
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
    """Return a record without the keys whose value is null."""
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
