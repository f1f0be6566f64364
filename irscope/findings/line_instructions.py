"""Findings by source line: what the instructions of one line of the kernel do in A and in B.

The instructions that access memory instead, if one side of a line has no instructions of a kind.

"Shared memory stores: 4 x 16-byte -> none" is true of the threads, but `cp.async` still writes shared memory.

Accesses that are as narrow in B as in A: one finding per reason, and the others behind it.

Pairs the accesses of A's lines that B does not have with those of B's new lines: the same work, elsewhere.

    A, line 9:  b = tl.load(y + offs, mask=m)        B, line 8:  b = fetch(y, offs, n)

Counted line by line, 8 loads of y would have disappeared and 8 others appeared.

Gives asynchronous copies that lost their source line the line of their load.

Warp specialization on cuda:90 moves the loads of a loop into a group of warps of their own and gives them the
location of the kernel:

    a = a_desc.load([row, k])    ->    ttng.async_tma_copy_global_to_local %a_desc_25[...]   (line of `def`)

On cuda:100, the copy of a tile that is transposed has the line of the matrix product. By source line, these
loads would have disappeared. Their descriptor still names the load.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from irscope.diff.rows import StageDiff
from irscope.facts.accesses.global_accesses import (
    WIDEST,
    MemoryUse,
    descriptor_name,
    memory_use,
    strides_text,
)
from irscope.facts.instruction_mix import (
    InstructionMix,
    KernelPlace,
    helpers_of,
    instructions_by_line,
    mean_width,
    place_subject,
    place_text,
    statement_text,
)
from irscope.facts.loops.kernel_loops import Counts, RegionCounts
from irscope.facts.loops.loop_regions import Where
from irscope.facts.registry import (
    ASYNC_COPIES,
    GLOBAL_LOADS,
    GLOBAL_STORES,
    MATRIX,
    SHARED_LOADS,
    SHARED_STORES,
)
from irscope.facts.source.map import kernel_place
from irscope.findings.cache_key import constexpr_values
from irscope.findings.finding import Finding, PairContext, Severity, assembly_diff, effect
from irscope.findings.loops import explained, loop_mixes, region_changes, sum_counts
from irscope.languages.document import Document
from irscope.model import Variant
from irscope.model.text import pluralize

Key = tuple[str, KernelPlace]
Mixes = Mapping[Key, InstructionMix]


def instead(key: Key, a: Mixes, b: Mixes) -> str:
    """`; B writes shared memory by cp.async`: how a side without instructions of a kind does the same.

    "" if both sides have such instructions, or if nothing replaces them.
    """
    for side, own, other in (("A", a, b), ("B", b, a)):
        if key not in own and (way := _other_way(key, own, other)):
            return f"; {side} {way}"
    return ""


def _other_way(key: Key, own: Mixes, other: Mixes) -> str:
    kind, place = key
    copies = sorted(copy.name for copy in own.get(("async copy", place), InstructionMix()).counts)
    loads = [name.removesuffix(" load") for name in copies if "store" not in name]
    stores = [name.removesuffix(" store") for name in copies if "store" in name]
    if kind == "global load" and ("scalar load", place) in own:
        return "loads once per wave by s_load"
    if kind == "global load" and loads:
        return f"loads by {loads[0]}"
    if kind == "global store" and stores:
        return f"stores by {stores[0]}"
    if kind == "global store" and _has("global atomic", own) and not _has(kind, own):
        return "writes by atomics only"
    if kind == "shared store" and loads:
        return f"writes shared memory by {loads[0]}"
    direct = _direct(own)
    return (
        f"reads shared memory by {direct}" if kind == "shared load" and direct and not _direct(other) else ""
    )


def _has(kind: str, mixes: Mixes) -> bool:
    return any(own == kind for own, _ in mixes)


def _direct(mixes: Mixes) -> str:
    """Return the matrix instruction that reads shared memory itself; "" if there is none."""
    names = [own.name for (kind, _), mix in mixes.items() if kind == "matrix" for own in mix.counts]
    return next((name.partition(".")[0] for name in names if name.startswith(("wgmma", "tcgen05"))), "")


def _unchanged_accesses(by_reason: Mapping[str, Sequence[Finding]]) -> Iterator[Finding]:
    """Yield the first access that is narrow for each reason, which counts the others, then these as covered.

    The accesses are without their reason, which ends the sentence.
    """
    for reason, accesses in by_reason.items():
        first, *others = sorted(accesses, key=lambda access: (-access.weight, access.kind, access.what))
        too = f"; {pluralize(len(others), 'other access')} too" if others else ""
        yield replace(first, note=reason + too)
        yield from (replace(other, note=reason, covered=True) for other in others)


def paired_lines(a: Mixes, b: Mixes, use_a: MemoryUse, use_b: MemoryUse) -> tuple[Mixes, MemoryUse]:
    """Return A's instructions and memory use with its removed lines as the lines of B that do the same.

    Lines correspond if they have instructions of one kind, access the same arguments, and each side has
    equally many of them. Without arguments, only lines that B does not have are the same work elsewhere; with
    them, those of the other branch of a condition are too.
    """
    gone = _by_work((key for key in a if key not in b and _can_move(key, use_a)), use_a)
    new = _by_work((key for key in b if key not in a and key[1] is not None), use_b)
    keys: dict[Key, Key] = {}
    for work, own in gone.items():
        others = new.get(work, [])
        if len(own) == len(others):
            keys.update(zip(own, others, strict=True))
    if not keys:
        return a, use_a
    moved = {keys.get(key, key): mix for key, mix in a.items()}
    pointers = {keys.get(key, key): text for key, text in use_a.pointers.items()}
    narrow = {keys.get(key, key): text for key, text in use_a.narrow.items()}
    return moved, MemoryUse(pointers, narrow)


def _can_move(key: Key, use: MemoryUse) -> bool:
    return key[1] is not None and (key[1].removed or bool(use.pointers.get(key)))


def _line(key: Key) -> tuple[str, int]:
    return (key[1].file, key[1].line) if key[1] else ("", 0)


def _by_work(keys: Iterable[Key], use: MemoryUse) -> dict[tuple[str, str], list[Key]]:
    """Return the keys by kind and pointers, in the order of their lines."""
    found: dict[tuple[str, str], list[Key]] = {}
    for key in sorted(keys, key=_line):
        found.setdefault((key[0], use.pointers.get(key, "")), []).append(key)
    return found


_COPY = "async copy"
_TMA_LOAD = "cp.async.bulk.tensor load"
_MOVED = ("ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather")
_LOADS = ("tt.descriptor_load", "tt.descriptor_gather")


def located_copies(
    a: Mixes, b: Mixes, stages: Mapping[str, tuple[Document, Document]]
) -> tuple[Mixes, Mixes]:
    """Return `a` and `b` with asynchronous copies at the lines of their loads, if the other stages name them.

    `stages` has the documents of "ttir" and "ttgir". If a side has copies whose line remains unknown, the
    copies of both sides are those of the whole kernel (the place None), so that none seems to have moved.
    """
    sides = [
        _located(mixes, *(stages[name][index] if name in stages else None for name in ("ttir", "ttgir")))
        for index, mixes in enumerate((a, b))
    ]
    if any((_COPY, None) in mixes for mixes in sides):
        sides = [_merged(mixes) for mixes in sides]
    return sides[0], sides[1]


def _located(mixes: Mixes, ttir: Document | None, ttgir: Document | None) -> Mixes:
    """Move the copies to the lines of their loads, those of the kernel's `def` line to None if unknown."""
    if ttgir is None:
        return mixes
    # The place of the kernel itself: the line of its `def`.
    functions = (operation for operation in ttgir.operations if operation.opcode == "tt.func")
    kernel = next((kernel_place(function.location) for function in functions), None)
    loads = _places_of_loads(ttir) if ttir else {}
    found = dict(mixes)
    for place, places in _places_of_copies(ttgir, loads).items():
        if (_COPY, place) not in mixes or all(other == place for other in places):
            continue
        moved = mixes[_COPY, place]
        if [kind.name for kind in moved.counts] == [_TMA_LOAD] and not len(moved.lines) % len(places):
            del found[_COPY, place]
            _distribute(moved, places, found)
    if kernel is not None and (_COPY, kernel) in found:
        found[_COPY, None] = found.pop((_COPY, kernel))
    return found


