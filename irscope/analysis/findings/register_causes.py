"""Why registers differ or are spilled: the tensors that take them, and the values that are in local memory.

Registers per thread: 64 -> 120 (no stack); acc 64x64 f32 -> 64x128 f32 over 128 threads takes 32 -> 64

Only tensors whose elements one thread holds are named, so that their registers can be recomputed: elements
times size over threads, in registers of 4 bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from irscope.analysis.findings.finding import PairContext
from irscope.backends import backend_of
from irscope.diff.rows import StageDiff
from irscope.facts.fact import number_of
from irscope.facts.registry import REGISTERS, STACK
from irscope.languages.document import Document
from irscope.model import Variant
from irscope.model.text import clipped

if TYPE_CHECKING:
    from irscope.analysis.registers.live_tensors import LiveTensor, TensorPressure
    from irscope.analysis.registers.variable_types import TensorType

# A tensor explains a difference of registers if it makes up this share of it.
_SHARE = 0.25
# A kernel spills because of its tensors if they need this share of the registers that it got.
_MOST = 0.6
_LISTED = 2
_MOST_CODE = 60


def register_cause(pair: PairContext) -> str:
    """`; acc 64x64 f32 -> 64x128 f32 over 128 threads takes 32 -> 64`, or "" if no tensor explains it."""
    found, pressures = pair.numbers(REGISTERS), _pressures(pair)
    if found is None or pressures is None:
        return ""
    a, b = (_by_name(pressure.tensors) for pressure in pressures)
    difference = found[1] - found[0]
    changed = [
        (a[name], b[name])
        for name in a.keys() & b.keys()
        if (b[name].registers - a[name].registers) * difference > 0
        and abs(b[name].registers - a[name].registers) >= _SHARE * abs(difference)
    ]
    changed.sort(key=lambda both: (-abs(both[1].registers - both[0].registers), both[0].name))
    texts = [_change_text(*both) for both in changed[:_LISTED]]
    return f"; {', '.join(texts)}" if texts else ""


def spill_cause(pair: PairContext) -> str:
    """Sentences about the values of the sides that spill: the tensors that are live at once, what is spilled.

    "; B's largest tensors: acc 128x128 f32 over 128 threads takes 128; B spills values of
    line 83 (q = tl.load(q_ptr))"
    """
    pressures = _pressures(pair) or (None, None)
    texts: list[str] = []
    for (side, variant, facts), pressure in zip(pair.sides(), pressures, strict=True):
        if not number_of(facts, STACK):
            continue
        registers = number_of(facts, REGISTERS)
        if pressure and registers and pressure.registers >= _MOST * registers:
            texts += _demand(side, pressure)
        texts += _spilled(pair, side, variant)
    return "".join(f"; {text}" for text in texts)


def _pressures(pair: PairContext) -> tuple[TensorPressure, TensorPressure] | None:
    """Return the live tensors of both sides; None if their TTGIR was not compared."""
    ttgir, ttir = pair.diffs.get("ttgir"), pair.diffs.get("ttir")
    if ttgir is None:
        return None
    return (
        _pressure(pair.a, ttgir.left, ttir.left if ttir else None),
        _pressure(pair.b, ttgir.right, ttir.right if ttir else None),
    )


def _pressure(variant: Variant, ttgir: Document, ttir: Document | None) -> TensorPressure:
    """Return the live tensors, with the names of variables that hold tensors of their type."""
    # Many modules, for which facts alone have no use.
    from irscope.analysis.registers.live_tensors import tensor_pressure
    from irscope.analysis.registers.variable_types import variable_types
    from irscope.layouts.convert import triton_version
    from irscope.layouts.tensors import Layouts

    version = triton_version(variant.toolchain.versions.get("triton", ""))
    pressure = tensor_pressure(ttgir, Layouts(version))
    if ttir is None:
        return pressure
    types = variable_types(ttir)
    tensors = [
        tensor if _is_slice_of(tensor, types.get(tensor.name, ())) else replace(tensor, name="")
        for tensor in pressure.tensors
    ]
    return replace(pressure, tensors=tensors)


def _is_slice_of(tensor: LiveTensor, types: Iterable[TensorType]) -> bool:
    """Check whether a tensor has one of the types, or is a slice of one: dots prefetch slices of operands."""
    return any(
        element == tensor.element
        and len(shape) == len(tensor.shape)
        and all(size <= whole for size, whole in zip(tensor.shape, shape, strict=True))
        for shape, element in types
    )


def _by_name(tensors: Iterable[LiveTensor]) -> Mapping[str, LiveTensor]:
    """The largest tensor of each variable, in the order of their registers."""
    found: dict[str, LiveTensor] = {}
    for tensor in tensors:
        if tensor.name and not tensor.replicated:
            found.setdefault(tensor.name, tensor)
    return found


def _change_text(a: LiveTensor, b: LiveTensor) -> str:
    type_ = a.type if a.type == b.type else f"{a.type} -> {b.type}"
    return f"{b.name} {type_} over {_holders_text(a, b)} takes {a.registers} -> {b.registers}"


def _holders_text(a: LiveTensor, b: LiveTensor) -> str:
    """Return `128 threads`, `128 -> 256 threads`, `128 threads -> 2 CTAs of 128 threads`."""
    if a.holders == b.holders:
        return b.holders
    if a.ctas == b.ctas == 1:
        return f"{a.threads} -> {b.holders}"
    return f"{a.holders} -> {b.holders}"


def _demand(side: str, pressure: TensorPressure) -> Iterator[str]:
    largest = list(_by_name(pressure.tensors).items())[:_LISTED]
    if 2 * sum(one.registers for _, one in largest) >= pressure.registers:
        listed = (f"{name} {one.type} over {one.holders} takes {one.registers}" for name, one in largest)
        yield f"{side}'s largest tensors: {', '.join(listed)}"


def _spilled(pair: PairContext, side: str, variant: Variant) -> Iterator[str]:
    """Name the line whose values are spilled most, if the machine code was compared and says which one it is.

    The line can compute more than its variable: addresses that are used again later are spilled too.
    """
    backend = backend_of(variant.target)
    document, assembly = (
        _side(pair.diffs.get(one), side) for one in (backend.machine_code, backend.assembly)
    )
    if document is None:
        return
    from irscope.analysis.registers.register_report import register_report  # many modules, for spills only

    # Locations of both sides are lines of B.
    report = register_report(pair.b.kernel, document, None, None, assembly)
    if report.spills and (line := report.spills[0].value).text:
        yield f"{side} spills values of line {line.line} ({clipped(line.text, _MOST_CODE)})"


def _side(diff: StageDiff | None, side: str) -> Document | None:
    if diff is None:
        return None
    return diff.left if side == "A" else diff.right
