"""`irscope diff OLD NEW --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from typing import Any

from irscope.report.json.records import json_value, variant_record
from irscope.workspace import CaptureComparison, FactChange

SCHEMA = "irscope.diff-captures/1"


def captures_document(comparison: CaptureComparison) -> dict[str, Any]:
    """The JSON document."""
    diff = comparison.diff
    old, new = comparison.names
    return {
        "schema": SCHEMA,
        "old": comparison.paths[0],
        "new": comparison.paths[1],
        "matched_by_target": diff.by_target,
        "renamed": dict(diff.renamed),
        "seconds": {"old": diff.seconds[0], "new": diff.seconds[1], "variants": diff.timed},
        "edits": [{"kernel": kernel, "text": text} for kernel, text in comparison.edits],
        "pairs": [
            {
                "old": variant_record(pair.a, old[pair.a.id]),
                "new": variant_record(pair.b, new[pair.b.id]),
                "same_machine_code": pair.identical,
                "worse": [_change(change) for change in pair.worse],
                "better": [_change(change) for change in pair.better],
            }
            for pair in diff.pairs
        ],
        "only_old": [variant_record(variant, old[variant.id]) for variant in diff.only_a],
        "only_new": [variant_record(variant, new[variant.id]) for variant in diff.only_b],
    }


def _change(change: FactChange) -> dict[str, Any]:
    return {"fact": change.name, "old": json_value(change.a), "new": json_value(change.b)}
