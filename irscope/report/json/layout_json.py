"""`irscope layout --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irscope.report.json.records import variant_record
from irscope.workspace import AccessConflicts, BankConflicts, Conversion, Picture, Tensor, VariantLayouts

SCHEMA = "irscope.layout/1"


def layout_document(
    capture: str, variants: Sequence[VariantLayouts], pictures: Sequence[Picture | None]
) -> dict[str, Any]:
    """The JSON document: per variant the drawn tensor, or if there is none, the list of all."""
    sides = [_side(layouts, picture) for layouts, picture in zip(variants, pictures, strict=True)]
    return {"schema": SCHEMA, "capture": capture, "sides": sides}


def _side(layouts: VariantLayouts, picture: Picture | None) -> dict[str, Any]:
    accesses = layouts.kernel.accesses_to(picture.tensor) if picture else layouts.accesses
    side: dict[str, Any] = {
        "variant": variant_record(layouts.variant, layouts.name),
        "stage": layouts.stage,
        "accesses": [_access(one) for one in accesses],
    }
    if picture is None:
        side["tensors"] = [_tensor(group[0]) | {"alike": len(group)} for group in layouts.tensors]
        side["conversions"] = [_conversion(one) for one in layouts.kernel.conversions]
        return side
    side["tensor"] = _tensor(picture.tensor)
    side["linear_layout"] = {
        "shape": list(picture.layout.shape),
        "bases": {name: [list(v) for v in rows] for name, rows in picture.layout.bases.items()},
        "source": picture.source,
    }
    side["sentences"] = list(picture.sentences)
    return side


def _tensor(tensor: Tensor) -> dict[str, Any]:
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


def _access(one: AccessConflicts) -> dict[str, Any]:
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
