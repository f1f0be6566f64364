"""Findings about resources: spills, registers, occupancy, and every other fact with a weight.

Why registers differ or are spilled: the tensors that take them, and the values that are in local memory.

Registers per thread: 64 -> 120 (no stack); acc 64x64 f32 -> 64x128 f32 over 128 threads takes 32 -> 64

Only tensors whose elements one thread holds are named, so that their registers can be recomputed: elements
times size over threads, in registers of 4 bytes.

The finding about scalar registers that AMD's backend spills to lanes of vector registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

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
    FindingCause,
    FindingKind,
    PairContext,
    Severity,
    Side,
    ValueChange,
    declares,
    effect,
    fact_change,
    on_sides,
)
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
# Triton's num_warps of a launch that does not say.
_DEFAULT_WARPS = 4


def register_causes(pair: PairContext) -> Iterator[FindingCause]:
    """Yield `; acc 64x64 f32 -> 64x128 f32 over 128 threads takes 32 -> 64` if tensors are the cause."""
    registers, pressures = pair.numbers(REGISTERS), [_pressure(side) for side in pair.sides]
    a, b = (_by_name(pressure) for pressure in pressures)
    if registers is None:
        return
    difference = registers[1] - registers[0]
    moved = {name: b[name].registers - a[name].registers for name in a.keys() & b.keys()}
    names = [
        name
        for name, more in moved.items()
        if more * difference > 0 and abs(more) >= _SHARE * abs(difference)
    ]
    names.sort(key=lambda name: (-abs(moved[name]), name))
    if names:
        yield FindingCause(
            "tensors", (", ".join(_change_text(a[name], b[name]) for name in names[:_LISTED]),)
        )


def spill_causes(pair: PairContext) -> Iterator[FindingCause]:
    """Yield the largest tensors that are live at once in a side that spills, and what it spills.

    "; B's largest tensors: acc 128x128 f32 over 128 threads takes 128; B spills values of
    line 83 (q = tl.load(q_ptr))"
    """
    for side in pair.sides:
        if not side.number(STACK):
            continue
        pressure, registers = _pressure(side), side.number(REGISTERS)
        if pressure and registers and pressure.registers >= _MOST * registers:
            largest = list(_by_name(pressure).items())[:_LISTED]
            if 2 * sum(tensor.registers for _, tensor in largest) >= pressure.registers:
                texts = [
                    f"{name} {tensor.type} over {tensor.holders} takes {tensor.registers}"
                    for name, tensor in largest
                ]
                yield FindingCause("largest tensors", (side.letter, ", ".join(texts)))
        yield from _spilled_values(pair, side)


def _pressure(side: Side) -> TensorPressure | None:
    """Return a side's live tensors, with the names of variables that hold tensors of their type."""
    ttgir, ttir = side.document("ttgir"), side.document("ttir")
    if ttgir is None:
        return None
    # Many modules, for which facts alone have no use.
    from irscope.facts.registers.live_tensors import tensor_pressure, variable_types
    from irscope.layouts.convert import triton_version
    from irscope.layouts.tensors import Layouts

    version = triton_version(side.variant.toolchain.versions.get("triton", ""))
    pressure = tensor_pressure(ttgir, Layouts(version))
    if ttir is None:
        return pressure
    types = variable_types(ttir)
    tensors = [
        tensor
        if any(_is_slice_of(tensor, whole) for whole in types.get(tensor.name, ()))
        else replace(tensor, name="")
        for tensor in pressure.tensors
    ]
    return replace(pressure, tensors=tensors)


def _is_slice_of(tensor: LiveTensor, type_: TensorType) -> bool:
    """Check whether a tensor has the type, or is a slice of one: dots prefetch slices of operands."""
    shape, element = type_
    return (
        element == tensor.element
        and len(shape) == len(tensor.shape)
        and all(size <= whole for size, whole in zip(tensor.shape, shape, strict=True))
    )


def _by_name(pressure: TensorPressure | None) -> Mapping[str, LiveTensor]:
    """Return the largest tensor of each variable, in the order of their registers."""
    largest: dict[str, LiveTensor] = {}
    for tensor in pressure.tensors if pressure else ():
        if tensor.name and not tensor.replicated:
            largest.setdefault(tensor.name, tensor)
    return largest


def _change_text(a: LiveTensor, b: LiveTensor) -> str:
    """Return the change of a tensor, over `128 -> 256 threads` or `128 threads -> 2 CTAs of 128 threads`."""
    type_ = a.type if a.type == b.type else f"{a.type} -> {b.type}"
    holders = b.holders
    if a.holders != b.holders:
        holders = f"{a.threads if a.ctas == b.ctas == 1 else a.holders} -> {b.holders}"
    return f"{b.name} {type_} over {holders} takes {a.registers} -> {b.registers}"


def _spilled_values(pair: PairContext, side: Side) -> Iterator[FindingCause]:
    """Name the line whose values are spilled most, if the machine code was compared and says which one it is.

    The line can compute more than its variable: addresses that are used again later are spilled too.
    """
    backend = backend_of(side.variant.target)
    document, assembly = side.document(backend.machine_code), side.document(backend.assembly)
    if document is None:
        return
    from irscope.facts.registers.register_report import register_report  # many modules, for spills only

    # Locations of both sides are lines of B.
    report = register_report(pair.b.kernel, document, None, None, assembly)
    if report.spills and (line := report.spills[0].value).text:
        yield FindingCause("spilled values", (side.letter, line.line, clipped(line.text, _MOST_CODE)))


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


