"""The important differences of two variants in sentences, most important first.

To add a finding, write one function and add it to FINDINGS: every view shows it. A function yields nothing
if a fact that it needs is unknown on one side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from irscope.analysis.duplicates import are_duplicates
from irscope.analysis.finding import Finding, PairContext, effect
from irscope.analysis.line_findings import assembly_diff, line_findings
from irscope.backends import backend_of, stages_for
from irscope.diff.rows import Change, LayoutChange, StageDiff
from irscope.facts.fact import Evidence, Facts, change_text, number_of, status_of, value_of
from irscope.facts.registry import (
    BLOCKS_PER_SM,
    FACT_KINDS,
    LIMITER,
    LOAD_WIDTH,
    MS,
    OCCUPANCY,
    REGISTERS,
    SECONDS,
    SPILL_LOAD_BYTES,
    SPILL_STORE_BYTES,
    STACK,
    STORE_WIDTH,
)
from irscope.model.text import pluralize

__all__ = ["FINDINGS", "Finding", "PairContext", "findings"]

# ptxas allocates no more registers per thread, and reports few if it gave up and spilled nearly everything.
_MAX_REGISTERS = 255
_GAVE_UP_REGISTERS, _GAVE_UP_STACK = 40, 1024
# A fraction of occupancy in terms of warps, so that its effect is the effect of the number of warps.
_WARPS = 64
# Above everything that follows from it: a pass is the closest to a cause that can be named.
_DIVERGENCE_WEIGHT = 6.0
# Facts that have a separate finding, and times, which a compilation does not determine.
_COVERED = frozenset([STACK, REGISTERS, OCCUPANCY, LOAD_WIDTH, STORE_WIDTH, MS, SECONDS])
_COUNTED = {Change.ADDED: "added operation", Change.REMOVED: "removed operation", Change.TEXT: "other line"}


def findings(pair: PairContext) -> list[Finding]:
    """The findings about B compared with A, most important first."""
    found = [finding for find in FINDINGS for finding in find(pair)]
    return sorted(found, key=lambda finding: -finding.weight)


def launch_problems(pair: PairContext) -> Iterator[Finding]:
    """A side that did not compile or cannot be launched."""
    for side, variant, facts in pair.sides():
        status = status_of(variant, facts)
        if variant.failure is not None and status is not None:
            yield Finding(f"{side} did not compile: {status.reason}", 1100, "launch")
        elif status is not None and not status.ok:
            yield Finding(f"{side} cannot launch on {variant.target}: {status.reason}", 1000, "launch")


def identical_code(pair: PairContext) -> Iterator[Finding]:
    """Both sides have the same machine code."""
    if are_duplicates(pair.a, pair.b, pair.facts_a, pair.facts_b):
        text = "A and B have identical machine code; benchmarking both is redundant"
        yield Finding(text, 500, "identical")


def spills(pair: PairContext) -> Iterator[Finding]:
    """Different stacks, with everything that is known about them."""
    stack = pair.numbers(STACK)
    if stack is None or stack[0] == stack[1]:
        return
    a, b = stack
    if a == 0:
        text = f"B spills, A does not: {_spill_text(pair.facts_b)}"
    elif b == 0:
        text = f"A spills, B does not: {_spill_text(pair.facts_a)}"
    else:
        text = f"Both spill. A: {_spill_text(pair.facts_a)}. B: {_spill_text(pair.facts_b)}"
    weight = STACK.weight * max(effect(a + 8, b + 8), 0.2)
    yield Finding(text, weight, "spills", *pair.evidence(STACK))


def _spill_text(facts: Facts) -> str:
    stack, registers = number_of(facts, STACK) or 0, number_of(facts, REGISTERS)
    parts = [f"{stack:,} bytes of stack per thread"]
    stores, loads = number_of(facts, SPILL_STORE_BYTES), number_of(facts, SPILL_LOAD_BYTES)
    if stores is not None and loads is not None:
        parts.append(f"{stores:,} bytes of spill stores and {loads:,} of spill loads")
    if registers is None:
        return ", ".join(parts)
    if registers <= _GAVE_UP_REGISTERS and stack >= _GAVE_UP_STACK:
        return f"{', '.join(parts)}; with only {registers:,} registers, the register allocator gave up"
    limit = " (the limit)" if registers == _MAX_REGISTERS else ""
    return f"{', '.join(parts)}, {registers:,} registers{limit}"


def assembler_warnings(pair: PairContext) -> Iterator[Finding]:
    """Performance warnings that the assembler gives for one side only."""
    for side, own, other in (("A", pair.a, pair.b), ("B", pair.b, pair.a)):
        warnings = backend_of(own.target).warnings
        for warning in warnings(own.log):
            if other.log is not None and warning not in warnings(other.log):
                yield Finding(f"ptxas warns about {side}: {warning}", 30, "ptxas")


def registers(pair: PairContext) -> Iterator[Finding]:
    """Registers, always with the stack that they may have been spilled to."""
    found, stack = pair.numbers(REGISTERS), pair.numbers(STACK)
    if found is None or stack is None or found[0] == found[1]:
        return
    if stack[0] == stack[1]:
        stack_text = f"both with {stack[0]:,} bytes of stack" if stack[0] else "no stack"
    else:
        stack_text = f"stack: {stack[0]:,} -> {stack[1]:,} bytes"
    text = f"{change_text(REGISTERS, *found)} ({stack_text})"
    yield Finding(text, REGISTERS.weight * effect(*found), "registers")


def occupancy(pair: PairContext) -> Iterator[Finding]:
    """Theoretical occupancy and what limits it; a variant that cannot launch has none to compare."""
    fractions, blocks = pair.numbers(OCCUPANCY), pair.numbers(BLOCKS_PER_SM)
    if fractions is None or blocks is None or fractions[0] == fractions[1] or 0 in fractions:
        return
    limits = list(dict.fromkeys(str(value_of(facts, LIMITER)) for _, _, facts in pair.sides()))
    text = (
        f"{change_text(OCCUPANCY, *fractions)} ({blocks[0]:,} -> {blocks[1]:,} blocks per multiprocessor), "
        f"limited by {' -> '.join(limits)}"
    )
    weight = OCCUPANCY.weight * effect(fractions[0] * _WARPS, fractions[1] * _WARPS)
    yield Finding(text, weight, "occupancy")


def other_facts(pair: PairContext) -> Iterator[Finding]:
    """Every other fact with a weight; those that are text only if the assembly was not compared by line."""
    by_line = assembly_diff(pair) is not None
    for kind in FACT_KINDS:
        a, b = value_of(pair.facts_a, kind), value_of(pair.facts_b, kind)
        if not kind.weight or kind in _COVERED or a is None or b is None or a == b:
            continue
        if isinstance(a, int | float) and isinstance(b, int | float):
            weight = kind.weight * effect(a, b)
        elif by_line:
            continue
        else:
            weight = kind.weight
        yield Finding(change_text(kind, a, b), weight, kind.name, *pair.evidence(kind))


def layouts(pair: PairContext) -> Iterator[Finding]:
    """Each layout of TTGIR that differs, field by field."""
    diff = pair.diffs.get("ttgir")
    yield from map(_layout_finding, diff.layouts if diff else ())


def _layout_finding(change: LayoutChange) -> Finding:
    """One layout: "#mma instrShape [16, 64, 16] -> [16, 32, 16]"."""
    left, right = change.left, change.right
    if left and right:
        fields = ", ".join(f"{name} {a} -> {b}" for name, a, b in change.fields)
        # Layouts of two kinds have no common fields.
        text = f"{left.alias} {fields if left.kind == right.kind else f'{left.kind} -> {right.kind}'}"
    elif right:
        text = f"Only B has the layout {right.alias}, {right.kind}"
    else:
        text = f"Only A has the layout {left.alias}, {left.kind}" if left else "A layout changed"
    evidence_a = (Evidence("ttgir", left.line),) if left else ()
    evidence_b = (Evidence("ttgir", right.line),) if right else ()
    return Finding(text, 2 + 0.1 * effect(1, 1 + change.uses), "layout", evidence_a, evidence_b)


def first_divergence(pair: PairContext) -> Iterator[Finding]:
    """The pass in which A and B diverge, and the one in which their layouts do if that is another."""
    if pair.divergences is None or pair.divergences.first is None:
        return
    first, of_layouts = pair.divergences.first, pair.divergences.layouts
    yield Finding(f"A and B first diverge {first.place}: {first.summary}", _DIVERGENCE_WEIGHT, "passes")
    if of_layouts is not None and of_layouts is not first:
        text = f"Their layouts first diverge {of_layouts.place}: {of_layouts.summary}"
        yield Finding(text, _DIVERGENCE_WEIGHT, "passes")


def first_different_stage(pair: PairContext) -> Iterator[Finding]:
    """The first compared stage that differs in more than shapes and constants, or that none does."""
    names = [stage.name for stage in stages_for(pair.b.target.backend) if stage.name in pair.diffs]
    diffs = [pair.diffs[name] for name in names]
    if len(diffs) < 2:
        return
    diff = next((diff for diff in diffs if diff.structural), None)
    if diff is None:
        shapes = "" if all(diff.equal for diff in diffs) else " except for shapes and constants"
        yield Finding(f"All compared stages are equal{shapes}: {', '.join(names)}", 1, "stages")
        return
    text = f"First real difference: {diff.stage} ({_counts_text(diff)})"
    rows = [row for row in diff.rows if row.change.structural][:1]
    evidence_a = tuple(Evidence(diff.stage, row.left) for row in rows if row.left is not None)
    evidence_b = tuple(Evidence(diff.stage, row.right) for row in rows if row.right is not None)
    yield Finding(text, 1, "stages", evidence_a, evidence_b)


def _counts_text(diff: StageDiff) -> str:
    """The changes: "17 layout changes, 1 attribute change, 2 changed layouts"."""
    counts = [
        pluralize(number, _COUNTED.get(kind) or f"{str(kind.name).lower().rstrip('s')} change")
        for kind, number in diff.counts.items()
        if number
    ]
    return ", ".join([*counts, *([pluralize(len(diff.layouts), "changed layout")] if diff.layouts else [])])


FINDINGS: tuple[Callable[[PairContext], Iterator[Finding]], ...] = (
    launch_problems,
    identical_code,
    spills,
    assembler_warnings,
    registers,
    occupancy,
    other_facts,
    line_findings,
    layouts,
    first_divergence,
    first_different_stage,
)
