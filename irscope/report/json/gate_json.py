"""The outcome of --fail-on in the documents of `irscope diff`; docs/json-schemas.md describes it."""

from __future__ import annotations

from typing import Any

from irscope.report.json.records import variant_record
from irscope.workspace import GateResult


def gate_record(gate: GateResult) -> dict[str, Any]:
    """The conditions, and the variants for which they are true."""
    return {
        "failed": gate.failed,
        "conditions": [condition.text for condition in gate.conditions],
        "compared": gate.pairs,
        "violations": [
            {
                "condition": found.condition.text,
                "variant": variant_record(found.pair.variant, found.name),
                "text": found.text,
            }
            for found in gate.violations
        ],
        "problems": list(gate.problems),
        "notes": list(gate.notes),
    }
