"""`irscope layout --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irscope.layouts.banks import BankConflicts
from irscope.layouts.conversion_cost import Conversion
from irscope.layouts.kernel_layouts import KernelLayouts, Picture
from irscope.layouts.shared_accesses import AccessConflicts
from irscope.layouts.tensors import Tensor, distinct

SCHEMA = "irscope.layout/1"


def layout_document(
    variant: dict[str, Any],
    kernel: KernelLayouts,
    picture: Picture | None,
    accesses: Sequence[AccessConflicts],
) -> dict[str, Any]:
    """One side of the document: all tensors, or the one drawn with the accesses to it."""
    side: dict[str, Any] = {"variant": variant, "accesses": [access_record(one) for one in accesses]}
    if picture is None:
        side["tensors"] = [
            tensor_record(group[0]) | {"alike": len(group)} for group in distinct(kernel.tensors)
        ]
        side["conversions"] = [_conversion(one) for one in kernel.conversions]
        return side
    side["tensor"] = tensor_record(picture.tensor)
    side["linear_layout"] = {
        "shape": list(picture.layout.shape),
        "bases": {name: [list(v) for v in rows] for name, rows in picture.layout.bases.items()},
        "source": picture.source,
    }
    side["sentences"] = list(picture.sentences)
    return side


def tensor_record(tensor: Tensor) -> dict[str, Any]:
    """A tensor or buffer."""
    return {
        "value": tensor.name,
        "variable": tensor.python or None,
        "line": tensor.line or None,
        "stage_line": tensor.index + 1,
        "kind": tensor.kind,
        "shape": list(tensor.shape),
        "whole_shape": list(tensor.whole),
        "element": tensor.element,
        "alias": tensor.alias,
        "layout": tensor.attribute.text,
    }


def access_record(one: AccessConflicts) -> dict[str, Any]:
    """An access to shared memory and its turns."""
    access = one.access
    return {
        "operation": access.opcode,
        "alike": one.times,
        "line": access.line or None,
        "stage_line": access.index + 1,
        "buffer": access.buffer.type,
        "conflicts": _conflicts(one.conflicts),
        "without_swizzle": _conflicts(one.plain),
        "not_known": one.why_not or None,
    }


def _conflicts(found: BankConflicts | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "by": found.kind,
        "bytes_a_thread": found.width,
        "ways": found.ways,
        "turns_a_warp": found.wavefronts,
        "least_turns_a_warp": found.ideal_wavefronts,
    }


def _conversion(one: Conversion) -> dict[str, Any]:
    return {
        "line": one.line or None,
        "stage_line": one.index + 1,
        "from": one.source.attribute.text,
        "to": one.target.attribute.text,
        "shape": list(one.source.shape),
        "moves": one.cost.name.lower() if one.cost else None,
        "not_known": one.why_not or None,
    }
