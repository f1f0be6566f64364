"""`irscope passes --llvm --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from typing import Any

from irscope.report.json.records import variant_record
from irscope.workspace import LlvmReport

SCHEMA = "irscope.llvm-passes/1"


def llvm_document(report: LlvmReport, capture: str) -> dict[str, Any]:
    """The JSON document."""
    return {
        "schema": SCHEMA,
        "capture": capture,
        "variant": variant_record(report.variant, report.name),
        "passes": [
            {
                "number": number,
                "stage": each.stage,
                "name": each.name,
                "flag": each.flag or None,
                "changed": each.changed,
                "instructions": each.instructions,
                "effect": dict(each.effect),
                "seconds": each.seconds,
            }
            for number, each in report.passes
        ],
        "ptxas": {"functions": dict(report.functions), "advice": list(report.advice)},
    }
