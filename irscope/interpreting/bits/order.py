"""The order in which `tt.reduce` and `tt.scan` combine the elements along an axis.

#blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [1, 4]}>, axis 1 of 1024
-> registers [0, 1, 2, 3, 512, 513, ...] one after another, then 32 lanes, then 4 warps

Read in the assembly of Triton 3.7 to 3.9 for sm_90, sm_100, gfx942, gfx950 and gfx1201: a thread adds pairs
of elements at once where there is an instruction for two (add.f16x2, v_pk_add_f32), and a whole wave of AMD
adds in rows of 16 lanes first (v_add_f32_dpp row_shr:8, 4, 2, 1, row_bcast:15, 31).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from irscope.interpreting.stage_program import UnansweredError
from irscope.layouts.linear import LinearLayout


@dataclass(frozen=True)
class AxisOrder:
    """Which elements along an axis are in which register, lane and warp.

    Each has one element index per bit, the lowest bit of the register, lane or warp number first; bits that
    only repeat data, or that belong to another axis, are left out.
    """

    registers: tuple[int, ...]
    lanes: tuple[int, ...]
    warps: tuple[int, ...]

    @cached_property
    def grid(self) -> NDArray[np.int64]:
        """Return the index along the axis of each [register, lane, warp]."""
        grid = np.zeros((1, 1, 1), np.int64)
        for axis, steps in enumerate((self.registers, self.lanes, self.warps)):
            for step in steps:
                grid = np.concatenate([grid, grid ^ step], axis)
        return grid

    @property
    def counts(self) -> tuple[int, int, int]:
        """Return the number of registers per thread, lanes and warps."""
        return 1 << len(self.registers), 1 << len(self.lanes), 1 << len(self.warps)

    def in_rows(self, target: str, wave_bits: int) -> AxisOrder:
        """Return the order in which a whole wave of AMD adds, its last step as the lowest bit."""
        bits = [bit for bit in _ROW_BITS if bit < wave_bits][::-1]
        parts = [
            tuple(steps[bit] for bit in bits) if len(steps) == wave_bits else steps
            for steps in (self.lanes, self.warps)
        ]
        return AxisOrder(self.registers, *parts) if _SHIFTS_ROWS.match(target) else self

    def text(self, pairwise: bool) -> str:
        """Return the order in words: `4 values per thread, then 32 lanes, then 4 warps`."""
        registers, lanes, warps = self.counts
        values = "values per thread in pairs" if pairwise and registers > 2 else "values per thread"
        parts = [
            f"{count} {what}"
            for count, what in ((registers, values), (lanes, "lanes"), (warps, "warps"))
            if count > 1
        ]
        return ", then ".join(parts) or "1 value"


# The bits of the lane in the order in which a wave of AMD adds over them.
_ROW_BITS = (3, 2, 1, 0, 4, 5)
_SHIFTS_ROWS = re.compile(r"hip:gfx(?:9(?:0a|[4-9]).*|1[1-9]\d\d)$")
# The targets with instructions that add two elements, by the type.
_PAIRS = {
    "f16": re.compile(r"cuda:(?:9\d|\d{3})$|hip:"),
    "f32": re.compile(r"cuda:\d{3}$|hip:gfx(?:9(?:0a|[4-9]).*|125\d)$"),
}
# Of four elements, at least.
_FEWEST_BITS = 2


def adds_in_pairs(layout: LinearLayout, axis: int, target: str, element: str) -> bool:
    """Return True if a thread adds its even and odd elements side by side, from Triton 3.8 on."""
    steps = [step for step in layout.bases.get("register", ()) if any(step)]
    pattern = _PAIRS.get("f16" if element == "bf16" else element)
    if not steps or not steps[0][axis] or pattern is None or not pattern.match(target):
        return False
    return sum(step[axis] != 0 for step in steps) >= _FEWEST_BITS


def axis_order(layout: LinearLayout, axis: int) -> AxisOrder:
    """Return the order along an axis. Raises UnansweredError for a layout that is not separable."""
    parts: list[tuple[int, ...]] = []
    for name in ("register", "lane", "warp", "block"):
        steps = []
        for vector in layout.bases.get(name, ()):
            if vector[axis] and any(value for other, value in enumerate(vector) if other != axis):
                raise UnansweredError("a reduction over a layout that mixes axes")
            if vector[axis]:
                steps.append(vector[axis])
        parts.append(tuple(steps))
    if parts[3]:
        raise UnansweredError("a reduction over the blocks of a cluster")
    return AxisOrder(*parts[:3])


def scan_blocks(layout: LinearLayout, axis: int) -> tuple[int, int, int]:
    """Return how a scan cuts an axis: contiguous elements per thread, lanes, and blocks of both.

    Raises UnansweredError for a layout whose threads do not follow each other along the axis.
    """
    order = axis_order(layout, axis)
    size = layout.shape[axis]
    per_thread = _contiguous(order.registers, 1)
    lanes = _contiguous(order.lanes, per_thread)
    if 1 << len(order.lanes) != lanes:
        raise UnansweredError("a scan over a layout whose lanes are not in order")
    return per_thread, lanes, size // (per_thread * lanes)


def _contiguous(steps: Sequence[int], start: int) -> int:
    """Return how many elements follow each other at a distance of `start`."""
    count = 1
    for step in steps:
        if step != start * count:
            break
        count *= 2
    return count
