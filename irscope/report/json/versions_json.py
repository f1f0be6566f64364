"""`irscope versions --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irscope.report.json.records import json_value
from irscope.workspace import CompilerVersion, FactMovement, VersionStep, VersionSummary

SCHEMA = "irscope.versions/1"


def versions_document(
    summaries: Sequence[VersionSummary], capture: str, unavailable: Sequence[str]
) -> dict[str, Any]:
    """The JSON document."""
    return {
        "schema": SCHEMA,
        "capture": capture,
        "unavailable": list(unavailable),
        "kernels": [
            {
                "kernel": summary.kernel,
                "target": summary.target,
                "versions": [
                    {**_version(version), "variants": [variant.id for variant in variants]}
                    for version, variants in summary.versions.items()
                ],
                "steps": [_step(step) for step in summary.steps],
            }
            for summary in summaries
        ],
    }


def _version(version: CompilerVersion) -> dict[str, Any]:
    return {"triton": version.triton, "ptxas": version.ptxas or None}


def _step(step: VersionStep) -> dict[str, Any]:
    return {
        "old": _version(step.old),
        "new": _version(step.new),
        "pairs": [
            {"old": pair.a.id, "new": pair.b.id, "same_machine_code": pair.identical} for pair in step.pairs
        ],
        "only_new": step.unmatched,
        "worse": [_movement(each) for each in step.movements if each.worse],
        "better": [_movement(each) for each in step.movements if not each.worse],
        "first_difference": {"examined": step.examined, "stages": dict(step.stages)},
    }


def _movement(movement: FactMovement) -> dict[str, Any]:
    return {
        "fact": movement.name,
        "pairs": [
            {"old": pair.a.id, "new": pair.b.id, "from": json_value(change.a), "to": json_value(change.b)}
            for pair, change in movement.changes
        ],
    }
