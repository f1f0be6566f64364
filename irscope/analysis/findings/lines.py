"""Findings by source line: what the instructions of one line of the kernel do in A and in B."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from irscope.analysis.findings.finding import Finding, PairContext, assembly_diff, effect
from irscope.analysis.global_accesses import WIDEST
from irscope.analysis.instruction_mix import (
    InstructionMix,
    KernelPlace,
    instructions_by_line,
    place_text,
)
from irscope.analysis.source_map import kernel_place
from irscope.analysis.vectorization import MemoryUse, memory_use
from irscope.backends.instructions import InstructionKind
from irscope.diff.rows import StageDiff
from irscope.facts.registry import (
    ASYNC_COPIES,
    GLOBAL_LOADS,
    GLOBAL_STORES,
    LOAD_WIDTH,
    MATRIX,
    SHARED_LOADS,
    SHARED_STORES,
    STORE_WIDTH,
)
from irscope.languages.document import Document

# The weight of a doubling of each kind of instruction, and its name.
_KINDS = {
    "global load": (LOAD_WIDTH.weight, GLOBAL_LOADS.label),
    "global store": (STORE_WIDTH.weight, GLOBAL_STORES.label),
    "matrix": (5.0, MATRIX.label),
    "async copy": (4.0, ASYNC_COPIES.label),
    "shared load": (3.0, SHARED_LOADS.label),
    "shared store": (3.0, SHARED_STORES.label),
    "local load": (6.0, "Local memory loads"),
    "local store": (6.0, "Local memory stores"),
}
# A change of the count only follows the size of the tile; a change of width or kind does not.
_NUMBER_ONLY = 0.1
# A width that neither side has counts less than one that A or B has.
_COULD_BE = 0.25

# Operations of TTGIR that access global memory: tt.load, amdg.buffer_store, ttg.async_copy_...
_MEMORY_OPERATION = re.compile(r"load|store|copy")
_ALIAS = re.compile(r"#\w+")


def line_findings(pair: PairContext) -> Iterator[Finding]:
    """A finding for each source line and kind of instruction that differ, unless the assembly is equal.

    With the TTGIR diff, a finding about another width includes the layout that changed on the same line;
    with the TTIR diff, it names the arguments and what keeps an access narrow.
    """
    assembly, ttgir, ttir = assembly_diff(pair), pair.diffs.get("ttgir"), pair.diffs.get("ttir")
    if assembly is None or assembly.equal:
        return
    a, b, stage = pair.a, pair.b, assembly.stage
    left, right = instructions_by_line(assembly.left, stage), instructions_by_line(assembly.right, stage)
    use_a = memory_use(a, ttir.left, left) if ttir else MemoryUse()
    use_b = memory_use(b, ttir.right, right) if ttir else MemoryUse()
    for kind, place in sorted(left.keys() | right.keys(), key=repr):
        if kind not in _KINDS:
            continue
        key = kind, place
        was, now = left.get(key, InstructionMix()), right.get(key, InstructionMix())
        same_kinds = was.counts.keys() == now.counts.keys()
        pointers = use_b.pointers.get(key) or use_a.pointers.get(key, "")
        kernel = a.kernel if place and place.removed else b.kernel
        what = f"{_KINDS[kind][1]} {place_text(place, kernel, pointers)}"
        because = _because(use_a.narrow.get(key), use_b.narrow.get(key))
        evidence = was.evidence(stage), now.evidence(stage)
        if was.counts == now.counts:
            if because:
                text = f"{what} stay {was.width}-byte{because}"
                yield Finding(text, _narrow_weight(kind, was.width), kind, *evidence)
            continue
        # The count of cp.async is part of the global loads already.
        if same_kinds and kind == "async copy" and not _bulk(was):
            continue
        text = f"{what}: {_counts_text(was.counts)} -> {_counts_text(now.counts)}"
        if ttgir and not same_kinds and kind.startswith("global"):
            text += _layout_text(ttgir, place)
        weight = _weight(kind, was, now)
        if because:
            weight = max(weight, _narrow_weight(kind, max(was.width, now.width)))
        yield Finding(text + because, weight, kind, *evidence)


def _because(a: str | None, b: str | None) -> str:
    """Why A, B or both are narrower than they could be."""
    if a and a == b:
        return f"; both are narrow because {a}"
    sides = [f"; {side} is narrow because {reason}" for side, reason in (("A", a), ("B", b)) if reason]
    return "".join(sides)


def _narrow_weight(kind: str, width: int) -> float:
    """The weight of an access that could be wider."""
    return _KINDS[kind][0] * _COULD_BE * effect(width, WIDEST)


def _bulk(work: InstructionMix) -> bool:
    return any("bulk" in own.name for own in work.counts)


def _layout_text(ttgir: StageDiff, place: KernelPlace) -> str:
    """How many elements per thread the layouts of the place's memory operations have, if that changed."""
    left, right = _memory_layouts(ttgir.left, place), _memory_layouts(ttgir.right, place)
    changes = [
        f"{change.left.alias} {name} {a} -> {b}"
        for change in ttgir.layouts
        if change.left and change.right and change.left.alias in left and change.right.alias in right
        for name, a, b in change.fields
        if name == "sizePerThread"
    ]
    return f" ({', '.join(changes)})" if changes else ""


def _memory_layouts(document: Document, place: KernelPlace) -> set[str]:
    """The aliases in the types of the loads, stores and copies of a place."""
    lines = [
        document.lines[operation.line]
        for operation in document.operations
        if _MEMORY_OPERATION.search(operation.opcode) and kernel_place(operation.location) == place
    ]
    return {alias for line in lines for alias in _ALIAS.findall(line)}


def _weight(kind: str, a: InstructionMix, b: InstructionMix) -> float:
    """Depends on the width of an access or the kind of an instruction; counts matter little."""
    importance = _KINDS[kind][0]
    number = effect(sum(a.counts.values()), sum(b.counts.values()))
    if not a.counts or not b.counts:
        return importance
    if a.counts.keys() == b.counts.keys():
        return importance * _NUMBER_ONLY * min(number, 10.0)
    if any(own.width for own in (*a.counts, *b.counts)):
        return importance * max(effect(_mean_width(a), _mean_width(b)), _NUMBER_ONLY)
    return importance * 0.5


def _mean_width(work: InstructionMix) -> float:
    total = sum(own.width * number for own, number in work.counts.items())
    return total / sum(work.counts.values())


def _counts_text(counts: Mapping[InstructionKind, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[0].width, item[0].name))
    return ", ".join(f"{n} x {own.name or f'{own.width}-byte'}" for own, n in ordered) or "none"
