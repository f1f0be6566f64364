"""Findings about resources: spills, registers, occupancy, and every other fact with a weight."""

from __future__ import annotations

import re
from collections.abc import Iterator

from irscope.analysis.findings.finding import Finding, PairContext, assembly_diff
from irscope.analysis.findings.register_causes import register_cause, spill_cause
from irscope.analysis.findings.severity import Severity, effect
from irscope.backends import backend_of
from irscope.facts.fact import FactKind, Facts, change_text, number_of, value_of
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
from irscope.facts.spills import spilled_registers_text
from irscope.facts.spills import spills as has_spills
from irscope.model import Variant

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
        text = f"{change_text(STACK, a, b)}; nothing is spilled, it holds arrays of the kernel"
        yield Finding(text, Severity.MEMORY.weight(effect(a + 8, b + 8)), STACK.name, *pair.evidence(STACK))
        return
    if a == 0:
        text = f"B spills, A does not: {_spill_text(pair.facts_b)}"
    elif b == 0:
        text = f"A spills, B does not: {_spill_text(pair.facts_a)}"
    else:
        text = f"Both spill. A: {_spill_text(pair.facts_a)}. B: {_spill_text(pair.facts_b)}"
    weight = Severity.SPILLS.weight(effect(a + 8, b + 8))
    evidence = pair.evidence(STACK)
    yield Finding(text + spill_cause(pair), weight, "spills", *evidence, covers=_SPILL_ACCESSES)


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
    """Performance warnings that the assembler gives for one side only, wherever in its text."""
    for side, own, other in (("A", pair.a, pair.b), ("B", pair.b, pair.a)):
        warnings = {_WARNING_PLACE.sub("", text): text for text in reversed(_warnings(own))}
        known = {_WARNING_PLACE.sub("", text) for text in _warnings(other)}
        for key, warning in reversed(warnings.items()):
            if other.log is not None and key not in known:
                text = f"ptxas warns about {side}: {warning}"
                yield Finding(text, Severity.LOOP.weight(), "ptxas", subject=side)


def _warnings(variant: Variant) -> tuple[str, ...]:
    return backend_of(variant.target).warnings(variant.log)


def registers(pair: PairContext) -> Iterator[Finding]:
    """Registers, always with the stack that they may have been spilled to."""
    found, stack = pair.numbers(REGISTERS), pair.numbers(STACK)
    if found is None or stack is None or found[0] == found[1]:
        return
    if stack[0] == stack[1]:
        stack_text = f"both with {stack[0]:,} bytes of stack" if stack[0] else "no stack"
    else:
        stack_text = f"stack: {stack[0]:,} -> {stack[1]:,} bytes"
    text = f"{change_text(REGISTERS, *found)} ({stack_text}){register_cause(pair)}"
    yield Finding(text, _weight(REGISTERS, *found), "registers")


def occupancy(pair: PairContext) -> Iterator[Finding]:
    """Theoretical occupancy and what limits it; a variant that cannot launch has none to compare."""
    fractions, blocks = pair.numbers(OCCUPANCY), pair.numbers(BLOCKS_PER_SM)
    if fractions is None or blocks is None or fractions[0] == fractions[1] or 0 in fractions:
        return
    limits = list(dict.fromkeys(str(value_of(facts, LIMITER)) for _, _, facts in pair.sides()))
    text = (
        f"{change_text(OCCUPANCY, *fractions)} ({blocks[0]:,} -> {blocks[1]:,} "
        f"{pair.in_words('blocks per multiprocessor')}), limited by {' -> '.join(limits)}"
    )
    weight = Severity.OCCUPANCY.weight(effect(fractions[0] * _WARPS, fractions[1] * _WARPS))
    yield Finding(text, weight, "occupancy")


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
            yield Finding(pair.in_words(change_text(kind, a, b)), weight, kind.name, *pair.evidence(kind))


def _weight(kind: FactKind, a: float, b: float) -> float:
    moved, severity = effect(a, b), _SEVERITIES.get(kind, Severity.COUNT)
    small = severity is Severity.RESOURCES and moved < _SMALL
    return (Severity.COUNT if small else severity).weight(moved)


def _text_weight(kind: FactKind, a: str, b: str) -> float:
    """The weight of counts of instructions, "4 x 16 B"; more or fewer of the same ones matter little."""
    kinds_a, kinds_b = ({count.partition(" x ")[2] or count for count in text.split(", ")} for text in (a, b))
    if kinds_a == kinds_b:
        return Severity.COUNT.weight()
    severity = _SEVERITIES.get(kind, Severity.COUNT)
    if severity is Severity.MATRIX_PATH and _families(kinds_a) == _families(kinds_b):
        return Severity.RESOURCES.weight()
    return severity.weight()


def _families(kinds: set[str]) -> set[str]:
    """The matrix instructions without their shapes and types: "wgmma", "mma", "v_mfma"."""
    return {found[0] for kind in kinds if (found := _FAMILY.match(kind))}


def _follows_from_warps(pair: PairContext) -> bool:
    """Whether the number of threads differs as num_warps does, which the configs say."""
    warps, threads = pair.configured_warps(), pair.numbers(THREADS)
    return warps is not None and threads is not None and threads[0] * warps[1] == threads[1] * warps[0]
