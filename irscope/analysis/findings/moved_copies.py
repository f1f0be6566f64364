"""Gives asynchronous copies that lost their source line the line of their load.

Warp specialization on cuda:90 moves the loads of a loop into a group of warps of their own and gives them the
location of the kernel:

    a = a_desc.load([row, k])    ->    ttng.async_tma_copy_global_to_local %a_desc_25[...]   (line of `def`)

On cuda:100, the copy of a tile that is transposed has the line of the matrix product. By source line, these
loads would have disappeared. Their descriptor still names the load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irscope.analysis.instruction_mix import InstructionMix, KernelPlace
from irscope.analysis.source_map import kernel_place
from irscope.analysis.vectorization import descriptor_name
from irscope.languages.document import Document

Mixes = Mapping[tuple[str, KernelPlace], InstructionMix]

_COPY = "async copy"
_TMA_LOAD = "cp.async.bulk.tensor load"
_MOVED = ("ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather")
_LOADS = ("tt.descriptor_load", "tt.descriptor_gather")


def located_copies(
    a: Mixes, b: Mixes, stages: Mapping[str, tuple[Document, Document]]
) -> tuple[Mixes, Mixes]:
    """`a` and `b` with asynchronous copies at the lines of their loads, if the other stages name them.

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
    kernel = _kernel_place(ttgir)
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
    moved: InstructionMix, places: Sequence[KernelPlace], found: dict[tuple[str, KernelPlace], InstructionMix]
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
    whole = InstructionMix()
    for (kind, _), mix in mixes.items():
        if kind == _COPY:
            for own, number in mix.counts.items():
                whole.counts[own] = whole.counts.get(own, 0) + number
            whole.lines += mix.lines
    rest = {key: mix for key, mix in mixes.items() if key[0] != _COPY}
    return {**rest, (_COPY, None): whole}


def _kernel_place(ttgir: Document | None) -> KernelPlace:
    """The place of the kernel itself: the line of its `def`."""
    operations = ttgir.operations if ttgir else ()
    return next((kernel_place(one.location) for one in operations if one.opcode == "tt.func"), None)


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
