"""Sectors of global memory and wavefronts of shared memory that the requests of many warps need.

Global memory is fetched in sectors of 32 bytes, four to a cache line of 128. Shared memory serves a request
in wavefronts, in each of which every one of its 32 banks serves one word of 4 bytes: an access of 4 bytes per
thread is one pass of the warp, one of 8 bytes two passes of half a warp, one of 16 bytes four passes of a
quarter (CUDA C++ Programming Guide, "Shared Memory"; `irscope/layouts/banks.py` does the same for layouts).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

SECTOR, LINE, WARP, BANKS = 32, 128, 32, 32


def distinct(rows: Integers, active: Mask | None) -> Integers:
    """How many different numbers the active elements of each row have (along the last axis)."""
    if active is not None:
        rows = np.where(active, rows, np.iinfo(rows.dtype).min)
    ordered = np.sort(rows, axis=-1)
    found = 1 + np.count_nonzero(ordered[..., 1:] != ordered[..., :-1], axis=-1)
    if active is not None:
        found = found - (~active).any(axis=-1)
    result: Integers = found.astype(np.int64)
    return result


def sectors(addresses: Integers, width: int, active: Mask | None) -> tuple[Integers, Integers]:
    """The sectors and the lines of each warp's request; `addresses` has the shape (..., 32).

    An access of `width` bytes per thread is aligned to its width, so it is in one sector up to 32 bytes.
    """
    return distinct(addresses >> 5, active), distinct(addresses >> 7, active)


def wavefronts(addresses: Integers, width: int, active: Mask | None) -> Integers:
    """The wavefronts of each warp's request of `width` bytes per thread; `addresses` is (rows, 32)."""
    count = len(addresses)
    words = max(1, width // 4)
    passes = min(4, words)
    parts = addresses.reshape(count * passes, WARP // passes, 1) >> 2
    wide = (parts + np.arange(words)).reshape(count * passes, -1)
    if active is not None:
        own = np.repeat(active.reshape(count * passes, WARP // passes, 1), words, axis=2)
        wide = np.where(own.reshape(wide.shape), wide, -1)
    ordered = np.sort(wide, axis=-1)
    first = np.ones(ordered.shape, bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first &= ordered >= 0
    banks = (ordered & (BANKS - 1)) + BANKS * np.arange(len(ordered))[:, None]
    served = np.bincount(banks[first], minlength=BANKS * len(ordered)).reshape(-1, BANKS)
    result: Integers = served.max(axis=1).reshape(count, passes).sum(axis=1)
    return result
