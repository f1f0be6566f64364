"""`irscope table --format json`; docs/json-schemas.md describes it.

`irscope list --format json`; docs/json-schemas.md describes it.

`irscope check --format json`; docs/json-schemas.md describes it.

`irscope lint --format json`; docs/json-schemas.md describes it.

`irscope explain --format json`; docs/json-schemas.md describes it.

`irscope versions --format json`; docs/json-schemas.md describes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from irscope.document.json.records import (
    Records,
    json_value,
    kernel_record,
    variant_record,
    variants_by_source,
)
from irscope.glossary.glossary import GlossaryEntry
from irscope.model import Variant
from irscope.workspace import FactKind, LintResult, TableEntry, TableSection
from irscope.workspace.compiler_version import CompilerVersion
from irscope.workspace.conditions import CheckResult
from irscope.workspace.timeline import FactMovement, VersionStep, VersionSummary

TABLE_SCHEMA = "irscope.table/1"


def table_document(
    sections: Sequence[TableSection], kinds: Sequence[FactKind], capture: str
) -> dict[str, Any]:
    """Return the JSON document; an unknown fact is null."""
    return {
        "schema": TABLE_SCHEMA,
        "capture": capture,
        "columns": [kind.to_json() for kind in kinds],
        "variants": Records(
            [entry for section in sections for entry in section.entries], partial(_entry, kinds=kinds)
        ),
    }


def _entry(entry: TableEntry, kinds: Sequence[FactKind]) -> dict[str, Any]:
    return {
        **variant_record(entry.variant, entry.name),
        "problem": entry.problem or None,
        "same_code_as": entry.duplicate_of,
        "facts": {kind.name: json_value(entry.value(kind.name)) for kind in kinds},
    }


LIST_SCHEMA = "irscope.list/1"


def list_document(variants: Sequence[Variant], names: Mapping[int, str], capture: str) -> dict[str, Any]:
    """Return the JSON document.

    `capture` is the path as given, `names` maps ids to short names.
    """

    def record(variant: Variant) -> dict[str, Any]:
        return {
            **variant_record(variant, names[variant.id]),
            "stages": {stage: artifact.size for stage, artifact in variant.artifacts.items()},
            "seconds": dict(variant.seconds),
            "cached": variant.cached,
        }

    kernels = [
        {**kernel_record(kernel), "variants": Records(group, record)}
        for kernel, group in variants_by_source(variants).items()
    ]
    return {"schema": LIST_SCHEMA, "capture": capture, "kernels": kernels}


CHECK_SCHEMA = "irscope.check/1"


def check_document(result: CheckResult) -> dict[str, Any]:
    """Return the JSON document."""
    return {
        "schema": CHECK_SCHEMA,
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


LINT_SCHEMA = "irscope.lint/1"


def lint_document(result: LintResult) -> dict[str, Any]:
    """Return the JSON document."""
    return {
        "schema": LINT_SCHEMA,
        "files": result.files,
        "unread": [{"file": file, "reason": reason} for file, reason in result.unread],
        "problems": [
            {
                "code": problem.rule.code,
                "rule": problem.rule.name,
                "file": problem.file,
                "line": problem.line,
                "column": problem.column,
                "message": problem.message,
                "fix": problem.fix,
            }
            for problem in result.problems
        ],
    }


EXPLAIN_SCHEMA = "irscope.explain/1"


def explain_document(entries: Sequence[GlossaryEntry]) -> dict[str, Any]:
    """Return the JSON document."""
    return {"schema": EXPLAIN_SCHEMA, "entries": list(map(_glossary_entry, entries))}


def _glossary_entry(entry: GlossaryEntry) -> dict[str, Any]:
    return {
        "word": entry.word,
        "names": list(entry.names),
        "stages": list(entry.stages),
        "text": entry.text,
        "related": list(entry.related),
        "see": {"title": entry.see.title, "url": entry.see.url or None} if entry.see else None,
    }


VERSIONS_SCHEMA = "irscope.versions/1"


def versions_document(
    summaries: Sequence[VersionSummary], capture: str, unavailable: Sequence[str]
) -> dict[str, Any]:
    """Return the JSON document."""
    return {
        "schema": VERSIONS_SCHEMA,
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
        "worse": [_movement(movement) for movement in step.movements if movement.worse],
        "better": [_movement(movement) for movement in step.movements if not movement.worse],
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
