"""`irscope why --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irscope.report.json.diff_json import finding_records, pair_record
from irscope.workspace import ChangedInput, Comparison, Compilations, reason_text, summarize

SCHEMA = "irscope.why/1"


def why_document(comparison: Comparison) -> dict[str, Any]:
    """The JSON document on two variants."""
    first = comparison.first_difference
    recompilation = comparison.recompilation
    return {
        "schema": SCHEMA,
        **pair_record(comparison),
        "whole_key": recompilation.whole,
        "reasons": [_reason(reason) for reason in recompilation.reasons],
        "unknown": list(recompilation.unknown),
        "first_stage": {"stage": first.stage, "summary": summarize(first)} if first else None,
        "findings": finding_records(comparison),
        "same_machine_code": comparison.duplicate,
        "verdict": comparison.verdict,
        "remedies": list(comparison.remedies),
    }


def compilations_document(capture: str, kernels: Sequence[Compilations]) -> dict[str, Any]:
    """The JSON document on a whole capture."""
    return {"schema": SCHEMA, "capture": capture, "kernels": list(map(_kernel, kernels))}


def _reason(reason: ChangedInput) -> dict[str, Any]:
    return {
        "kind": reason.input.kind,
        "name": reason.input.name,
        "a": reason.a,
        "b": reason.b,
        "text": reason_text(reason),
        "parameters": [{"name": name, "a": a, "b": b} for name, a, b in reason.parameters],
        "components": list(reason.components),
        "following": [f"{name.kind} {name.name}".rstrip() for name in reason.following],
    }


def _kernel(kernel: Compilations) -> dict[str, Any]:
    return {
        "kernel": kernel.kernel,
        "compiled": len(kernel.variants),
        "failed": kernel.failed,
        "seconds": kernel.seconds if kernel.timed else None,
        "timed": kernel.timed,
        "varied": [
            {
                "kind": varied.input.kind,
                "name": varied.input.name,
                "values": [{"value": value, "compiled": number} for value, number in varied.values],
            }
            for varied in kernel.varied
        ],
        "repeated": list(kernel.repeated),
        "repeated_seconds": kernel.repeated_seconds,
        "argument_sets": [
            {
                "arguments": dict(one.arguments),
                "compiled": one.compiled,
                "seconds": one.seconds,
                "chosen": list(one.chosen),
            }
            for one in kernel.argument_sets
        ],
    }
