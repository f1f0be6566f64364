"""Sentences about layouts: the elements of a thread, the order of a buffer, the conflicts of an access."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from irscope.layouts.linear import LinearLayout
from irscope.layouts.ownership import longest_run, ownership_summary, thread_elements
from irscope.layouts.shared import PLAIN, paddings
from irscope.layouts.tensors import Tensor

_WIDEST = 16  # bytes per thread and instruction


def describe_tensor(tensor: Tensor, layout: LinearLayout) -> list[str]:
    """Return the sentences next to the picture of a tensor."""
    if layout.in_registers:
        return _in_registers(tensor, layout)
    if "offset" in layout.bases:
        return _in_shared_memory(tensor, layout)
    rows, columns = layout.size("row"), layout.size("col")
    return [f"Tensor memory: {_count(rows, 'lane')} by {_count(columns, 'column')}."]


def _in_registers(tensor: Tensor, layout: LinearLayout) -> list[str]:
    owned = ownership_summary(layout)
    elements = owned.registers // owned.repeats
    text = [
        f"{_count(owned.warps, 'warp')} of {owned.lanes} lanes, {_count(elements, 'element')} per thread."
    ]
    if owned.blocks > 1:
        text[0] = f"{owned.blocks} blocks of {text[0]}"
    if owned.run > 1:
        size = owned.run * tensor.bits // 8
        width = f": {size} bytes of {tensor.element}" if size and not tensor.element.startswith("!") else ""
        most = "; one instruction moves at most 16" if width and size > _WIDEST else ""
        along = f"{owned.run} neighbors along dimension {owned.dimension}"
        text.append(f"{along} in consecutive registers{width}{most}.")
    else:
        text.append("No two neighbors in consecutive registers.")
    if owned.owners > 1:
        text.append(f"{owned.owners} threads hold each element.")
    if owned.repeats > 1:
        text.append(f"Each thread holds each of its elements {owned.repeats} times.")
    return text


def _in_shared_memory(tensor: Tensor, layout: LinearLayout) -> list[str]:
    size = prod(layout.shape) * tensor.bits // 8
    text = [f"{size:,} bytes of shared memory for {' x '.join(map(str, layout.shape))}."]
    buffers = prod(tensor.whole[: len(tensor.whole) - len(layout.shape)])
    if buffers > 1:
        text[0] = f"{buffers} buffers of {text[0]}"
    padding = paddings(tensor.attribute)
    if tensor.shape != tensor.whole:
        view = " x ".join(map(str, tensor.shape))
        text.append(f"A view of {view}; the picture shows the whole buffer.")
    text += [f"{_count(gap.amount, 'element')} of padding after every {gap.interval}." for gap in padding]
    fields = tensor.attribute.fields
    if tensor.attribute.flag(PLAIN):
        return [*text, "Shown without its swizzle or padding."]
    if tensor.attribute.kind in ("ttg.swizzled_shared", "ttg.amd_rotating_shared"):
        phases = fields.get("maxPhase", "1")
        text.append(
            "No swizzle: rows follow one another."
            if phases == "1"
            else f"Swizzled: groups of {fields.get('vec')} elements are permuted by row, in {phases} phases "
            f"of {fields.get('perPhase')} row{'s' if fields.get('perPhase') != '1' else ''} each."
        )
    if tensor.attribute.kind == "ttg.nvmma_shared":
        bytes_ = fields.get("swizzlingByteWidth", "0")
        text.append(
            "No swizzle." if bytes_ == "0" else f"Swizzled over {bytes_} bytes, 16 at a time, by row."
        )
    return text


def describe_thread(layout: LinearLayout, thread: int) -> list[str]:
    """List the elements that one thread of the block holds by register, a run of neighbors per line.

    Raises UnknownLayoutError if the thread does not exist.
    """
    warp, lane = divmod(thread, layout.size("lane"))
    elements = thread_elements(layout, warp, lane)
    dimension, run = longest_run(layout)
    lines = [f"Thread {thread} (warp {warp}, lane {lane}) holds:"]
    for first in range(0, len(elements), run):
        group = elements[first : first + run]
        registers = f"{first}-{first + len(group) - 1}" if len(group) > 1 else str(first)
        lines.append(f"  registers {registers}: {_elements(group, dimension)}")
    return lines


def _elements(group: Sequence[tuple[int, ...]], dimension: int) -> str:
    first, last = group[0], group[-1]
    return (
        "("
        + ", ".join(
            f"{a}-{b}" if index == dimension and a != b else str(a)
            for index, (a, b) in enumerate(zip(first, last, strict=True))
        )
        + ")"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
