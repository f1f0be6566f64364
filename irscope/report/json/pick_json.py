"""`irscope pick --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from irscope.model import Launch, Variant, parse_value
from irscope.report.json.records import json_value
from irscope.workspace import Choice, Estimate, Evidence, Pick

SCHEMA = "irscope.pick/1"


def pick_document(picks: Iterable[Pick]) -> list[dict[str, Any]]:
    """The JSON document: a list with an entry per problem."""
    return [_pick(pick) for pick in picks]


def _pick(pick: Pick) -> dict[str, Any]:
    problem = pick.problem
    first = next((choice.launch for choice in pick.choices if choice.launch), None)
    return {
        "schema": SCHEMA,
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
    """The config of a variant, and the environment variables it was compiled with."""
    return {name: json_value(value) for name, value in variant.settings.items()}


def terms_record(estimate: Estimate) -> list[dict[str, Any]]:
    """The terms of an estimate, the longest first."""
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
    """Lines are counted from 1, as in every document."""
    return [{"stage": one.stage, "line": one.line + 1} for one in lines]


def _grid(launch: Launch | None) -> list[int] | None:
    return list(launch.grid) if launch else None
