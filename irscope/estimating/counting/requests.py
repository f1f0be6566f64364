"""Counts the memory requests of warps: sectors and lines of global memory, wavefronts of shared memory.

Most requests of a kernel have one of a few shapes: the addresses of its threads relative to the first one's
cache line. The counts of each shape are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.counting.lanes import Array, Value
from irscope.estimating.counting.steps import Access, Space, Steps
from irscope.estimating.counting.wavefronts import (
    LINE,
    WARP,
    Integers,
    Mask,
    copied_wavefronts,
    sectors,
    wavefronts,
)
from irscope.languages.control_flow import NONE

# Per access: warps that execute it with an active thread, active threads, sectors or wavefronts, lines.
WARPS, THREADS, SECTORS, LINES = range(4)
METRICS = 4


@dataclass(slots=True)
class Touch:
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
        self._warps = self._threads // WARP
        self._number = {id(access): at for at, access in enumerate(steps.accesses)}
        self._known: dict[tuple[object, ...], Integers] = {}
        self.touches: list[Touch] = []
        self.first_addresses: dict[int, Array] = {}

    def count(self, access: Access, active: Mask | None) -> str:
        """Counts an access by the active threads (None: all); returns what had to be assumed, or ""."""
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
        """The addresses of all threads: one row if they are the same in all programs."""
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
            row[WARPS] += active.reshape(self._programs, self._warps, WARP).any(axis=2).sum(axis=1)
            row[THREADS] += active.sum(axis=1)

    def _scattered(self, access: Access, active: Mask | None) -> str:
        """Counts an unknown address as if each thread accessed a sector of its own."""
        if access.space is Space.GLOBAL:
            row, mask = self._row(access), self._all if active is None else active
            row[SECTORS] += mask.sum(axis=1)
            row[LINES] += mask.sum(axis=1)
        return "an unknown address: taken to be scattered"

    def _copy(self, written: Access, read: Access, active: Mask | None) -> str:
        """Counts both sides of an async copy. One of size 0 reads nothing and fills with zeros."""
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
        lanes = WARP if access.name != "copy" else max(1, WARP * 4 // max(4, access.width))

        def count(rows: Integers, own: Mask | None) -> Integers:
            shape = (len(rows), -1, lanes)
            found = sectors(rows.reshape(shape), None if own is None else own.reshape(shape))
            result: Integers = np.stack([one.sum(axis=1) for one in found])
            return result

        found = self._by_shape(("sectors", lanes), [address], [active], count)
        self._add(access, SECTORS, found[0])
        self._add(access, LINES, found[1])

    def touch(self, number: int, addresses: Array, active: Mask | None) -> None:
        """Notes the addresses that the first program accesses."""
        if active is None or active.any():
            self.touches.append(Touch(number, addresses, active))

    def _wavefronts(self, access: Access, address: Array, active: Mask | None) -> Integers:
        merged = access.opcode.startswith("ld.")

        def count(rows: Integers, own: Mask | None) -> Integers:
            flat = rows.reshape(-1, WARP)
            mask = None if own is None else own.reshape(-1, WARP)
            if access.lanes < WARP:
                first = np.broadcast_to(np.arange(WARP) < access.lanes, flat.shape)
                mask = first if mask is None else mask & first
            result: Integers = (
                wavefronts(flat, access.width, mask, merged).reshape(1, len(rows), -1).sum(axis=2)
            )
            return result

        found = self._by_shape(("shared", access.width, access.lanes, merged), [address], [active], count)
        result: Integers = found[0]
        return result

    def _copied(
        self, access: Access, source: Array, target: Array, active: Mask | None, reading: Mask | None
    ) -> Integers:
        def count(from_: Integers, to: Integers, own: Mask | None, reads: Mask | None) -> Integers:
            flat = [rows.reshape(-1, WARP) for rows in (from_, to)]
            masks = [None if one is None else one.reshape(-1, WARP) for one in (own, reads)]
            found = copied_wavefronts(flat[0], flat[1], access.width, masks[0], masks[1])
            result: Integers = found.reshape(1, len(from_), -1).sum(axis=2)
            return result

        found = self._by_shape(("copy", access.width), [source, target], [active, reading], count)
        result: Integers = found[0]
        return result

    def _by_shape(
        self,
        kind: tuple[object, ...],
        addresses: Sequence[Array],
        masks: Sequence[Mask | None],
        count: Callable[..., Integers],
    ) -> Integers:
        """The counts of requests with these addresses, from those of an equal shape if there are any."""
        running = _running(masks)
        if running is not None:
            addresses = [one if len(one) == 1 else one[running] for one in addresses]
            masks = [None if mask is None else mask[running] for mask in masks]
        relative = [one - (one[:, :1] & -LINE) for one in addresses]
        arrays = [*relative, *(mask for mask in masks if mask is not None)]
        if all(len(one) == 1 or (one == one[0]).all() for one in arrays):
            relative = [one[:1] for one in relative]
            masks = [None if mask is None else mask[:1] for mask in masks]
        rows = max(len(one) for one in (*relative, *(mask for mask in masks if mask is not None)))
        relative = [one if len(one) == rows else np.repeat(one, rows, axis=0) for one in relative]
        texts = (b"" if one is None else one.tobytes() for one in (*relative, *masks))
        key = (*kind, *texts)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = count(*relative, *masks)
        if running is None:
            return found
        spread = np.zeros((len(found), self._programs), np.int64)
        spread[:, running] = found
        return spread


def _running(masks: Sequence[Mask | None]) -> Mask | None:
    """The programs with an active thread; None if all have one."""
    first = masks[0]
    if first is None:
        return None
    running: Mask = np.any(first, axis=1)
    return None if running.all() else running
