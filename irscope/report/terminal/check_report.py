"""`irscope check` as text and JSON: which expectations were not met, by which variants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from irscope.analysis.expectations import Unmet
from irscope.model import Variant
from irscope.model.text import one_line, pluralize
from irscope.report.json.records import json_value, variant_record

SCHEMA = "irscope.check/1"


@dataclass(frozen=True)
class Checked:
    """What was checked: `comparisons` in all, of `variants`; `failures` are those that do not hold."""

    capture: str
    variants: int
    comparisons: int
    failures: Sequence[tuple[Variant, str, Unmet]]


def check_text(checked: Checked) -> Iterator[str]:
    """A line for each failure, then how many there are."""
    for variant, name, unmet in checked.failures:
        value = "unknown" if unmet.value is None else f"{unmet.value}"
        where = f"{variant.kernel.name} #{variant.id} {name} {variant.target}"
        found = f"{unmet.comparison.fact} is {value}{_because(variant, unmet)}"
        yield one_line(f"{where}: expected {unmet.comparison.text}, {found}")
    failed = len({variant.id for variant, _, _ in checked.failures})
    if failed:
        yield (
            f"{failed} of {pluralize(checked.variants, 'variant')} failed, "
            f"{len(checked.failures)} of {pluralize(checked.comparisons, 'comparison')} did not hold"
        )
    else:
        variants = pluralize(checked.variants, "variant")
        comparisons = pluralize(checked.comparisons, "comparison")
        yield f"{variants}, {comparisons}: all hold"


def check_document(checked: Checked) -> dict[str, Any]:
    """The JSON document; docs/json-schemas.md describes it."""
    return {
        "schema": SCHEMA,
        "capture": checked.capture,
        "variants": checked.variants,
        "comparisons": checked.comparisons,
        "failures": [
            {
                "variant": variant_record(variant, name),
                "expectation": unmet.comparison.text,
                "fact": unmet.comparison.fact,
                "value": json_value(unmet.value),
                "reason": unmet.reason,
            }
            for variant, name, unmet in checked.failures
        ],
    }


def _because(variant: Variant, unmet: Unmet) -> str:
    """Why a value is not known, or cannot be compared."""
    if unmet.value is None:
        return f": it did not compile: {variant.failure.summary}" if variant.failure else ": no stage tells"
    return "" if unmet.reason == "it is not so" else f": {unmet.reason}"
