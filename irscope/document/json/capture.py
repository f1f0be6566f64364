"""`table`, `list`, `check`, `lint`, `explain` and `versions` with --format json.

docs/json-schemas.md describes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from irscope.document.json.records import (
    Projection,
    Records,
    each,
    json_value,
    kernel_record,
    known,
    of,
    optional,
    tuples,
    variant_record,
    variants_by_source,
)
from irscope.glossary.glossary import GlossaryEntry
from irscope.model import Variant
from irscope.workspace import Diagnostic, FactKind, LintResult, TableSection
from irscope.workspace.compiler_version import CompilerVersion
from irscope.workspace.conditions import CheckResult
from irscope.workspace.timeline import FactMovement, VersionStep, VersionSummary

if TYPE_CHECKING:
    from irscope.workspace.version_bits import VersionBits

TABLE_SCHEMA = "irscope.table/1"
LIST_SCHEMA = "irscope.list/1"
CHECK_SCHEMA = "irscope.check/1"
LINT_SCHEMA = "irscope.lint/1"
EXPLAIN_SCHEMA = "irscope.explain/1"
VERSIONS_SCHEMA = "irscope.versions/1"


def table_document(
    sections: Sequence[TableSection], kinds: Sequence[FactKind], capture: str
) -> dict[str, Any]:
    """Return the JSON document; an unknown fact is null."""
    return {
        "schema": TABLE_SCHEMA,
        "capture": capture,
        "columns": [kind.to_json() for kind in kinds],
        "variants": Records(
            [(section, variant) for section in sections for variant in section.variants],
            partial(_table_row, kinds=kinds),
        ),
    }


def _table_row(row: tuple[TableSection, Variant], kinds: Sequence[FactKind]) -> dict[str, Any]:
    section, variant = row
    names = [kind.name for kind in kinds]
    values = section.facts.values(variant.id, names)
    return {
        **variant_record(variant, section.names[variant.id]),
        "problem": section.facts.problem(variant) or None,
        "same_code_as": section.facts.duplicate_of(variant),
        "facts": dict(zip(names, map(json_value, values), strict=True)),
    }


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


_FAILURE = Projection[Any](
    variant=lambda failure: variant_record(failure.variant, failure.name),
    expectation="unmet.comparison.text",
    fact="unmet.comparison.fact",
    value=of("unmet.value", json_value),
    reason="unmet.reason",
)
_CHECK: Projection[CheckResult] = Projection(
    capture="capture",
    variants="variants",
    comparisons="comparisons",
    failures=each("failures", _FAILURE),
)


def check_document(result: CheckResult) -> dict[str, Any]:
    """Return the JSON document."""
    return {"schema": CHECK_SCHEMA, **_CHECK(result)}


_DIAGNOSTIC: Projection[Diagnostic] = Projection(
    code="rule.code",
    rule="rule.name",
    file="file",
    line="line",
    column="column",
    message="message",
    fix="fix",
)
_LINT: Projection[LintResult] = Projection(
    files="files",
    unread=tuples("unread", "file", "reason"),
    problems=each("problems", _DIAGNOSTIC),
    notes="notes",
)


def lint_document(result: LintResult) -> dict[str, Any]:
    """Return the JSON document."""
    return {"schema": LINT_SCHEMA, **_LINT(result)}


_GLOSSARY_ENTRY: Projection[GlossaryEntry] = Projection(
    word="word",
    names="names",
    stages="stages",
    text="text",
    related="related",
    see=optional("see", Projection[Any](title="title", url=known("url"))),
)


def explain_document(entries: Sequence[GlossaryEntry]) -> dict[str, Any]:
    """Return the JSON document."""
    return {"schema": EXPLAIN_SCHEMA, "entries": list(map(_GLOSSARY_ENTRY, entries))}


_VERSION: Projection[CompilerVersion] = Projection(triton="triton", ptxas=known("ptxas"))
_MOVEMENT: Projection[FactMovement] = Projection(
    fact="name",
    pairs=each(
        "changes",
        lambda moved: {
            "old": moved[0].a.id,
            "new": moved[0].b.id,
            "from": json_value(moved[1].a),
            "to": json_value(moved[1].b),
        },
    ),
)
_STEP: Projection[VersionStep] = Projection(
    old=of("old", _VERSION),
    new=of("new", _VERSION),
    pairs=each("pairs", Projection[Any](old="a.id", new="b.id", same_machine_code="identical")),
    only_new="unmatched",
    worse=lambda step: [_MOVEMENT(movement) for movement in step.movements if movement.worse],
    better=lambda step: [_MOVEMENT(movement) for movement in step.movements if not movement.worse],
    first_difference=Projection[VersionStep](examined="examined", stages="stages"),
)
_SUMMARY: Projection[VersionSummary] = Projection(
    kernel="kernel",
    target="target",
    versions=lambda summary: [
        {**_VERSION(version), "variants": [variant.id for variant in variants]}
        for version, variants in summary.versions.items()
    ],
    steps=each("steps", _STEP),
)


_BITS: Projection[VersionBits] = Projection(
    change="change",
    pairs=each("pairs", Projection[Any](old="a", new="b", answer="answer", texts=of("texts", list))),
)


def versions_document(
    summaries: Sequence[VersionSummary],
    bits: Sequence[Sequence[VersionBits]],
    capture: str,
    unavailable: Sequence[str],
) -> dict[str, Any]:
    """Return the JSON document; `bits` are what the versions of each kernel change about bits."""
    return {
        "schema": VERSIONS_SCHEMA,
        "capture": capture,
        "unavailable": list(unavailable),
        "kernels": [
            {**_SUMMARY(summary), "bits": list(map(_BITS, changes))}
            for summary, changes in zip(summaries, bits, strict=True)
        ],
    }
