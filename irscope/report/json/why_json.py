"""`irscope why --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from typing import Any

from irscope.analysis.cache_key_diff import ChangedInput, reason_text
from irscope.analysis.compilations import Compilations
from irscope.diff.summary import summarize
from irscope.report.json.diff_json import finding_record
from irscope.report.json.records import variant_record
from irscope.report.why import Story, Why

SCHEMA = "irscope.why/1"


def why_document(why: Why) -> dict[str, Any]:
    """The JSON document on two variants."""
    comparison = why.comparison
    pairs = zip(comparison.variants, comparison.names, strict=True)
    a, b = (variant_record(variant, name) for variant, name in pairs)
    first = why.first
    return {
        "schema": SCHEMA,
        "capture": comparison.capture,
        "a": a,
        "b": b,
        "whole_key": why.recompilation.whole,
        "reasons": [_reason(reason) for reason in why.recompilation.reasons],
        "unknown": list(why.recompilation.unknown),
        "first_stage": {"stage": first.stage, "summary": summarize(first)} if first else None,
        "findings": [finding_record(finding) for finding in comparison.findings],
        "same_machine_code": comparison.identical,
        "verdict": why.verdict,
        "remedies": list(why.remedies),
    }


def story_document(story: Story) -> dict[str, Any]:
    """The JSON document on a whole capture."""
    return {"schema": SCHEMA, "capture": story.capture, "kernels": list(map(_kernel, story.kernels))}


def _reason(reason: ChangedInput) -> dict[str, Any]:
    return {
        "kind": reason.input.kind,
        "name": reason.input.name,
        "a": reason.a,
        "b": reason.b,
        "text": reason_text(reason),
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
