"""Counts the memory requests of warps: sectors and lines of global memory, wavefronts of shared memory.

Most requests of a kernel have one of a few shapes: the addresses of its threads relative to the first one's
cache line. The counts of each shape are computed once.

Sectors of global memory and wavefronts of shared memory that the requests of many warps need.

Global memory is fetched in sectors of 32 bytes, four to a cache line of 128. Shared memory serves a request
in wavefronts, in each of which every one of its 32 banks serves one word of 4 bytes: an access of 4 bytes per
thread is one pass of the warp, one of 8 bytes two passes of half a warp, one of 16 bytes four passes of a
quarter (CUDA C++ Programming Guide, "Shared Memory"; `irscope/layouts/banks.py` does the same for layouts).
AMD's LDS has 32 banks (gfx950: 64) and serves 128 bytes in a pass, too: a wave of 64 threads takes two passes
of 4 bytes per thread and eight of 16, whose loads combine threads that are not neighbors (ROCm documentation
of Composable Kernel, "Understanding AMD GPU LDS and Bank Conflicts").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.counting.lanes import Array, Value
from irscope.estimating.counting.translate import Access, Space, Steps
from irscope.languages.control_flow import NONE

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

SECTOR, LINE, WARP, BANKS = 32, 128, 32, 32
_PASS = 128  # bytes of shared memory that a pass serves
# The threads of a wave of 64 in the order of the passes of a load of 16 bytes per thread.
_READ_ORDER = np.array(
    [
        lane + 32 * half
        for half in range(2)
        for first, second in ((0, 20), (4, 16), (8, 28), (12, 24))
        for lane in (*range(first, first + 4), *range(second, second + 4))
    ]
)


def distinct(rows: Integers, active: Mask | None) -> Integers:
    """Count the different numbers that the active elements of each row have (along the last axis)."""
    if active is not None:
        rows = np.where(active, rows, np.iinfo(rows.dtype).min)
    ordered = np.sort(rows, axis=-1)
    counts = 1 + np.count_nonzero(ordered[..., 1:] != ordered[..., :-1], axis=-1)
    if active is not None:
        counts = counts - (~active).any(axis=-1)
    result: Integers = counts.astype(np.int64)
    return result


def sectors(addresses: Integers, active: Mask | None) -> tuple[Integers, Integers]:
    """Count the sectors and the lines of each request, along the last axis of `addresses`.

    An access of up to 32 bytes per thread is aligned to its width, so it is in one sector.
    """
    return distinct(addresses >> 5, active), distinct(addresses >> 7, active)


def wavefronts(
    addresses: Integers, width: int, active: Mask | None, merged: bool = False, banks: int = BANKS
) -> Integers:
    """Count the wavefronts of each warp's request of `width` bytes per thread.

    `addresses` is (rows, threads of a warp). Loads are `merged`: two passes are one if each thread in them
    accesses the same address as its neighbor, or as the one after that; measured on an H100. Of 16
    bytes per thread, at most a half warp is one pass.
    """
    passes = _number_of_passes(width, addresses.shape[1])
    by_pass = _passes(addresses, width, active, passes, banks)
    if passes == 1:
        return by_pass[:, 0]
    if not merged:
        return _summed(by_pass)
    rows, halves = len(addresses), passes // 2
    together = _passes(addresses, width, active, halves, banks)
    paired = by_pass.reshape(rows, halves, 2).sum(axis=2)
    return _summed(np.where(_in_pairs(addresses, active, halves), together, paired))


def _summed(counts: Integers) -> Integers:
    result: Integers = counts.sum(axis=1)
    return result


def _in_pairs(addresses: Integers, active: Mask | None, parts: int) -> Mask:
    """Check whether the threads of each part of a warp access what neighbors access; (rows, parts)."""
    lanes = np.arange(addresses.shape[1])
    shape = len(addresses), parts, len(lanes) // parts
    paired = np.zeros(shape[:2], bool)
    for distance in (1, 2):
        same = addresses == addresses[:, lanes ^ distance]
        if active is not None:
            same |= ~active | ~active[:, lanes ^ distance]
        paired |= same.reshape(shape).all(axis=2)
    return paired


def copied_wavefronts(
    sources: Integers,
    targets: Integers,
    active: Mask | None,
    reading: Mask | None,
    width: int,
    banks: int = BANKS,
) -> Integers:
    """Count the wavefronts in which the async copies of each warp are written to shared memory.

    Each pass takes a wavefront per cache line that it reads, and per word in the same bank.
    Measured on an H100: four lanes that copy 64 bytes of a row and four that copy another row's
    take two.
    """
    passes = _number_of_passes(width, targets.shape[1])
    served = _passes(targets, width, active, passes, banks)
    shape = (len(sources), passes, -1)
    lines = distinct((sources >> 7).reshape(shape), None if reading is None else reading.reshape(shape))
    result: Integers = np.maximum(served, lines).sum(axis=1)
    return result


def _number_of_passes(width: int, lanes: int) -> int:
    return max(1, lanes * min(16, max(4, width)) // _PASS)


def _passes(addresses: Integers, width: int, active: Mask | None, passes: int, of_banks: int) -> Integers:
    """Count the wavefronts of each pass: the most words that a bank serves; (rows, passes)."""
    rows = len(addresses)
    # The words that each thread accesses, -1 if it is not active: (rows, lanes, words).
    words = (addresses[:, :, None] >> 2) + np.arange(max(1, width // 4))
    if active is not None:
        words = np.where(active[:, :, None], words, -1)
    ordered = np.sort(words.reshape(rows * passes, -1), axis=-1)
    first = np.ones(ordered.shape, bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first &= ordered >= 0
    banks = (ordered & (of_banks - 1)) + of_banks * np.arange(len(ordered))[:, None]
    served = np.bincount(banks[first], minlength=of_banks * len(ordered)).reshape(-1, of_banks)
    result: Integers = served.max(axis=1).reshape(rows, passes)
    return result


# Per access: warps that execute it with an active thread, active threads, sectors or wavefronts, lines.
WARPS, THREADS, SECTORS, LINES = range(4)
METRICS = 4


@dataclass(slots=True)
class ExecutedAccess:
    """The addresses of one execution of an access in the first program, and how often it is repeated.

    `repeats` are pairs: a number of further times, and by how many bytes each of them moves on.
    """

    access: int
    addresses: Array
    active: Mask | None
    repeats: list[tuple[int, int]] = field(default_factory=list)


class Requests:
    """The requests of a run. `counts` has the shape (accesses, METRICS, programs); `registers` are live."""

    def __init__(
        self, steps: Steps, counts: NDArray[np.int64], registers: Sequence[Value], everyone: Mask
    ) -> None:
        self._counts, self._registers, self._all = counts, registers, everyone
        self._programs, self._threads = everyone.shape
        self._warp, self._banks, self._merges = steps.warp, steps.banks, steps.merges
        self._warps = self._threads // self._warp
        self._number = {id(access): number for number, access in enumerate(steps.accesses)}
        self._known: dict[tuple[object, ...], Integers] = {}
        self.touches: list[ExecutedAccess] = []
        self.first_addresses: dict[int, Array] = {}

    def count(self, access: Access, active: Mask | None) -> str:
        """Count an access by the active threads (None: all); return what had to be assumed, or ""."""
        if active is not None:
            if active.shape != self._all.shape:
                active = np.broadcast_to(active, self._all.shape)
            if active.all():
                active = None
            elif not active.any():
                return ""
        if access.source is not None:
            return self._copy(access, access.source, active)
        address = self._address(access)
        self._executed(access, active)
        if address is None:
            return self._scattered(access, active)
        if access.space is Space.GLOBAL:
            self._global(access, address, active)
        else:
            self._add(access, SECTORS, self._wavefronts(access, address, active))
        return ""

    def _row(self, access: Access) -> NDArray[np.int64]:
        row: NDArray[np.int64] = self._counts[self._number[id(access)]]
        return row

    def _add(self, access: Access, metric: int, count: Integers) -> None:
        self._row(access)[metric] += count

    def _address(self, access: Access) -> Array | None:
        """Return the addresses of all threads, or None if unknown: one row if all programs have the same."""
        value = self._registers[access.address]
        if value is None:
            return None
        wide = value.astype(np.int64)
        if access.offset:
            wide = wide + access.offset
        return wide if wide.shape[1] == self._threads else np.repeat(wide, self._threads, axis=1)

    def _executed(self, access: Access, active: Mask | None) -> None:
        row = self._row(access)
        if active is None:
            row[WARPS] += self._warps
            row[THREADS] += self._threads
        else:
            row[WARPS] += active.reshape(self._programs, self._warps, self._warp).any(axis=2).sum(axis=1)
            row[THREADS] += active.sum(axis=1)

    def _scattered(self, access: Access, active: Mask | None) -> str:
        """Count an unknown address as if each thread accessed a sector of its own."""
        if access.space is Space.GLOBAL:
            row, mask = self._row(access), self._all if active is None else active
            row[SECTORS] += mask.sum(axis=1)
            row[LINES] += mask.sum(axis=1)
        return "an unknown address: taken to be scattered"

    def _copy(self, written: Access, read: Access, active: Mask | None) -> str:
        """Count both sides of an async copy. One of size 0 reads nothing and fills with zeros."""
        size = self._registers[read.size] if read.size != NONE else None
        reading = active
        if size is not None and not (size > 0).all():
            reading = np.broadcast_to((size > 0) & (self._all if active is None else active), self._all.shape)
        self._executed(written, active)
        row = self._row(read)
        row[WARPS] = self._row(written)[WARPS]
        row[THREADS] += self._threads if reading is None else reading.sum(axis=1)
        source, target = self._address(read), self._address(written)
        if source is None:
            return self._scattered(read, reading)
        if reading is None or reading.any():
            self._global(read, source, reading)
        if target is not None:
            self._add(written, SECTORS, self._copied(written, source, target, active, reading))
        return ""

    def _global(self, access: Access, address: Array, active: Mask | None) -> None:
        number = self._number[id(access)]
        self.first_addresses.setdefault(number, address[:, :1])
        self.touch(number, address[:1], None if active is None else active[:1])
        # The copies of one pass are merged, those of several passes are not: each is for another place.
        lanes = self._warp if access.name != "copy" else max(1, self._warp * 4 // max(4, access.width))
        counts = self._by_shape(("sectors", lanes), sectors, [address], [active], lanes)
        self._add(access, SECTORS, counts[0])
        self._add(access, LINES, counts[1])

    def touch(self, number: int, addresses: Array, active: Mask | None) -> None:
        """Note the addresses that the first program accesses."""
        if active is None or active.any():
            self.touches.append(ExecutedAccess(number, addresses, active))

    def _wavefronts(self, access: Access, address: Array, active: Mask | None) -> Integers:
        reads = access.opcode.startswith("ld.")
        merged = reads and self._merges
        apart = reads and access.width == 16 and self._warp == len(_READ_ORDER)

        def count(rows: Integers, own: Mask | None) -> Integers:
            if access.lanes < self._warp:
                first = np.broadcast_to(np.arange(self._warp) < access.lanes, rows.shape)
                own = first if own is None else own & first
            if apart:
                rows, own = rows[:, _READ_ORDER], None if own is None else own[:, _READ_ORDER]
            return wavefronts(rows, access.width, own, merged, self._banks)

        kind = ("shared", access.width, access.lanes, reads)
        return self._by_shape(kind, count, [address], [active], self._warp)[0]

    def _copied(
        self, access: Access, source: Array, target: Array, active: Mask | None, reading: Mask | None
    ) -> Integers:
        count = partial(copied_wavefronts, width=access.width, banks=self._banks)
        kind = ("copy", access.width)
        return self._by_shape(kind, count, [source, target], [active, reading], self._warp)[0]

    def _by_shape(
        self,
        kind: tuple[object, ...],
        count: Callable[..., Integers | tuple[Integers, ...]],
        addresses: Sequence[Array],
        masks: Sequence[Mask | None],
        lanes: int,
    ) -> Sequence[Integers]:
        """Return the counts of requests with these addresses, reusing those of an equal shape.

        `count` takes the addresses and masks of requests as rows of `lanes`. `kind` identifies it.
        """
        running = _running(masks)
        if running is not None:
            addresses = [array if len(array) == 1 else array[running] for array in addresses]
            masks = [None if mask is None else mask[running] for mask in masks]
        relative = [array - (array[:, :1] & -LINE) for array in addresses]
        arrays = [*relative, *(mask for mask in masks if mask is not None)]
        if all(len(array) == 1 or (array == array[0]).all() for array in arrays):
            relative = [array[:1] for array in relative]
            masks = [None if mask is None else mask[:1] for mask in masks]
        rows = max(len(array) for array in (*relative, *(mask for mask in masks if mask is not None)))
        relative = [array if len(array) == rows else np.repeat(array, rows, axis=0) for array in relative]
        texts = (b"" if array is None else array.tobytes() for array in (*relative, *masks))
        key = (*kind, *texts)
        counts = self._known.get(key)
        if counts is None:
            requests = (None if array is None else array.reshape(-1, lanes) for array in (*relative, *masks))
            counted = np.atleast_2d(count(*requests))
            counts = self._known[key] = counted.reshape(len(counted), rows, -1).sum(axis=2)
        if running is None:
            return list(counts)
        spread = np.zeros((len(counts), self._programs), np.int64)
        spread[:, running] = counts
        return list(spread)


def _running(masks: Sequence[Mask | None]) -> Mask | None:
    """Return the programs with an active thread, or None if all have one."""
    first = masks[0]
    if first is None:
        return None
    running: Mask = np.any(first, axis=1)
    return None if running.all() else running
