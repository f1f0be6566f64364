"""Why registers differ or are spilled: the tensors that take them, and the values that are in local memory.

Registers per thread: 64 -> 120 (no stack); acc 64x64 f32 -> 64x128 f32 over 128 threads takes 32 -> 64

Only tensors whose elements one thread holds are named, so that their registers can be recomputed: elements
times size over threads, in registers of 4 bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from irscope.analysis.findings.finding import PairContext
from irscope.backends import backend_of
from irscope.diff.rows import StageDiff
from irscope.facts.fact import number_of
from irscope.facts.registry import REGISTERS, STACK
from irscope.languages.document import Document
from irscope.model import Variant

if TYPE_CHECKING:
    from irscope.analysis.registers.live_tensors import LiveTensor, TensorPressure

# A tensor explains a difference of registers if it makes up this share of it.
_SHARE = 0.25
# A kernel spills because of its tensors if they need this share of the registers that it got.
_MOST = 0.6
_LISTED = 2


def register_cause(pair: PairContext) -> str:
    """`; acc 64x64 f32 -> 64x128 f32 over 128 threads takes 32 -> 64`, or "" if no tensor explains it."""
    found, ttgir = pair.numbers(REGISTERS), pair.diffs.get("ttgir")
    if found is None or ttgir is None:
        return ""
    a, b = (_by_name(pressure.tensors) for pressure in _pressures(pair, ttgir))
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

    "; B's largest tensors: acc 128x128 f32 over 128 threads takes 128; B spills q (line 83)"
    """
    ttgir = pair.diffs.get("ttgir")
    pressures = _pressures(pair, ttgir) if ttgir else (None, None)
    texts: list[str] = []
    for (side, variant, facts), pressure in zip(pair.sides(), pressures, strict=True):
        if not number_of(facts, STACK):
            continue
        registers = number_of(facts, REGISTERS)
        if pressure and registers and pressure.registers >= _MOST * registers:
            texts += _demand(side, pressure)
        texts += _spilled(pair, side, variant)
    return "".join(f"; {text}" for text in texts)


def _pressures(pair: PairContext, ttgir: StageDiff) -> tuple[TensorPressure, TensorPressure]:
    return _pressure(pair.a, ttgir.left), _pressure(pair.b, ttgir.right)


def _pressure(variant: Variant, document: Document) -> TensorPressure:
    # Many modules, for which facts alone have no use.
    from irscope.analysis.registers.live_tensors import tensor_pressure
    from irscope.layouts.convert import triton_version
    from irscope.layouts.tensors import Layouts

    version = triton_version(variant.toolchain.versions.get("triton", ""))
    return tensor_pressure(document, Layouts(version))


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
    """The value that is spilled most, if the machine code was compared and says which one it is."""
    backend = backend_of(variant.target)
    document, assembly = (
        _side(pair.diffs.get(one), side) for one in (backend.machine_code, backend.assembly)
    )
    if document is None:
        return
    from irscope.analysis.registers.register_report import register_report  # many modules, for spills only

    # Locations of both sides are lines of B.
    report = register_report(pair.b.kernel, document, None, None, assembly)
    first = next((one for one in report.spills if one.value.name), None)
    if first is not None:
        yield f"{side} spills {first.value.name} (line {first.value.line})"


def _side(diff: StageDiff | None, side: str) -> Document | None:
    if diff is None:
        return None
    return diff.left if side == "A" else diff.right
