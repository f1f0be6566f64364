"""What matters about two variants, in sentences, most important first; each backed by facts or lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irscope.analysis.duplicates import are_duplicates
from irscope.analysis.finding import Finding, effect
from irscope.analysis.line_findings import line_findings
from irscope.backends import stages_for
from irscope.backends.cuda import ptxas_warnings
from irscope.diff.rows import LayoutChange, StageDiff
from irscope.facts.fact import Evidence, Fact, format_fraction, status_of
from irscope.model import Variant

__all__ = ["Finding", "findings"]

Facts = Mapping[str, Fact]

# Facts that are one number: what to call them, what they count, and how much a doubling matters.
_NUMBERS = {
    "shared": ("Shared memory", "bytes a block", 2.0),
    "tensor_memory": ("Tensor memory", "columns a block", 2.0),
    "barriers": ("Named barriers", "a block", 0.5),
    "threads": ("Threads", "a block", 0.5),
    "conversions": ("Layout conversions in TTGIR", "", 2.0),
    "buffers": ("The software pipeline's buffers", "for a tile", 2.0),
    "instructions": ("Instructions", "in the assembly text", 1.5),
}
# Facts that are told where the assembly was not compared line by line, and how much they matter.
_TEXTS = {
    "global_loads": ("Global loads", 5.0),
    "global_stores": ("Global stores", 4.0),
    "matrix": ("Matrix instructions", 3.0),
    "async_copies": ("Asynchronous copies", 2.0),
}
# ptxas gives a thread no more, and reports few where it gave up and spilled nearly everything.
_MOST_REGISTERS = 255
_GAVE_UP_REGISTERS, _GAVE_UP_STACK = 40, 1024


def findings(
    a: Variant, b: Variant, facts_a: Facts, facts_b: Facts, diffs: Mapping[str, StageDiff]
) -> list[Finding]:
    """What matters about B compared with A, most important first.

    `diffs` are the stages that were compared, by name; with more of them more can be said. A fact that
    is not known on one side says nothing.
    """
    found = [*_launch("A", a, facts_a), *_launch("B", b, facts_b)]
    if are_duplicates(a, b, facts_a, facts_b):
        text = "The machine code is identical: A and B are the same program, measuring both tells nothing"
        found.append(Finding(text, 500, "identical"))
    found += _spills(facts_a, facts_b)
    found += _warnings(a, b)
    found += _registers(facts_a, facts_b)
    found += _occupancy(facts_a, facts_b)
    found += _numbers(facts_a, facts_b)
    assembly = diffs.get("ptx") or diffs.get("amdgcn")
    if assembly:
        found += line_findings(a, b, assembly, diffs.get("ttgir"), diffs.get("ttir"))
    else:
        found += _texts(facts_a, facts_b)
    if "ttgir" in diffs:
        found += [_layout(change) for change in diffs["ttgir"].layouts]
    found += _first_difference(b, diffs)
    return sorted(found, key=lambda finding: -finding.weight)


def _value(facts: Facts, name: str) -> float | None:
    value = facts[name].value if name in facts else None
    return value if isinstance(value, int | float) else None


def _both(facts_a: Facts, facts_b: Facts, name: str) -> tuple[float, float] | None:
    """The fact's two numbers; None where one is not known."""
    a, b = _value(facts_a, name), _value(facts_b, name)
    return None if a is None or b is None else (a, b)


def _evidence(facts: Facts, name: str) -> tuple[Evidence, ...]:
    return facts[name].evidence if name in facts else ()


def _launch(side: str, variant: Variant, facts: Facts) -> Iterator[Finding]:
    if variant.failure is not None:
        text = f"{side} did not compile: {variant.failure.kind}: {variant.failure.summary}"
        yield Finding(text, 1100, "launch")
        return
    status = status_of(variant, facts)
    if status is not None and not status.ok:
        yield Finding(f"{side} cannot launch on {variant.target}: {status.reason}", 1000, "launch")


def _spills(facts_a: Facts, facts_b: Facts) -> Iterator[Finding]:
    """Stack with all that is known of it: nothing where neither side has any or both have the same."""
    stack = _both(facts_a, facts_b, "stack")
    if stack is None or stack[0] == stack[1]:
        return
    a, b = stack
    if a == 0:
        text = f"B spills and A does not: {_spill_text(facts_b)}"
    elif b == 0:
        text = f"A spills and B does not: {_spill_text(facts_a)}"
    else:
        text = f"Both spill; A: {_spill_text(facts_a)}; B: {_spill_text(facts_b)}"
    evidence = _evidence(facts_a, "stack"), _evidence(facts_b, "stack")
    yield Finding(text, 20 * max(effect(a + 8, b + 8), 0.2), "spills", *evidence)


def _spill_text(facts: Facts) -> str:
    parts = [f"{_value(facts, 'stack'):,} bytes of stack a thread"]
    stores, loads = _value(facts, "spill_store_bytes"), _value(facts, "spill_load_bytes")
    if stores is not None and loads is not None:
        parts.append(f"{stores:,} bytes of spill stores and {loads:,} of loads")
    registers = _value(facts, "registers")
    if registers is None:
        return ", ".join(parts)
    if registers <= _GAVE_UP_REGISTERS and (_value(facts, "stack") or 0) >= _GAVE_UP_STACK:
        return f"{', '.join(parts)}; its {registers:,} registers mean that the register allocator gave up"
    limit = ", the limit" if registers == _MOST_REGISTERS else ""
    return f"{', '.join(parts)}, with {registers:,} registers{limit}"


