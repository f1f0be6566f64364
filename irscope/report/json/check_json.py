"""`irscope check --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from typing import Any

from irscope.report.json.records import json_value, variant_record
from irscope.workspace import CheckResult

SCHEMA = "irscope.check/1"


def check_document(result: CheckResult) -> dict[str, Any]:
    """The JSON document."""
    return {
        "schema": SCHEMA,
        "capture": result.capture,
        "variants": result.variants,
        "comparisons": result.comparisons,
        "failures": [
            {
                "variant": variant_record(failure.variant, failure.name),
                "expectation": failure.unmet.comparison.text,
                "fact": failure.unmet.comparison.fact,
                "value": json_value(failure.unmet.value),
                "reason": failure.unmet.reason,
            }
            for failure in result.failures
        ],
    }
