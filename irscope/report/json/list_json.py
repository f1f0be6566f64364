"""`irscope list --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irscope.model import Variant
from irscope.report.json.records import kernel_record, variant_record, variants_by_source
from irscope.report.json.stream import Records

SCHEMA = "irscope.list/1"


def list_document(variants: Sequence[Variant], names: Mapping[int, str], capture: str) -> dict[str, Any]:
    """The JSON document; `capture` is the path as given, `names` maps ids to short names."""

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
    return {"schema": SCHEMA, "capture": capture, "kernels": kernels}
