"""The order in which `tt.reduce` and `tt.scan` combine the elements along an axis.

#blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [1, 4]}>, axis 1 of 1024
-> registers [0, 1, 2, 3, 512, 513, ...] one after another, then 32 lanes, then 4 warps
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from irscope.interpreting.unanswered import UnansweredError
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
