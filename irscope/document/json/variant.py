"""`irscope layout --format json`; docs/json-schemas.md describes it.

`irscope registers --format json`; docs/json-schemas.md describes it.

`irscope passes --format json`; docs/json-schemas.md describes it.

`irscope passes --llvm --format json`; docs/json-schemas.md describes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irscope.document.json.records import variant_record
from irscope.model import Variant
from irscope.workspace import (
    AccessConflicts,
    BankConflicts,
    Conversion,
    Divergence,
    LiveValue,
    PassLine,
    Picture,
    RegisterReport,
    SourceLine,
    SpilledValue,
    Tensor,
    TensorInRegisters,
    VariantLayouts,
)
from irscope.workspace.diff_rows import change_names
from irscope.workspace.pass_comparison import LlvmReport, PassReport

LAYOUT_SCHEMA = "irscope.layout/1"


def layout_document(
    capture: str, variants: Sequence[VariantLayouts], pictures: Sequence[Picture | None]
) -> dict[str, Any]:
    """Return the JSON document: per variant the drawn tensor, or if there is none, the list of all."""
    sides = [_side(layouts, picture) for layouts, picture in zip(variants, pictures, strict=True)]
    return {"schema": LAYOUT_SCHEMA, "capture": capture, "sides": sides}


def _side(layouts: VariantLayouts, picture: Picture | None) -> dict[str, Any]:
    accesses = layouts.kernel.accesses_to(picture.tensor) if picture else layouts.accesses
    side: dict[str, Any] = {
        "variant": variant_record(layouts.variant, layouts.name),
        "stage": layouts.stage,
        "accesses": [_access(entry) for entry in accesses],
    }
    if picture is None:
        side["tensors"] = [_tensor(group[0]) | {"alike": len(group)} for group in layouts.tensors]
        side["conversions"] = [_conversion(entry) for entry in layouts.kernel.conversions]
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


REGISTERS_SCHEMA = "irscope.registers/1"


def registers_document(capture: str, variant: Variant, name: str, report: RegisterReport) -> dict[str, Any]:
    """Return the JSON document."""
    return {
        "schema": REGISTERS_SCHEMA,
        "capture": capture,
        "variant": variant_record(variant, name),
        "allocated": report.allocated,
        "stage": report.stage,
        "estimate": report.estimate,
        "peak": None if report.peak is None else _number(report.peak),
        "stage_line": report.stage_line + 1 if report.stage_line >= 0 else None,
        "place": _line(report.place),
        "in_loop": report.in_loop,
        "values": [_value(value) for value in report.values],
        "spills": [_spill(spill) for spill in report.spills],
        "tensors": [_live_tensor(tensor) for tensor in report.tensors],
        "tensor_registers": report.tensor_registers,
        "tensor_place": _line(report.tensor_place),
    }


def _value(value: LiveValue) -> dict[str, Any]:
    return {
        "name": value.name or None,
        "registers": _number(value.registers),
        "lines": [_line(line) for line in value.lines],
    }


def _spill(spill: SpilledValue) -> dict[str, Any]:
    return {
        "value": _line(spill.value),
        "words": spill.words,
        "stores": [{"place": _line(line), "count": count} for line, count in spill.stores],
        "loads": [{"place": _line(line), "count": count} for line, count in spill.loads],
        "loop_stores": spill.loop_stores,
        "loop_loads": spill.loop_loads,
    }


def _live_tensor(one: TensorInRegisters) -> dict[str, Any]:
    tensor = one.tensor
    return {
        "name": one.name,
        "value": tensor.value,
        "shape": list(tensor.shape),
        "element": tensor.element,
        "layout": tensor.layout,
        "threads": tensor.threads,
        "ctas": tensor.ctas,
        "registers": tensor.registers,
        "carried_by_loop": tensor.loop,
        "place": _line(one.line),
    }


def _line(line: SourceLine | None) -> dict[str, Any] | None:
    """Return a line of the user's Python, or null if it is unknown."""
    if line is None or not line.line:
        return None
    return {"file": line.file, "line": line.line, "name": line.name or None}


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else value


PASSES_SCHEMA = "irscope.passes/2"


def passes_document(report: PassReport) -> dict[str, Any]:
    """Return the JSON document."""
    records = list(map(variant_record, report.variants, report.names))
    differences = report.differences
    return {
        "schema": PASSES_SCHEMA,
        "capture": report.capture,
        "a": records[0],
        "b": records[1] if len(records) > 1 else None,
        "divergences": None
        if differences is None
        else {difference.kind: _divergence(difference.divergence) for difference in differences},
        "passes": [{"a": _pass(line, 0), "b": _pass(line, 1)} for line in report.lines],
    }


def _divergence(divergence: Divergence | None) -> dict[str, Any] | None:
    """Return the passes of A and B, by number, after which they differ.

    Both lists are empty if they differ before the first pass.
    """
    if divergence is None:
        return None
    pair = divergence.passes
    return {
        "stage": pair.stage if pair else None,
        "name": pair.name if pair else None,
        "a": [step.number for step in pair.a] if pair else [],
        "b": [step.number for step in pair.b] if pair else [],
        "summary": divergence.summary,
    }


def _pass(line: PassLine, index: int) -> dict[str, Any] | None:
    """Return the pass in A (0) or in B (1)."""
    step = (line.a, line.b)[index]
    if step is None:
        return None
    record: dict[str, Any] = {
        "number": step.number,
        "stage": step.stage,
        "name": step.name,
        "options": step.options,
        "seconds": step.seconds,
        "changed": step.changed,
        "failed": step.failed,
        "summary": line.effects[index] if line.effects else "",
    }
    if line.touched is not None:
        touched = line.touched[index]
        record["touched"] = {name: n for kind, n in touched.items() for name in change_names(kind)}
    return record


LLVM_SCHEMA = "irscope.llvm-passes/1"


def llvm_document(report: LlvmReport, capture: str) -> dict[str, Any]:
    """Return the JSON document."""
    return {
        "schema": LLVM_SCHEMA,
        "capture": capture,
        "variant": variant_record(report.variant, report.name),
        "passes": [
            {
                "number": number,
                "stage": llvm_pass.stage,
                "name": llvm_pass.name,
                "flag": llvm_pass.flag or None,
                "changed": llvm_pass.changed,
                "instructions": llvm_pass.instructions,
                "effect": dict(llvm_pass.effect),
                "seconds": llvm_pass.seconds,
            }
            for number, llvm_pass in report.passes
        ],
        "ptxas": {"functions": dict(report.functions), "advice": list(report.advice)},
    }
