"""Kernels and variants as JSON objects, which the documents of all commands share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from irscope.model import Kernel, SourceFunction, Status, Value, Variant, format_value
from irscope.report.json.stream import json_pieces

if TYPE_CHECKING:
    from irscope.model.origin import Origin


def to_json(document: dict[str, Any]) -> str:
    """`document` as indented JSON in ASCII, so that nothing in it can command a terminal."""
    return "".join(json_pieces(document)) + "\n"


def json_value(value: Value | Status) -> int | float | bool | str | None:
    """The value of a constexpr or a fact; values that JSON cannot represent become strings."""
    if isinstance(value, Status) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return value if value is None or isinstance(value, int | float | str) else format_value(value)


def variants_by_kernel(variants: Sequence[Variant]) -> dict[Kernel, list[Variant]]:
    """The variants of each kernel, both in the order of the capture."""
    groups: dict[Kernel, list[Variant]] = {}
    for variant in variants:
        groups.setdefault(variant.kernel, []).append(variant)
    return groups


def variants_by_source(variants: Sequence[Variant]) -> dict[Kernel, list[Variant]]:
    """As `variants_by_kernel`; kernels that differ only in functions of Triton's library are one."""
    sources: dict[tuple[SourceFunction, ...], Kernel] = {}
    groups: dict[Kernel, list[Variant]] = {}
    for kernel, group in variants_by_kernel(variants).items():
        groups.setdefault(sources.setdefault(kernel.own_functions, kernel), []).extend(group)
    return {kernel: sorted(group, key=lambda variant: variant.id) for kernel, group in groups.items()}


def kernel_record(kernel: Kernel) -> dict[str, Any]:
    """A kernel in every document."""
    return {
        "name": kernel.name,
        "file": kernel.source.file,
        "line": kernel.source.line,
        "parameters": list(kernel.parameters),
    }


def variant_record(variant: Variant, name: str) -> dict[str, Any]:
    """A variant in every document; `name` is its short name."""
    failure, origin = variant.failure, variant.origin
    return {
        "id": variant.id,
        "name": name,
        "kernel": variant.kernel.name,
        "target": str(variant.target),
        "config": {key: json_value(value) for key, value in variant.config.values},
        "environment": variant.environment,
        "specialization": {argument.name: str(argument) for argument in variant.specialization},
        "versions": dict(variant.toolchain.versions),
        "status": "failed" if failure else "ok",
        "failure": {"kind": failure.kind, "summary": failure.summary} if failure else None,
        **(_origin_record(origin) if origin else {}),
    }


def _origin_record(origin: Origin) -> dict[str, Any]:
    from irscope.model.origin import origin_to_json

    return {"origin": origin_to_json(origin)}