def _registers(facts_a: Facts, facts_b: Facts) -> Iterator[Finding]:
    """Registers, never without the stack that they may have been saved to."""
    registers = _both(facts_a, facts_b, "registers")
    stack = _both(facts_a, facts_b, "stack")
    if registers is None or stack is None or registers[0] == registers[1]:
        return
    text = f"Registers went from {registers[0]:,} to {registers[1]:,} a thread, {_stack_text(stack)}"
    yield Finding(text, 3 * effect(*registers), "registers")


def _stack_text(stack: tuple[float, float]) -> str:
    if stack == (0, 0):
        return "both without stack"
    return f"with {stack[0]:,} and {stack[1]:,} bytes of stack"


def _occupancy(facts_a: Facts, facts_b: Facts) -> Iterator[Finding]:
    fractions = _both(facts_a, facts_b, "occupancy")
    blocks = _both(facts_a, facts_b, "blocks_per_sm")
    # A variant that cannot launch has no occupancy to compare.
    if fractions is None or blocks is None or fractions[0] == fractions[1] or 0 in fractions:
        return
    limits = [facts["limiter"].value for facts in (facts_a, facts_b)]
    limited = (
        f"limited by {limits[0]}" if limits[0] == limits[1] else f"limited by {limits[0]}, then {limits[1]}"
    )
    text = (
        f"Theoretical occupancy went from {format_fraction(fractions[0])} to {format_fraction(fractions[1])} "
        f"({blocks[0]:,} and {blocks[1]:,} blocks a multiprocessor), {limited}"
    )
    yield Finding(text, 8 * effect(fractions[0] * 64, fractions[1] * 64), "occupancy")


def _warnings(a: Variant, b: Variant) -> Iterator[Finding]:
    """What ptxas itself says of one side only."""
    for side, own, other in (("A", a, b), ("B", b, a)):
        for warning in ptxas_warnings(own.log):
            if other.log is not None and warning not in ptxas_warnings(other.log):
                yield Finding(f"ptxas says of {side}: {warning}", 30, "ptxas")


def _numbers(facts_a: Facts, facts_b: Facts) -> Iterator[Finding]:
    for name, (what, unit, importance) in _NUMBERS.items():
        values = _both(facts_a, facts_b, name)
        if values is None or values[0] == values[1]:
            continue
        text = f"{what} went from {values[0]:,} to {values[1]:,} {unit}".rstrip()
        evidence = _evidence(facts_a, name), _evidence(facts_b, name)
        yield Finding(text, importance * effect(*values), name, *evidence)


def _texts(facts_a: Facts, facts_b: Facts) -> Iterator[Finding]:
    for name, (what, weight) in _TEXTS.items():
        a, b = (facts[name].value if name in facts else None for facts in (facts_a, facts_b))
        if a is not None and b is not None and a != b:
            evidence = _evidence(facts_a, name), _evidence(facts_b, name)
            yield Finding(f"{what} went from {a} to {b}", weight, name, *evidence)


def _layout(change: LayoutChange) -> Finding:
    """One layout, field by field: "#mma instrShape [16, 64, 16] -> [16, 32, 16]"."""
    left, right = change.left, change.right
    evidence_a = (Evidence("ttgir", left.line),) if left else ()
    evidence_b = (Evidence("ttgir", right.line),) if right else ()
    if left and right:
        moved = ", ".join(f"{name} {a} -> {b}" for name, a, b in change.fields)
        # Layouts of two kinds have no fields to compare one by one.
        text = f"{left.alias} {moved if left.kind == right.kind else f'{left.kind} -> {right.kind}'}"
    elif right:
        text = f"Only B has the layout {right.alias}, {right.kind}"
    else:
        text = f"Only A has the layout {left.alias}, {left.kind}" if left else "A layout changed"
    return Finding(text, 2 + 0.1 * effect(1, 1 + change.uses), "layout", evidence_a, evidence_b)


def _first_difference(variant: Variant, diffs: Mapping[str, StageDiff]) -> Iterator[Finding]:
    """The first of the compared stages that differs in more than shapes, or that none does."""
    order = [stage.name for stage in stages_for(variant.target.backend) if stage.name in diffs]
    if len(order) < 2:
        return
    first = next((name for name in order if diffs[name].structural), None)
    if first is None:
        shapes = "" if all(diffs[name].equal for name in order) else " but for shapes and constants"
        yield Finding(f"Equal{shapes} in all compared stages: {', '.join(order)}", 1, "stages")
        return
    diff = diffs[first]
    text = f"The first stage compared that differs in more than shapes is {first}: {_summary(diff)}"
    rows = [row for row in diff.rows if row.change.structural][:1]
    evidence_a = tuple(Evidence(first, row.left) for row in rows if row.left is not None)
    evidence_b = tuple(Evidence(first, row.right) for row in rows if row.right is not None)
    yield Finding(text, 1, "stages", evidence_a, evidence_b)


def _summary(diff: StageDiff) -> str:
    counts = [f"{n:,} {str(kind.name).lower()}" for kind, n in diff.counts.items() if n and kind.name]
    layouts = len(diff.layouts)
    return ", ".join([*counts, *([f"{layouts} layout{'s' if layouts > 1 else ''}"] if layouts else [])])
