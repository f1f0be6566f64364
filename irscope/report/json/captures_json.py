"""`irscope diff OLD NEW --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from typing import Any

from irscope.report.json.records import json_value, variant_record
from irscope.report.json.stream import Records
from irscope.workspace import CaptureComparison, FactChange, MatchedVariants

SCHEMA = "irscope.diff-captures/1"


def captures_document(comparison: CaptureComparison) -> dict[str, Any]:
    """The JSON document."""
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
        "schema": SCHEMA,
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
