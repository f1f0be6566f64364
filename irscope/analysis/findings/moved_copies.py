"""Gives asynchronous copies that lost their source line the line of their load.

Warp specialization on cuda:90 moves the loads of a loop into a group of warps of their own and gives them the
location of the kernel:

    a = a_desc.load([row, k])    ->    ttng.async_tma_copy_global_to_local %a_desc_25[...]   (line of `def`)

By source line, these loads would have disappeared. Their descriptor still names the load.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from irscope.analysis.instruction_mix import InstructionMix, KernelPlace
from irscope.analysis.source_map import kernel_place
from irscope.languages.document import Document, Operation

Mixes = Mapping[tuple[str, KernelPlace], InstructionMix]

_COPY = "async copy"
_TMA_LOAD = "cp.async.bulk.tensor load"
_MOVED = ("ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather")
_LOADS = ("tt.descriptor_load", "tt.descriptor_gather")
# MLIR makes names of values unique with a number: %a_desc, %a_desc_25.
_NUMBER = re.compile(r"_\d+$")


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
    """The copies at the line of the kernel's `def` moved to the lines of their loads, or to None."""
    key = _COPY, _kernel_place(ttgir)
    if ttgir is None or key[1] is None or key not in mixes:
        return mixes
    found = {other: mix for other, mix in mixes.items() if other != key}
    moved = mixes[key]
    (kind, *others) = moved.counts
    places = _places(ttir, ttgir, key[1]) if ttir and not others and kind.name == _TMA_LOAD else []
    if not places or len(moved.lines) % len(places):
        found[_COPY, None] = moved
        return found
    # One operation becomes as many instructions as every other one.
    share = len(moved.lines) // len(places)
    for index, line in enumerate(sorted(moved.lines)):
        place = places[index // share]
        mix = found.get((_COPY, place), InstructionMix())
        counts = {**mix.counts, kind: mix.counts.get(kind, 0) + 1}
        found[_COPY, place] = InstructionMix(counts, [*mix.lines, line])
    return found


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


def _places(ttir: Document, ttgir: Document, kernel: KernelPlace) -> list[KernelPlace]:
    """The places of the loads that the copies at the kernel's line were made from, in order.

    Empty if a copy's descriptor is not a parameter, or several lines load from it.
    """
    loads: dict[str, set[KernelPlace]] = {}
    for operation in ttir.operations:
        if operation.opcode in _LOADS and operation.operands:
            loads.setdefault(operation.operands[0], set()).add(kernel_place(operation.location))
    moved = [one for one in ttgir.operations if one.opcode in _MOVED and kernel_place(one.location) == kernel]
    places = [loads.get(_descriptor(operation, loads), set()) for operation in moved]
    return [next(iter(own)) for own in places] if all(len(own) == 1 for own in places) else []


def _descriptor(operation: Operation, known: Mapping[str, object]) -> str:
    """The descriptor that an operation copies from, without the number that makes its name unique."""
    name = operation.operands[0] if operation.operands else ""
    return name if name in known else _NUMBER.sub("", name)
