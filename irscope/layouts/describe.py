"""Layouts in sentences: what a tensor's layout means for threads, loads and copies, or in memory."""

from __future__ import annotations

from math import prod

from irscope.layouts.banks import Conflicts
from irscope.layouts.linear import LinearLayout
from irscope.layouts.ownership import summary
from irscope.layouts.shared import PLAIN, paddings
from irscope.layouts.tensors import Tensor

_WIDEST = 16  # bytes that one instruction of one thread moves


def sentences(tensor: Tensor, layout: LinearLayout) -> list[str]:
    """What is to be said of a tensor beside its picture."""
    if layout.in_registers:
        return _in_registers(tensor, layout)
    if "offset" in layout.bases:
        return _in_shared_memory(tensor, layout)
    rows, columns = layout.size("row"), layout.size("col")
    return [f"Tensor memory: {rows} lanes by {columns} columns."]


def _in_registers(tensor: Tensor, layout: LinearLayout) -> list[str]:
    told = summary(layout)
    own = told.registers // told.repeats
    found = [f"{_count(told.warps, 'warp')} of {told.lanes} lanes, {_count(own, 'element')} in each thread."]
    if told.blocks > 1:
        found[0] = f"{told.blocks} blocks of {found[0]}"
    if told.run > 1:
        size = told.run * tensor.bits // 8
        width = f": {size} bytes of {tensor.element}" if size and not tensor.element.startswith("!") else ""
        most = ", 16 of them at once at most" if width and size > _WIDEST else ""
        along = f"{told.run} neighbours along dimension {told.dimension}"
        found.append(f"{along} in registers next to each other{width}{most}.")
    else:
        found.append("No two neighbours in registers next to each other.")
    if told.holders > 1:
        found.append(f"Each element is held by {told.holders} threads.")
    if told.repeats > 1:
        found.append(f"Each thread holds each of its elements {told.repeats} times.")
    return found


def _in_shared_memory(tensor: Tensor, layout: LinearLayout) -> list[str]:
    size = prod(layout.shape) * tensor.bits // 8
    found = [f"{size:,} bytes of shared memory for {' x '.join(map(str, layout.shape))}."]
    buffers = prod(tensor.whole[: len(tensor.whole) - len(layout.shape)])
    if buffers > 1:
        found[0] = f"{buffers} buffers of {found[0]}"
    padding = paddings(tensor.attribute)
    if tensor.shape != tensor.whole:
        view = " x ".join(map(str, tensor.shape))
        found.append(f"A view of {view}; the picture is of the whole buffer.")
    found += [f"{one.amount} elements are left free after every {one.interval}." for one in padding]
    fields = tensor.attribute.fields
    if tensor.attribute.flag(PLAIN):
        return [*found, "As it would be without its swizzle or padding."]
    if tensor.attribute.kind in ("ttg.swizzled_shared", "ttg.amd_rotating_shared"):
        phases = fields.get("maxPhase", "1")
        found.append(
            "No swizzle: rows lie one behind the other."
            if phases == "1"
            else f"Swizzled: groups of {fields.get('vec')} elements change places by row, in {phases} ways, "
            f"each for {fields.get('perPhase')} row{'s' if fields.get('perPhase') != '1' else ''}."
        )
    if tensor.attribute.kind == "ttg.nvmma_shared":
        bytes_ = fields.get("swizzlingByteWidth", "0")
        found.append(
            "No swizzle." if bytes_ == "0" else f"Swizzled over {bytes_} bytes, 16 at a time, by row."
        )
    return found


def turns_text(conflicts: Conflicts) -> str:
    """`16 bytes a thread, no conflicts` or `..., 8-way conflicts: 64 turns where 8 would do`."""
    what = "8 rows of 16 bytes at once" if conflicts.kind == "matrix" else f"{conflicts.width} bytes a thread"
    if conflicts.width == 1:
        what = "1 byte a thread"
    return f"{what}, {ways_text(conflicts)}"


def ways_text(conflicts: Conflicts) -> str:
    """`no conflicts`, or `8-way conflicts: 64 turns where 8 would do`."""
    if conflicts.ways <= 1:
        return "no conflicts"
    return f"{conflicts.ways}-way conflicts: {conflicts.turns} turns where {conflicts.least} would do"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