@declares("spills", FindingKind(column="stack"))
def spills(pair: PairContext) -> Iterator[Finding]:
    """Different stacks, with everything that is known about them."""
    stack = pair.numbers(STACK)
    if stack is None or stack[0] == stack[1]:
        return
    moved, evidence = effect(stack[0] + 8, stack[1] + 8), pair.evidence(STACK)
    if any(has_spills(side.facts) for side in pair.sides):
        texts = (_spill_text(side.facts) if side.number(STACK) else "" for side in pair.sides)
        what, spilled = on_sides("{} spills, {} does not", "Both spill", *texts)
        causes, weight = tuple(spill_causes(pair)), Severity.SPILLS.weight(moved)
        yield Finding(
            what, weight, "spills", *evidence, covers=_SPILL_ACCESSES, changes=spilled, causes=causes
        )
    else:
        weight, changes = Severity.MEMORY.weight(moved), (fact_change(STACK, *stack),)
        causes = (FindingCause("no spills"),)
        yield Finding(STACK.subject, weight, STACK.name, *evidence, changes=changes, causes=causes)


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
    for side, other in (pair.sides, pair.sides[::-1]):
        warnings, other_warnings = (
            {_WARNING_PLACE.sub("", text): text for text in reversed(_warnings(variant))}
            for variant in (side.variant, other.variant)
        )
        for key, warning in reversed(warnings.items()):
            if other.variant.log is not None and key not in other_warnings:
                what, letter = f"ptxas warns about {side.letter}", side.letter
                yield Finding(what, Severity.LOOP.weight(), "ptxas", subject=letter, changes=(warning,))


def _warnings(variant: Variant) -> tuple[str, ...]:
    return backend_of(variant.target).warnings(variant.log)


def registers(pair: PairContext) -> Iterator[Finding]:
    """Register, always with the stack that they may have been spilled to."""
    numbers, stack = pair.numbers(REGISTERS), pair.numbers(STACK)
    if numbers is None or stack is None or numbers[0] == numbers[1]:
        return
    if stack[0] == stack[1]:
        stack_text = f"both with {stack[0]:,} bytes of stack" if stack[0] else "no stack"
    else:
        stack_text = f"stack: {stack[0]:,} -> {stack[1]:,} bytes"
    yield Finding(
        REGISTERS.subject,
        _weight(REGISTERS, *numbers),
        REGISTERS.name,
        changes=(fact_change(REGISTERS, *numbers),),
        causes=(FindingCause("remark", (stack_text,)), *register_causes(pair)),
    )


def occupancy(pair: PairContext) -> Iterator[Finding]:
    """Theoretical occupancy and what limits it; a variant that cannot launch has none to compare."""
    fractions, blocks = pair.numbers(OCCUPANCY), pair.numbers(BLOCKS_PER_SM)
    if fractions is None or blocks is None or fractions[0] == fractions[1] or 0 in fractions:
        return
    limits = dict.fromkeys(str(value_of(side.facts, LIMITER)) for side in pair.sides)
    number = ValueChange(f"{blocks[0]:,}", f"{blocks[1]:,}", unit=pair.in_words("blocks per multiprocessor"))
    yield Finding(
        OCCUPANCY.subject,
        Severity.OCCUPANCY.weight(effect(fractions[0] * _WARPS, fractions[1] * _WARPS)),
        OCCUPANCY.name,
        changes=(fact_change(OCCUPANCY, *fractions),),
        causes=(FindingCause("remark", (number,)), FindingCause("limit", (" -> ".join(limits),))),
    )


def other_facts(pair: PairContext) -> Iterator[Finding]:
    """Every other fact with a weight; those that are text only if the assembly was not compared by line."""
    by_line = pair.assembly is not None
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
    """Check whether the number of threads differs as num_warps of the configs, or Triton's default, does."""
    threads = pair.numbers(THREADS)
    a, b = (dict(side.variant.config.values).get("num_warps", _DEFAULT_WARPS) for side in pair.sides)
    if threads is None or not isinstance(a, int) or not isinstance(b, int):
        return False
    return threads[0] * b == threads[1] * a


@declares("scalar spills", FindingKind(column="scalar_spills"))
def scalar_spills(pair: PairContext) -> Iterator[Finding]:
    """Scalar registers spilled without a stack; with one, they are part of the finding about spills."""
    numbers = pair.numbers(SCALAR_SPILLS)
    if numbers is None or numbers[0] == numbers[1]:
        return
    if not all(spills_only_scalars(side.facts) or not side.number(SCALAR_SPILLS) for side in pair.sides):
        return
    amounts = [pluralize(int(number), "scalar register") if number else "none" for number in numbers]
    (x, more), (y, other) = sorted(zip("AB", amounts, strict=True), key=lambda side: side[1] == "none")
    text = f"{x} spills {more} to lanes of vector registers, {y} spills {other}"
    # As other resources that do not change occupancy.
    yield Finding(text, Severity.RESOURCES.weight(), "scalar spills")