def _distribute(
    moved: InstructionMix, places: Sequence[KernelPlace], found: dict[Key, InstructionMix]
) -> None:
    """Add copies to the places of their operations, in order.

    One operation becomes as many instructions as every other one.
    """
    (kind,) = moved.counts
    share = len(moved.lines) // len(places)
    for index, line in enumerate(sorted(moved.lines)):
        place = places[index // share]
        mix = found.get((_COPY, place), InstructionMix())
        counts = {**mix.counts, kind: mix.counts.get(kind, 0) + 1}
        found[_COPY, place] = InstructionMix(counts, [*mix.lines, line])


def _merged(mixes: Mixes) -> Mixes:
    """All copies at the place None."""
    copies = [mix for (kind, _), mix in mixes.items() if kind == _COPY]
    lines = [line for mix in copies for line in mix.lines]
    rest = {key: mix for key, mix in mixes.items() if key[0] != _COPY}
    return {**rest, (_COPY, None): InstructionMix(sum_counts(mix.counts for mix in copies), lines)}


def _places_of_loads(ttir: Document) -> Mapping[str, set[KernelPlace]]:
    """Return the places of the loads by each descriptor."""
    loads: dict[str, set[KernelPlace]] = {}
    for operation in ttir.operations:
        if operation.opcode in _LOADS and operation.operands:
            place = kernel_place(operation.location)
            loads.setdefault(descriptor_name(operation.operands[0]), set()).add(place)
    return loads


def _places_of_copies(
    ttgir: Document, loads: Mapping[str, set[KernelPlace]]
) -> Mapping[KernelPlace, Sequence[KernelPlace]]:
    """Return the places of the loads that the copies of each place were made from, in order.

    A place is left out if a copy's descriptor is not known, or several other lines load from it.
    """
    places: dict[KernelPlace, list[KernelPlace]] = {}
    unknown: set[KernelPlace] = set()
    for operation in ttgir.operations:
        if operation.opcode not in _MOVED:
            continue
        place = kernel_place(operation.location)
        own = loads.get(descriptor_name(operation.operands[0]) if operation.operands else "", set())
        if place in own:
            own = {place}
        if len(own) != 1:
            unknown.add(place)
        places.setdefault(place, []).extend(own)
    return {place: own for place, own in places.items() if place not in unknown and own}


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
    """Yield a finding for each source line and kind of instruction that differ, unless the assembly is equal.

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
    unchanged: dict[str, list[Finding]] = defaultdict(list)
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
                unchanged[because].append(Finding(*stays, *evidence, subject=place_subject(place)))
            continue
        same_kinds = was.counts.keys() == now.counts.keys()
        # The count of cp.async is part of the global loads already.
        if same_kinds and kind == "async copy" and not _bulk(was):
            continue
        layout = _layout_text(ttgir, place) if ttgir and not same_kinds and kind.startswith("global") else ""
        covers = frozenset(f"layout {alias}" for alias in _ALIAS.findall(layout))
        weight = _weight(kind, _hottest(work[0]), _hottest(work[1]))
        if because:
            weight = max(weight, _narrow_weight(max(was.width, now.width)))
        covered = not because and (explained(*regions, mixes) or _is_the_compilers(pair, key))
        subject = place_subject(place)
        changes = region_changes(*regions, mixes)
        note = f"{pair.in_words(instead(key, left, right))}{layout}{because}"
        yield Finding(what, weight, kind, *evidence, subject, covers, covered, changes, note)
    yield from _unchanged_accesses(unchanged)


def _helpers(pair: PairContext, assembly: StageDiff, a: InstructionMix, b: InstructionMix) -> Sequence[str]:
    """Return the names of the helpers whose instructions these are, on either side."""
    of_b = helpers_of(b.lines, assembly.right, pair.b.kernel, pair.b.kernel)
    of_a = helpers_of(a.lines, assembly.left, pair.b.kernel, pair.a.kernel)
    return list(dict.fromkeys((*of_b, *of_a)))


def _place_text(pair: PairContext, key: Key, pointers: str, helpers: Sequence[str]) -> str:
    """Return the place of a finding as its sentence has it: `of x_ptr (line 14: x = tl.load(x_ptr))`."""
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
    """Return the counts in a loop if there are any; else all."""
    inside = [own for region, own in counts.items() if region.where is Where.IN]
    return sum_counts(inside or counts.values())


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
    """Return the weight of an access that could be wider."""
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
