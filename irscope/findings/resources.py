"""Findings about resources: spills, registers, occupancy, and every other fact with a weight.

Why registers differ or are spilled: the tensors that take them, and the values that are in local memory.

Registers per thread: 64 -> 120 (no stack); acc 64x64 f32 -> 64x128 f32 over 128 threads takes 32 -> 64

Only tensors whose elements one thread holds are named, so that their registers can be recomputed: elements
times size over threads, in registers of 4 bytes.

The finding about scalar registers that AMD's backend spills to lanes of vector registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from irscope.diff.rows import StageDiff
from irscope.facts.fact import FactKind, Facts, number_of, value_of
from irscope.facts.occupancy import spilled_registers_text, spills_only_scalars
from irscope.facts.occupancy import spills as has_spills
from irscope.facts.registry import (
    ASYNC_COPIES,
    BLOCKS_PER_SM,
    BUFFERS,
    CONVERSIONS,
    FACT_KINDS,
    GLOBAL_LOADS,
    GLOBAL_STORES,
    INSTRUCTIONS,
    LIMITER,
    LOAD_WIDTH,
    MATRIX,
    MS,
    OCCUPANCY,
    PIPELINE_DEPTH,
    REGISTERS,
    SCALAR_SPILLS,
    SECONDS,
    SHARED,
    SPILL_LOAD_BYTES,
    SPILL_STORE_BYTES,
    STACK,
    STORE_WIDTH,
    TENSOR_MEMORY,
    THREADS,
    WARP_SPECIALIZATION,
)
from irscope.findings.finding import (
    Finding,
    PairContext,
    Severity,
    ValueChange,
    assembly_diff,
    effect,
    fact_change,
    on_sides,
)
from irscope.languages.document import Document
from irscope.model import Variant
from irscope.model.text import clipped, pluralize
from irscope.targets import backend_of

if TYPE_CHECKING:
    from irscope.facts.registers.live_tensors import LiveTensor, TensorPressure, TensorType


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
    from irscope.facts.registers.live_tensors import tensor_pressure, variable_types
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
    """Return the largest tensor of each variable, in the order of their registers."""
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
    from irscope.facts.registers.register_report import register_report  # many modules, for spills only

    # Locations of both sides are lines of B.
    report = register_report(pair.b.kernel, document, None, None, assembly)
    if report.spills and (line := report.spills[0].value).text:
        yield f"{side} spills values of line {line.line} ({clipped(line.text, _MOST_CODE)})"


def _side(diff: StageDiff | None, side: str) -> Document | None:
    if diff is None:
        return None
    return diff.left if side == "A" else diff.right


# ptxas allocates no more registers per thread, and reports few if it gave up and spilled nearly everything.
_MAX_REGISTERS = 255
_GAVE_UP_REGISTERS, _GAVE_UP_STACK = 40, 1024
# A fraction of occupancy in terms of warps, so that its effect is the effect of the number of warps.
_WARPS = 64
# Facts that have a separate finding or are in the table of stages, and times, which a compilation does not
# determine.
_COVERED = frozenset(
    [STACK, REGISTERS, OCCUPANCY, LOAD_WIDTH, STORE_WIDTH, MS, SECONDS, INSTRUCTIONS, WARP_SPECIALIZATION]
)
_SEVERITIES = {
    MATRIX: Severity.MATRIX_PATH,
    BUFFERS: Severity.LOOP,
    PIPELINE_DEPTH: Severity.LOOP,
    GLOBAL_LOADS: Severity.MEMORY,
    GLOBAL_STORES: Severity.MEMORY,
    ASYNC_COPIES: Severity.MEMORY,
    REGISTERS: Severity.RESOURCES,
    SHARED: Severity.RESOURCES,
    TENSOR_MEMORY: Severity.RESOURCES,
    THREADS: Severity.RESOURCES,
    CONVERSIONS: Severity.LAYOUT,
}
_FAMILY = re.compile(r"v_[a-z]+|[a-z]+\d*")
# The name of the function and the line of the assembly in a warning.
_WARNING_PLACE = re.compile(r" (?:in|at|near) (?:the )?(?:function '[^']*'|line \d+)")
# The lines that reload or store what is spilled.
_SPILL_ACCESSES = frozenset(["local load", "local store"])
# A resource that moved by less, about 9 percent, is only another count.
_SMALL = 0.125


def spills(pair: PairContext) -> Iterator[Finding]:
    """Different stacks, with everything that is known about them."""
    stack = pair.numbers(STACK)
    if stack is None or stack[0] == stack[1]:
        return
    a, b = stack
    if not any(has_spills(facts) for _, _, facts in pair.sides()):
        yield Finding(
            STACK.subject,
            Severity.MEMORY.weight(effect(a + 8, b + 8)),
            STACK.name,
            *pair.evidence(STACK),
            changes=(fact_change(STACK, a, b),),
            note="; nothing is spilled, it holds arrays of the kernel",
        )
        return
    texts = (_spill_text(facts) if number_of(facts, STACK) else "" for _, _, facts in pair.sides())
    what, spilled = on_sides("{} spills, {} does not", "Both spill", *texts)
    weight = Severity.SPILLS.weight(effect(a + 8, b + 8))
    evidence, cause = pair.evidence(STACK), spill_cause(pair)
    yield Finding(what, weight, "spills", *evidence, covers=_SPILL_ACCESSES, changes=spilled, note=cause)


def _spill_text(facts: Facts) -> str:
    stack, registers = number_of(facts, STACK) or 0, number_of(facts, REGISTERS)
    parts = [f"{stack:,} bytes of stack per thread"]
    stores, loads = number_of(facts, SPILL_STORE_BYTES), number_of(facts, SPILL_LOAD_BYTES)
    if spilled := spilled_registers_text(facts):
        parts.append(f"{spilled} spilled")
    if stores is not None and loads is not None:
        parts.append(f"{stores:,} bytes of spill stores and {loads:,} of spill loads")
    if registers is None:
        return ", ".join(parts)
    if registers <= _GAVE_UP_REGISTERS and stack >= _GAVE_UP_STACK:
        return f"{', '.join(parts)}; with only {registers:,} registers, the register allocator gave up"
    limit = " (the limit)" if registers == _MAX_REGISTERS else ""
    return f"{', '.join(parts)}, {registers:,} registers{limit}"


def assembler_warnings(pair: PairContext) -> Iterator[Finding]:
    """Yield performance warnings that the assembler gives for one side only, wherever in its text."""
    for side, own, other in (("A", pair.a, pair.b), ("B", pair.b, pair.a)):
        warnings = {_WARNING_PLACE.sub("", text): text for text in reversed(_warnings(own))}
        known = {_WARNING_PLACE.sub("", text) for text in _warnings(other)}
        for key, warning in reversed(warnings.items()):
            if other.log is not None and key not in known:
                what = f"ptxas warns about {side}"
                yield Finding(what, Severity.LOOP.weight(), "ptxas", subject=side, changes=(warning,))


def _warnings(variant: Variant) -> tuple[str, ...]:
    return backend_of(variant.target).warnings(variant.log)


def registers(pair: PairContext) -> Iterator[Finding]:
    """Register, always with the stack that they may have been spilled to."""
    found, stack = pair.numbers(REGISTERS), pair.numbers(STACK)
    if found is None or stack is None or found[0] == found[1]:
        return
    if stack[0] == stack[1]:
        stack_text = f"both with {stack[0]:,} bytes of stack" if stack[0] else "no stack"
    else:
        stack_text = f"stack: {stack[0]:,} -> {stack[1]:,} bytes"
    yield Finding(
        REGISTERS.subject,
        _weight(REGISTERS, *found),
        REGISTERS.name,
        changes=(fact_change(REGISTERS, *found),),
        note=f" ({stack_text}){register_cause(pair)}",
    )


def occupancy(pair: PairContext) -> Iterator[Finding]:
    """Theoretical occupancy and what limits it; a variant that cannot launch has none to compare."""
    fractions, blocks = pair.numbers(OCCUPANCY), pair.numbers(BLOCKS_PER_SM)
    if fractions is None or blocks is None or fractions[0] == fractions[1] or 0 in fractions:
        return
    limits = list(dict.fromkeys(str(value_of(facts, LIMITER)) for _, _, facts in pair.sides()))
    number = ValueChange(f"{blocks[0]:,}", f"{blocks[1]:,}", unit=pair.in_words("blocks per multiprocessor"))
    yield Finding(
        OCCUPANCY.subject,
        Severity.OCCUPANCY.weight(effect(fractions[0] * _WARPS, fractions[1] * _WARPS)),
        OCCUPANCY.name,
        changes=(fact_change(OCCUPANCY, *fractions),),
        note=f" ({number}), limited by {' -> '.join(limits)}",
    )


def other_facts(pair: PairContext) -> Iterator[Finding]:
    """Every other fact with a weight; those that are text only if the assembly was not compared by line."""
    by_line = assembly_diff(pair) is not None
    for kind in FACT_KINDS:
        a, b = value_of(pair.facts_a, kind), value_of(pair.facts_b, kind)
        if not kind.weight or kind in _COVERED or a is None or b is None or a == b:
            continue
        if isinstance(a, int | float) and isinstance(b, int | float):
            weight = _weight(kind, a, b)
        elif by_line:
            continue
        else:
            weight = _text_weight(kind, str(a), str(b))
        if kind.format(a) == kind.format(b):
            continue
        if kind is not THREADS or not _follows_from_warps(pair):
            what, change = pair.in_words(kind.subject), fact_change(kind, a, b)
            yield Finding(what, weight, kind.name, *pair.evidence(kind), changes=(change,))


def _weight(kind: FactKind, a: float, b: float) -> float:
    moved, severity = effect(a, b), _SEVERITIES.get(kind, Severity.COUNT)
    small = severity is Severity.RESOURCES and moved < _SMALL
    return (Severity.COUNT if small else severity).weight(moved)


def _text_weight(kind: FactKind, a: str, b: str) -> float:
    """Return the weight of counts of instructions, "4 x 16 B"; more of the same ones matter little."""
    kinds_a, kinds_b = ({count.partition(" x ")[2] or count for count in text.split(", ")} for text in (a, b))
    if kinds_a == kinds_b:
        return Severity.COUNT.weight()
    severity = _SEVERITIES.get(kind, Severity.COUNT)
    if severity is Severity.MATRIX_PATH and _families(kinds_a) == _families(kinds_b):
        return Severity.RESOURCES.weight()
    return severity.weight()


def _families(kinds: set[str]) -> set[str]:
    """Return the matrix instructions without their shapes and types: "wgmma", "mma", "v_mfma"."""
    return {found[0] for kind in kinds if (found := _FAMILY.match(kind))}


def _follows_from_warps(pair: PairContext) -> bool:
    """Whether the number of threads differs as num_warps does, which the configs say."""
    warps, threads = pair.configured_warps(), pair.numbers(THREADS)
    return warps is not None and threads is not None and threads[0] * warps[1] == threads[1] * warps[0]


# As other resources that do not change occupancy.
_WEIGHT = Severity.RESOURCES.weight()


def scalar_spills(pair: PairContext) -> Iterator[Finding]:
    """Scalar registers spilled without a stack; with one, they are part of the finding about spills."""
    numbers = pair.numbers(SCALAR_SPILLS)
    sides = (pair.facts_a, pair.facts_b)
    if numbers is None or numbers[0] == numbers[1]:
        return
    if not all(
        spills_only_scalars(facts) or not number for facts, number in zip(sides, numbers, strict=True)
    ):
        return
    amounts = [pluralize(int(number), "scalar register") if number else "none" for number in numbers]
    (x, more), (y, other) = sorted(zip("AB", amounts, strict=True), key=lambda side: side[1] == "none")
    text = f"{x} spills {more} to lanes of vector registers, {y} spills {other}"
    yield Finding(text, _WEIGHT, "scalar spills")
