"""Findings by source line: what the instructions of one line of the kernel do in A and in B."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from irscope.analysis.cache_key import constexpr_values
from irscope.analysis.findings.finding import Finding, PairContext, assembly_diff
from irscope.analysis.findings.instead import instead
from irscope.analysis.findings.moved_copies import located_copies
from irscope.analysis.findings.paired_lines import Key, paired_lines
from irscope.analysis.findings.region_text import change_text, explained, loop_mixes
from irscope.analysis.findings.severity import Severity, effect
from irscope.analysis.findings.unchanged import Unchanged
from irscope.analysis.global_accesses import WIDEST
from irscope.analysis.instruction_mix import (
    InstructionMix,
    KernelPlace,
    helpers_of,
    instructions_by_line,
    mean_width,
    place_subject,
    place_text,
    statement_text,
)
from irscope.analysis.loop_mix import Counts, RegionCounts
from irscope.analysis.loop_regions import Where
from irscope.analysis.source_map import kernel_place
from irscope.analysis.vectorization import MemoryUse, memory_use, strides_text
from irscope.backends.instructions import InstructionKind
from irscope.diff.rows import StageDiff
from irscope.facts.registry import (
    ASYNC_COPIES,
    GLOBAL_LOADS,
    GLOBAL_STORES,
    MATRIX,
    SHARED_LOADS,
    SHARED_STORES,
)
from irscope.languages.document import Document
from irscope.model import Variant

# How severe another width or name of each kind of instruction is, and the kind's name.
_KINDS = {
    "global load": (Severity.MEMORY, GLOBAL_LOADS.label),
    "global store": (Severity.MEMORY, GLOBAL_STORES.label),
    "scalar load": (Severity.MEMORY, "Scalar loads"),
    "matrix": (Severity.MEMORY, MATRIX.label),
    "async copy": (Severity.MEMORY, ASYNC_COPIES.label),
    "shared load": (Severity.RESOURCES, SHARED_LOADS.label),
    "shared store": (Severity.RESOURCES, SHARED_STORES.label),
    "local load": (Severity.SPILLS, "Local memory loads"),
    "local store": (Severity.SPILLS, "Local memory stores"),
}

# Operations of TTGIR that access global memory: tt.load, amdg.buffer_store, ttg.async_copy_...
_MEMORY_OPERATION = re.compile(r"load|store|copy")
# A layout in a type, and the dimension that a slice of it lacks: `#ttg.slice<{dim = 1, parent = #blocked}>`.
_LAYOUT = re.compile(r"(?:dim = (\d+), parent = )?(#\w+)")
_ALIAS = re.compile(r"#\w+")
_HEADER = re.compile(r"(?:def|for)\b")


def line_findings(pair: PairContext) -> Iterator[Finding]:
    """A finding for each source line and kind of instruction that differ, unless the assembly is equal.

    With the TTGIR diff, a finding about another width includes the layout that changed on the same line;
    with the TTIR diff, it names the arguments and what keeps an access narrow.
    """
    assembly, ttgir, ttir = assembly_diff(pair), pair.diffs.get("ttgir"), pair.diffs.get("ttir")
    if assembly is None or assembly.equal:
        return
    stage = assembly.stage
    left, right = instructions_by_line(assembly.left, stage), instructions_by_line(assembly.right, stage)
    use_a = memory_use(pair.a, ttir.left, left) if ttir else MemoryUse()
    use_b = memory_use(pair.b, ttir.right, right) if ttir else MemoryUse()
    stages = {diff.stage: (diff.left, diff.right) for diff in (ttir, ttgir) if diff}
    left, right = located_copies(left, right, stages)
    left, use_a = paired_lines(left, right, use_a, use_b)
    mixes = loop_mixes(pair)
    unchanged = Unchanged()
    for kind, place in sorted(left.keys() | right.keys(), key=repr):
        if kind not in _KINDS:
            continue
        key = kind, place
        was, now = left.get(key, InstructionMix()), right.get(key, InstructionMix())
        because = _because(use_a.narrow.get(key), use_b.narrow.get(key))
        if not because and was.width != now.width:
            strides = _strides(use_a, key, pair.b), _strides(use_b, key, pair.a)
            because = _because(*strides) if "" in strides else ""
        pointers = use_b.pointers.get(key) or use_a.pointers.get(key, "")
        helpers = _helpers(pair, assembly, was, now)
        what = f"{pair.in_words(_KINDS[kind][1])} {_place_text(pair, key, pointers, helpers)}"
        evidence = was.evidence(stage), now.evidence(stage)
        regions = mixes[0].counts(kind, was.lines), mixes[1].counts(kind, now.lines)
        work = tuple(mix.per_iteration(counts) for mix, counts in zip(mixes, regions, strict=True))
        if work[0] == work[1]:
            if because:
                stays = f"{what} stay {was.width}-byte", _narrow_weight(was.width), kind
                unchanged.add(because, Finding(*stays, *evidence, subject=place_subject(place)))
            continue
        same_kinds = was.counts.keys() == now.counts.keys()
        # The count of cp.async is part of the global loads already.
        if same_kinds and kind == "async copy" and not _bulk(was):
            continue
        text = f"{what}: {change_text(*regions, mixes)}{pair.in_words(instead(key, left, right))}"
        layout = _layout_text(ttgir, place) if ttgir and not same_kinds and kind.startswith("global") else ""
        covers = frozenset(f"layout {alias}" for alias in _ALIAS.findall(layout))
        weight = _weight(kind, _hottest(work[0]), _hottest(work[1]))
        if because:
            weight = max(weight, _narrow_weight(max(was.width, now.width)))
        covered = not because and (explained(*regions, mixes) or _is_the_compilers(pair, key))
        subject = place_subject(place)
        yield Finding(text + layout + because, weight, kind, *evidence, subject, covers, covered)
    yield from unchanged.findings()


def _helpers(pair: PairContext, assembly: StageDiff, a: InstructionMix, b: InstructionMix) -> Sequence[str]:
    """Return the names of the helpers whose instructions these are, on either side."""
    of_b = helpers_of(b.lines, assembly.right, pair.b.kernel, pair.b.kernel)
    of_a = helpers_of(a.lines, assembly.left, pair.b.kernel, pair.a.kernel)
    return list(dict.fromkeys((*of_b, *of_a)))


def _place_text(pair: PairContext, key: Key, pointers: str, helpers: Sequence[str]) -> str:
    """The place of a finding as its sentence has it: `of x_ptr (line 14: x = tl.load(x_ptr))`."""
    of = "the kernel" if key == ("async copy", None) else pointers
    return place_text(key[1], pair.kernel_with(key[1]), of, helpers)


def _is_the_compilers(pair: PairContext, key: Key) -> bool:
    """Check whether the compiler added an access: `def` and `for` themselves access no shared memory.

    It passes captured values to groups of warps and reads the address of tensor memory there.
    """
    kind, place = key
    if place is None or not kind.startswith("shared"):
        return False
    return _HEADER.match(statement_text(place, pair.kernel_with(place))) is not None


def _hottest(counts: RegionCounts) -> Counts:
    """The counts in a loop if there are any; else all."""
    inside = [own for region, own in counts.items() if region.where is Where.IN]
    total: dict[InstructionKind, int] = {}
    for own in inside or counts.values():
        for kind, number in own.items():
            total[kind] = total.get(kind, 0) + number
    return total


def _strides(use: MemoryUse, key: tuple[str, KernelPlace], other: Variant) -> str:
    """Return why an access is narrow if it would be wide with a stride of 1; "" if it would not."""
    ones = [name for name, value in constexpr_values(other).items() if value == 1]
    return strides_text(use.strided.get(key, ()), ones)


def _because(a: str | None, b: str | None) -> str:
    """Why A, B or both are narrower than they could be."""
    if a and a == b:
        return f"; both are narrow because {a}"
    sides = [f"; {side} is narrow because {reason}" for side, reason in (("A", a), ("B", b)) if reason]
    return "".join(sides)


def _narrow_weight(width: int) -> float:
    """The weight of an access that could be wider."""
    return Severity.LAYOUT.weight(effect(width, WIDEST))


def _bulk(work: InstructionMix) -> bool:
    return any("bulk" in own.name for own in work.counts)


def _layout_text(ttgir: StageDiff, place: KernelPlace) -> str:
    """Return how many elements per thread the layouts of the place's memory operations have, if that changed.

    Layouts of two kinds have no common fields, and a slice lacks a dimension of its parent.
    """
    left, right = _memory_layouts(ttgir.left, place), _memory_layouts(ttgir.right, place)
    changes: list[str] = []
    for change in ttgir.layouts:
        a, b = change.left, change.right
        if not a or not b or a.kind != b.kind:
            continue
        dimensions = {lacking for lacking, alias in left if alias == a.alias}
        dimensions &= {lacking for lacking, alias in right if alias == b.alias}
        for name, x, y in change.fields:
            if name == "sizePerThread" and any(_without(x, n) != _without(y, n) for n in dimensions):
                changes.append(f"{a.alias} {name} {x} -> {y}")
    return f" ({', '.join(changes)})" if changes else ""


def _memory_layouts(document: Document, place: KernelPlace) -> set[tuple[str, str]]:
    """Return the aliases in the types of a place's loads, stores and copies.

    Each is with the dimension that a slice of the layout lacks, "" if it is not sliced.
    """
    lines = [
        document.lines[operation.line]
        for operation in document.operations
        if _MEMORY_OPERATION.search(operation.opcode) and kernel_place(operation.location) == place
    ]
    return {layout for line in lines for layout in _LAYOUT.findall(line)}


def _without(sizes: str, dimension: str) -> list[str]:
    """Return the items of `[1, 4]` without the one of a dimension."""
    items = sizes.strip("[]").split(", ")
    return [item for index, item in enumerate(items) if str(index) != dimension]


def _weight(kind: str, a: Counts, b: Counts) -> float:
    """Depends on the width of an access or the kind of an instruction; counts matter little."""
    severity = _KINDS[kind][0]
    number = effect(sum(a.values()), sum(b.values()))
    if not a or not b:
        return severity.weight()
    if a.keys() == b.keys():
        return Severity.COUNT.weight(number)
    if any(own.width for own in (*a, *b)):
        width = effect(mean_width(a), mean_width(b))
        return severity.weight(width) if width else Severity.COUNT.weight()
    return severity.weight()
