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


def sectors(addresses: Integers, active: Mask | None) -> tuple[Integers, Integers]:
    """The sectors and the lines of each request, along the last axis of `addresses`.

    An access of up to 32 bytes per thread is aligned to its width, so it is in one sector.
    """
    return distinct(addresses >> 5, active), distinct(addresses >> 7, active)


def wavefronts(addresses: Integers, width: int, active: Mask | None, merged: bool = False) -> Integers:
    """The wavefronts of each warp's request of `width` bytes per thread; `addresses` is (rows, 32).

    Loads are `merged`: two passes are one if each thread in them accesses the same address as its neighbor,
    or as the one after that; measured on an H100. Of 16 bytes per thread, at most a half warp is one pass.
    """
    passes = _number_of_passes(width)
    by_pass = _passes(addresses, width, active, passes)
    if passes == 1:
        return by_pass[:, 0]
    if not merged:
        return _summed(by_pass)
    rows, halves = len(addresses), passes // 2
    together = _passes(addresses, width, active, halves)
    paired = by_pass.reshape(rows, halves, 2).sum(axis=2)
    return _summed(np.where(_in_pairs(addresses, active, halves), together, paired))


def _summed(counts: Integers) -> Integers:
    result: Integers = counts.sum(axis=1)
    return result


def _in_pairs(addresses: Integers, active: Mask | None, parts: int) -> Mask:
    """Whether the threads of each part of a warp access what their neighbors access; (rows, parts)."""
    shape = len(addresses), parts, WARP // parts
    lanes = np.arange(WARP)
    found = np.zeros(shape[:2], bool)
    for distance in (1, 2):
        same = addresses == addresses[:, lanes ^ distance]
        if active is not None:
            same |= ~active | ~active[:, lanes ^ distance]
        found |= same.reshape(shape).all(axis=2)
    return found


def copied_wavefronts(
    sources: Integers, targets: Integers, width: int, active: Mask | None, reading: Mask | None
) -> Integers:
    """The wavefronts in which the async copies of each warp are written to shared memory.

    Each pass takes a wavefront per cache line that it reads, and per word in the same bank. Measured on an
    H100: four lanes that copy 64 bytes of a row and four that copy another row's take two.
    """
    passes = _number_of_passes(width)
    banks = _passes(targets, width, active, passes)
    shape = (len(sources), passes, -1)
    lines = distinct((sources >> 7).reshape(shape), None if reading is None else reading.reshape(shape))
    result: Integers = np.maximum(banks, lines).sum(axis=1)
    return result


def _number_of_passes(width: int) -> int:
    return min(4, max(1, width // 4))


def _words(addresses: Integers, width: int, active: Mask | None) -> Integers:
    """The words that each thread accesses, -1 if it is not active: (rows, lanes, words)."""
    found: Integers = (addresses[:, :, None] >> 2) + np.arange(max(1, width // 4))
    return found if active is None else np.where(active[:, :, None], found, -1)


def _passes(addresses: Integers, width: int, active: Mask | None, passes: int) -> Integers:
    """The wavefronts of each pass: the most words that a bank serves; (rows, passes)."""
    rows = len(addresses)
    ordered = np.sort(_words(addresses, width, active).reshape(rows * passes, -1), axis=-1)
    first = np.ones(ordered.shape, bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first &= ordered >= 0
    banks = (ordered & (BANKS - 1)) + BANKS * np.arange(len(ordered))[:, None]
    served = np.bincount(banks[first], minlength=BANKS * len(ordered)).reshape(-1, BANKS)
    result: Integers = served.max(axis=1).reshape(rows, passes)
    return result
