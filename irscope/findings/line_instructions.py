"""Findings by source line: what the instructions of one line of the kernel do in A and in B.

The instructions that access memory instead, if one side of a line has no instructions of a kind.

"Shared memory stores: 4 x 16-byte -> none" is true of the threads, but `cp.async` still writes shared memory.

Atomics by source line: their number, width, kind, scope and order.

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
from irscope.findings.finding import (
    Finding,
    FindingCause,
    PairContext,
    Severity,
    ValueChange,
    effect,
    evidence_pair,
)
from irscope.findings.loops import RegionChange, counts_text, loop_mixes, sum_counts
from irscope.languages.document import Document
from irscope.model import Variant
from irscope.model.records import grouped
from irscope.model.text import pluralize

Key = tuple[str, KernelPlace]
Mixes = Mapping[Key, InstructionMix]


def instead(key: Key, a: Mixes, b: Mixes) -> tuple[str, str] | None:
    """Return ("B", "writes shared memory by cp.async"): how a side without such instructions does the same.

    None if both sides have instructions of the kind, or if nothing replaces them.
    """
    for side, mixes, other in (("A", a, b), ("B", b, a)):
        if key not in mixes and (way := _other_way(key, mixes, other)):
            return side, way
    return None


def _other_way(key: Key, mixes: Mixes, other: Mixes) -> str:
    kind, place = key
    copies = sorted(copy.name for copy in mixes.get(("async copy", place), InstructionMix()).counts)
    loads = [name.removesuffix(" load") for name in copies if "store" not in name]
    stores = [name.removesuffix(" store") for name in copies if "store" in name]
    direct, kinds = _direct(mixes), {kind for kind, _ in mixes}
    ways = {
        "global load": (
            "loads once per wave by s_load"
            if ("scalar load", place) in mixes
            else f"loads by {loads[0]}"
            if loads
            else ""
        ),
        "global store": (
            f"stores by {stores[0]}"
            if stores
            else "writes by atomics only"
            if "global atomic" in kinds and kind not in kinds
            else ""
        ),
        "shared store": f"writes shared memory by {loads[0]}" if loads else "",
        "shared load": f"reads shared memory by {direct}" if direct and not _direct(other) else "",
    }
    return ways.get(kind, "")


def _direct(mixes: Mixes) -> str:
    """Return the matrix instruction that reads shared memory itself; "" if there is none."""
    names = [own.name for (kind, _), mix in mixes.items() if kind == "matrix" for own in mix.counts]
    return next((name.partition(".")[0] for name in names if name.startswith(("wgmma", "tcgen05"))), "")


def _unchanged_accesses(by_reason: Mapping[tuple[FindingCause, ...], Sequence[Finding]]) -> Iterator[Finding]:
    """Yield the first narrow access for each reason, which counts the others, then these as covered."""
    for accesses in by_reason.values():
        first, *others = sorted(accesses, key=lambda access: (-access.weight, access.kind, access.what))
        too = [FindingCause("other accesses", (pluralize(len(others), "other access"),))] if others else []
        yield replace(first, causes=(*first.causes, *too))
        yield from (replace(other, covered=True) for other in others)


def paired_lines(a: Mixes, b: Mixes, use_a: MemoryUse, use_b: MemoryUse) -> tuple[Mixes, MemoryUse]:
    """Return A's instructions and memory use with its removed lines as the lines of B that do the same.

    Lines correspond if they have instructions of one kind, access the same arguments, and each side has
    equally many of them. Without arguments, only lines that B does not have are the same work elsewhere; with
    them, those of the other branch of a condition are too.
    """
    gone = [key for key in a if key not in b and key[1] and (key[1].removed or use_a.pointers.get(key))]
    new = _by_work([key for key in b if key not in a and key[1] is not None], use_b)
    keys: dict[Key, Key] = {}
    for work, lines in _by_work(gone, use_a).items():
        if len(lines) == len(new.get(work, ())):
            keys.update(zip(lines, new[work], strict=True))
    pointers = {keys.get(key, key): text for key, text in use_a.pointers.items()}
    narrow = {keys.get(key, key): text for key, text in use_a.narrow.items()}
    strided = {} if keys else use_a.strided
    return {keys.get(key, key): mix for key, mix in a.items()}, MemoryUse(pointers, narrow, strided)


def _by_work(keys: Iterable[Key], use: MemoryUse) -> dict[tuple[str, str], list[Key]]:
    """Return the keys by kind and pointers, in the order of their lines."""
    ordered = sorted(keys, key=lambda key: key[1][:2] if key[1] else ("", 0))
    return grouped(ordered, lambda key: (key[0], use.pointers.get(key, "")))


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
    documents = [stages.get(name, (None, None)) for name in ("ttir", "ttgir")]
    ours, theirs = (_located(mixes, *sides) for mixes, *sides in zip((a, b), *documents, strict=True))
    if (_COPY, None) in ours or (_COPY, None) in theirs:
        return _merged(ours), _merged(theirs)
    return ours, theirs


def _located(mixes: Mixes, ttir: Document | None, ttgir: Document | None) -> Mixes:
    """Move the copies to the lines of their loads, those of the kernel's `def` line to None if unknown."""
    if ttgir is None:
        return mixes
    located = dict(mixes)
    for place, places in _places_of_copies(ttgir, _places_of_loads(ttir) if ttir else {}).items():
        moved = mixes.get((_COPY, place))
        if moved is None or all(other == place for other in places):
            continue
        if [kind.name for kind in moved.counts] == [_TMA_LOAD] and not len(moved.lines) % len(places):
            del located[_COPY, place]
            # In order: one operation becomes as many instructions as every other one.
            share, (kind,) = len(moved.lines) // len(places), moved.counts
            for index, line in enumerate(sorted(moved.lines)):
                key = _COPY, places[index // share]
                copies = [located[key]] if key in located else []
                located[key] = _sum([*copies, InstructionMix({kind: 1}, [line])])
    # The place of the kernel itself: the line of its `def`.
    functions = (operation for operation in ttgir.operations if operation.opcode == "tt.func")
    kernel = next((kernel_place(function.location) for function in functions), None)
    if kernel is not None and (_COPY, kernel) in located:
        located[_COPY, None] = located.pop((_COPY, kernel))
    return located


def _sum(mixes: Sequence[InstructionMix]) -> InstructionMix:
    return InstructionMix(sum_counts(mix.counts for mix in mixes), [n for mix in mixes for n in mix.lines])


def _merged(mixes: Mixes) -> Mixes:
    """Return the instructions with all copies at the place None."""
    rest = {key: mix for key, mix in mixes.items() if key[0] != _COPY}
    return {**rest, (_COPY, None): _sum([mix for key, mix in mixes.items() if key[0] == _COPY])}


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
    assembly, ttgir, ttir = pair.assembly, pair.diffs.get("ttgir"), pair.diffs.get("ttir")
    mixes = loop_mixes(pair, assembly.stage) if assembly and not assembly.equal else None
    if assembly is None or mixes is None:
        return
    stage = assembly.stage
    left, right = instructions_by_line(assembly.left, stage), instructions_by_line(assembly.right, stage)
    use_a = memory_use(pair.a, ttir.left, left) if ttir else MemoryUse()
    use_b = memory_use(pair.b, ttir.right, right) if ttir else MemoryUse()
    left, right = located_copies(left, right, {d.stage: (d.left, d.right) for d in (ttir, ttgir) if d})
    left, use_a = paired_lines(left, right, use_a, use_b)
    unchanged: dict[tuple[FindingCause, ...], list[Finding]] = defaultdict(list)
    for key in sorted(left.keys() | right.keys(), key=repr):
        if key[0] not in _KINDS:
            continue
        was, now = left.get(key, InstructionMix()), right.get(key, InstructionMix())
        change = RegionChange(mixes[0].counts(key[0], was.lines), mixes[1].counts(key[0], now.lines), mixes)
        because = _because(use_a.narrow.get(key), use_b.narrow.get(key))
        if not because and was.width != now.width:
            strides = _strides(use_a, key, pair.b), _strides(use_b, key, pair.a)
            because = _because(*strides) if "" in strides else ()
        pointers = use_b.pointers.get(key) or use_a.pointers.get(key, "")
        finding = _finding(pair, assembly, key, pointers, was, now)
        if change.work[0] == change.work[1]:
            if because:
                what, weight = f"{finding.what} stay {was.width}-byte", _narrow_weight(was.width)
                unchanged[because].append(replace(finding, what=what, weight=weight, causes=because))
            continue
        same_kinds = was.counts.keys() == now.counts.keys()
        # The count of cp.async is part of the global loads already.
        if same_kinds and key[0] == "async copy" and not any("bulk" in kind.name for kind in was.counts):
            continue
        layout = "" if not ttgir or same_kinds or key[0][:6] != "global" else _layout_text(ttgir, key[1])
        causes = list(because)
        if layout:
            causes.insert(0, FindingCause("remark", (layout,)))
        if replacement := instead(key, left, right):
            causes.insert(0, FindingCause("instead", (replacement[0], pair.in_words(replacement[1]))))
        weight = _weight(key[0], *map(_hottest, change.work))
        yield replace(
            finding,
            weight=max(weight, _narrow_weight(max(was.width, now.width))) if because else weight,
            covers=frozenset(f"layout {alias}" for alias in _ALIAS.findall(layout)),
            covered=not because and (change.is_explained() or _is_the_compilers(pair, key)),
            changes=change.changes,
            causes=tuple(causes),
        )
    yield from _unchanged_accesses(unchanged)


def _finding(
    pair: PairContext, assembly: StageDiff, key: Key, pointers: str, a: InstructionMix, b: InstructionMix
) -> Finding:
    """Return the finding about a line and kind without its changes: what it is about, and its lines.

    Its sentence has the place `of x_ptr (line 14: x = tl.load(x_ptr))`, and the helpers that it is in.
    """
    kind, place = key
    of_b = helpers_of(b.lines, assembly.right, pair.b.kernel, pair.b.kernel)
    of_a = helpers_of(a.lines, assembly.left, pair.b.kernel, pair.a.kernel)
    of = "the kernel" if key == ("async copy", None) else pointers
    where = place_text(place, pair.kernel_with(place), of, list(dict.fromkeys((*of_b, *of_a))))
    what = f"{pair.in_words(_KINDS[kind][1])} {where}"
    evidence = evidence_pair(assembly.stage, a.lines, b.lines)
    return Finding(what, 0, kind, *evidence, place_subject(place))


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


def _because(a: str | None, b: str | None) -> tuple[FindingCause, ...]:
    """Return why A, B or both are narrower than they could be."""
    if a and a == b:
        return (FindingCause("both narrow", (a,)),)
    return tuple(FindingCause("narrow", (side, reason)) for side, reason in (("A", a), ("B", b)) if reason)


def _narrow_weight(width: int) -> float:
    """Return the weight of an access that could be wider."""
    return Severity.LAYOUT.weight(effect(width, WIDEST))


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
    return ", ".join(changes)


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


_LABELS = {"global atomic": "Atomics", "shared atomic": "Shared memory atomics"}


def atomics(pair: PairContext) -> Iterator[Finding]:
    """Yield a finding per source line whose atomics differ: their number, width, kind, scope or order."""
    assembly = pair.assembly
    if assembly is None:
        return
    stage = assembly.stage
    left, right = (_atomics_by_line(side, stage) for side in (assembly.left, assembly.right))
    for kind, place in sorted(left.keys() | right.keys(), key=repr):
        a, b = left.get((kind, place), InstructionMix()), right.get((kind, place), InstructionMix())
        if a.counts != b.counts:
            order = _order_change(a, b)
            yield Finding(
                f"{pair.in_words(_LABELS[kind])} {place_text(place, pair.kernel_with(place))}",
                Severity.SEMANTICS.weight() if order else _atomics_weight(a, b),
                kind,
                *evidence_pair(stage, a.lines, b.lines),
                place_subject(place),
                changes=(ValueChange(counts_text(a.counts), counts_text(b.counts)),),
                causes=(FindingCause("remark", (order,)),) if order else (),
            )


def _atomics_by_line(document: Document, stage: str) -> Mapping[tuple[str, KernelPlace], InstructionMix]:
    by_line = instructions_by_line(document, stage)
    return {key: mix for key, mix in by_line.items() if key[0] in _LABELS}


def _order_change(a: InstructionMix, b: InstructionMix) -> str:
    """Return `scope gpu -> sys, order relaxed -> acq_rel`; "" if both have the same meaning."""
    notes = [
        f"{name} {' and '.join(sorted(was))} -> {' and '.join(sorted(now))}"
        for name in ("scope", "order")
        for was, now in [({getattr(kind, name) for kind in side.counts} - {""} for side in (a, b))]
        if was and now and was != now
    ]
    return ", ".join(notes)


def _atomics_weight(a: InstructionMix, b: InstructionMix) -> float:
    if not a.counts or not b.counts:
        return Severity.MEMORY.weight()
    if a.counts.keys() == b.counts.keys():
        return Severity.COUNT.weight(effect(sum(a.counts.values()), sum(b.counts.values())))
    return Severity.MEMORY.weight(effect(mean_width(a.counts), mean_width(b.counts)))
