"""Instructions that exchange values between the threads of a warp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from irscope.estimating.counting.lanes import Array, Value
from irscope.estimating.counting.wavefronts import WARP

if TYPE_CHECKING:
    from irscope.estimating.counting.interpreter import Interpreter, Mask


def warp_operation(
    parts: Sequence[str], sources: Sequence[Value], state: Interpreter, active: Mask | None
) -> list[Value]:
    """The results of `shfl`, `elect`, `vote` and of a wait for an mbarrier, which always succeeds."""
    match parts[0]:
        case "shfl":
            return _shuffle(parts, sources, state)
        case "elect":
            leader = (np.arange(state.threads) % WARP == 0)[None, :]
            return [np.zeros((1, 1), np.int32), leader]
        case "mbarrier":
            return [np.ones((1, 1), bool)]
        case "activemask":
            return [np.full((1, 1), -1, np.int32)]
        case "vote":
            return _vote(parts, sources, state)
    return [None, None]


def _shuffle(parts: Sequence[str], sources: Sequence[Value], state: Interpreter) -> list[Value]:
    """`shfl.sync.MODE.b32`: value, lane or distance, clamp; within the whole warp."""
    value, by = sources[0], sources[1]
    if value is None or by is None:
        return [None, np.ones((1, 1), bool)]
    if value.shape[1] == 1:
        return [value, np.ones((1, 1), bool)]
    lane = np.arange(state.threads) % WARP
    amount = np.broadcast_to(by, (by.shape[0], state.threads))[0]
    target = {
        "idx": amount & 31, "bfly": lane ^ amount, "up": lane - amount, "down": lane + amount,
    }[parts[2] if parts[1] == "sync" else parts[1]]  # fmt: skip
    inside = (target >= 0) & (target < WARP)
    source = np.arange(state.threads) - lane + np.where(inside, target, lane)
    found: Array = value[:, source]
    return [found, inside[None, :]]


def _vote(parts: Sequence[str], sources: Sequence[Value], state: Interpreter) -> list[Value]:
    condition = sources[0]
    if condition is None:
        return [None]
    wide = np.broadcast_to(condition, (condition.shape[0], state.threads))
    by_warp = wide.reshape(condition.shape[0], -1, WARP)
    if "ballot" in parts:
        bits = (by_warp.astype(np.int64) << np.arange(WARP)).sum(axis=2).astype(np.uint32).view(np.int32)
        return [np.repeat(bits, WARP, axis=1)]
    both = by_warp.all(axis=2) if "all" in parts else by_warp.any(axis=2)
    return [np.repeat(both, WARP, axis=1)]
