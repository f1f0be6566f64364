"""`irscope registers --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from typing import Any

from irscope.model import Variant
from irscope.report.json.records import variant_record
from irscope.workspace import LiveValue, RegisterReport, SourceLine, SpilledValue, TensorInRegisters

SCHEMA = "irscope.registers/1"


def registers_document(capture: str, variant: Variant, name: str, report: RegisterReport) -> dict[str, Any]:
    """The JSON document."""
    return {
        "schema": SCHEMA,
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
        "tensors": [_tensor(tensor) for tensor in report.tensors],
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


def _tensor(one: TensorInRegisters) -> dict[str, Any]:
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
    """A line of the user's Python; null if it is unknown."""
    if line is None or not line.line:
        return None
    return {"file": line.file, "line": line.line, "name": line.name or None}


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else value
