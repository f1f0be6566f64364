"""The memory that a launch reads and writes: different bytes per program, per wave of programs, and again.

    a: 128 KB per program, 132 programs read 2.1 MB of different bytes; c: 32 KB written

Programs share what they read if their footprints overlap. That of one program is known; another one's is
taken to be the same, moved by the difference of the addresses that both access first: exact for tiles and
halos. Of programs of different lengths that share all, the longest decides.

The sectors of global memory that one program touches, in order, and how long ago it touched them before.

The distance of a touch is the bytes that the program touched since it last touched the same sector: the
reuse distance (Mattson et al., 1970) without removing duplicates, so that it is at most too long. A cache
that holds this much for each program serves the touch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.counting.lanes import Array
from irscope.estimating.counting.launch_arguments import SPACING_BITS, LaunchArguments, TensorArgument
from irscope.estimating.counting.memory_requests import SECTOR, ExecutedAccess, Integers, Mask
from irscope.estimating.counting.programs import Others
from irscope.model.records import frozen

# The first repeated iterations of a loop, expanded one by one; the others are expanded together.
_MOST_EXPANDED = 4
_MOST_SECTORS = 150_000
# Distances are counted by their binary logarithm; the last are touches of what was never touched before.
DISTANCES = 40
FIRST = DISTANCES
# The distance of sectors that the next iteration touches again: 4 KiB, if that is not known better.
_BETWEEN_ITERATIONS = 12


@dataclass(slots=True)
class Footprint:
    """The sectors that some accesses of one program touch.

    `sectors` are the different sectors in ascending order (the number of an address / 32), `touched` how many
    were touched, those of all warps of a program merged per instruction. `again` counts the touches by the
    binary logarithm of their distance in bytes, `again[FIRST]` those of sectors that are new.
    """

    sectors: Integers
    touched: float = 0.0
    again: NDArray[np.float64] = field(default_factory=lambda: np.zeros(DISTANCES + 1))

    @property
    def bytes(self) -> float:
        """Return the bytes of the different sectors, including those that were not expanded."""
        return float(max(len(self.sectors), self.again[FIRST]) * SECTOR)


def footprints(touches: Sequence[ExecutedAccess], groups: Sequence[int]) -> dict[int, Footprint]:
    """Return the footprint of each group of accesses.

    `groups` is the group of each access, -1 for none.
    """
    parts = [(groups[touch.access], sectors, weight) for touch, sectors, weight in _expanded(touches)]
    parts = [part for part in parts if part[0] >= 0 and len(part[1])]
    if not parts:
        return {}
    everything = _different(np.concatenate([sectors for _, sectors, _ in parts]))
    last = np.full(len(everything), -1.0)
    by_group: dict[int, Footprint] = {}
    members: dict[int, list[Integers]] = {}
    clock = 0.0
    for group, sectors, weight in parts:
        footprint = by_group.setdefault(group, Footprint(sectors))
        indices = np.searchsorted(everything, sectors)
        before = last[indices]
        distance = np.where(before < 0, 0.0, np.maximum(clock - before, 1.0) * SECTOR)
        bucket = np.minimum(np.log2(np.maximum(distance, 1.0)).astype(np.int64), DISTANCES - 1)
        bucket = np.where(before < 0, FIRST, bucket)
        counts = np.bincount(bucket, minlength=DISTANCES + 1)
        if counts[FIRST]:
            # Sectors that several iterations of a group touch are new only once.
            repeated = counts[FIRST] - len(_different(indices[before < 0]))
            counts[FIRST] -= repeated
            counts[_BETWEEN_ITERATIONS] += repeated
        footprint.again += counts * weight
        footprint.touched += len(sectors) * weight
        last[indices] = clock
        clock += len(sectors) * weight
        members.setdefault(group, []).append(sectors)
    for group, footprint in by_group.items():
        footprint.sectors = _different(np.concatenate(members[group]))
    return by_group


def _expanded(touches: Sequence[ExecutedAccess]) -> Iterator[tuple[ExecutedAccess, Integers, float]]:
    """Yield the sectors of each touch, those of repeated iterations after those that they repeat.

    A repeated loop is expanded as a whole, so that its accesses alternate.
    """
    start, total = 0, 0
    while start < len(touches):
        touch = touches[start]
        if not touch.repeats:
            yield touch, _sectors(touch), 1.0
            start += 1
            continue
        end = start
        while end < len(touches) and _times(touches[end]) == _times(touch):
            end += 1
        body = [(repeated, _sectors(repeated)) for repeated in touches[start:end]]
        for repeated, sectors in body:
            yield repeated, sectors, 1.0
        size = max(1, sum(len(sectors) for _, sectors in body))
        for passes, weight in _passes(touch, max(0, (_MOST_SECTORS - total) // size)):
            total += size * len(passes)
            for repeated, sectors in body:
                moved = (sectors[None, :] + _offsets(repeated, passes)[:, None]).ravel()
                yield repeated, moved, weight
        start = end


def _times(touch: ExecutedAccess) -> tuple[int, ...]:
    return tuple(times for times, _ in touch.repeats)


def _passes(touch: ExecutedAccess, most: int) -> Iterable[tuple[NDArray[np.int64], float]]:
    """Yield groups of repetitions, by number, each with its weight: the first few, then all others."""
    total = 1
    for times, _ in touch.repeats:
        total *= times + 1
    first = min(total - 1, _MOST_EXPANDED)
    for number in range(1, first + 1):
        yield np.array([number]), 1.0
    rest = total - 1 - first
    if rest > 0:
        count = max(1, min(rest, most))
        yield np.linspace(first + 1, total - 1, count).astype(np.int64), rest / count


def _offsets(touch: ExecutedAccess, passes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many sectors further each repetition is."""
    distances = np.zeros(len(passes), np.int64)
    left = passes
    for times, step in touch.repeats:
        left, position = np.divmod(left, times + 1)
        distances += position * step
    return distances >> 5


def _sectors(touch: ExecutedAccess) -> Integers:
    row = touch.addresses[0]
    if touch.active is not None:
        row = row[touch.active[0]]
    return _different(row >> 5)


def _different(numbers: Integers) -> Integers:
    """Return the different numbers in ascending order.

    NumPy 2.4's `unique` takes several times as long.
    """
    ordered = np.sort(numbers)
    is_new = np.ones(len(ordered), bool)
    is_new[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_new]


# Sectors of a program whose sharing is examined; programs that must share for it to be no accident.
_EXAMINED = 48
_FEWEST_HITS = 3
# Executions of an access that are compared.
_MOST_PLACES = 8


@frozen
class TensorTraffic:
    """The traffic of one tensor by accesses that move together from program to program.

    `name` is the argument, `direction` "read", "write" or "atomic". `bytes` are the different bytes of one
    program (in whole sectors), `touched` the bytes that it accesses, merged per instruction of the program.
    `again` are the bytes of those that it had accessed before, by how many bytes (of all tensors) it accessed
    in between: a power of two, rounded down. `sharing` says by number of consecutive programs which share of
    their bytes is different (1: nothing is shared). `tensor_bytes` is the size of the tensor, if recorded.
    `scattered` says that addresses depend on data: programs share by accident too. `columns` says by number
    of consecutive programs which share of the tensor's rows they access, whatever the rows. `several` says
    that a program accesses several places that data decides, not a block at one.
    """

    name: str
    direction: str
    bytes: float
    touched: float
    again: Mapping[int, float]
    sharing: tuple[tuple[int, float], ...]
    tensor_bytes: int | None
    scattered: bool
    columns: tuple[tuple[int, float], ...]
    several: bool

    def unique_bytes(self, programs: float) -> float:
        """Return the different bytes that consecutive programs access; `programs` is their number."""
        different = self.different_bytes(programs)
        if not self.tensor_bytes:
            return different
        if self.scattered:
            # Random places: the chance that none of them is a given one.
            window = self.window_bytes(programs)
            return window * (1 - exp(-different / window))
        return min(different, self.tensor_bytes)

    def different_bytes(self, programs: float) -> float:
        """Return the different bytes, without sharing by accident or because the tensor is no larger."""
        sizes = [np.log2(size) for size, _ in self.sharing]
        share = float(np.interp(np.log2(max(programs, 1.0)), sizes, [share for _, share in self.sharing]))
        return max(self.bytes, share * self.bytes * programs)

    def window_bytes(self, programs: float) -> float:
        """Return the bytes of the tensor among which the accesses of consecutive programs are scattered."""
        sizes, shares = zip(*self.columns, strict=True)
        return max(1.0, (self.tensor_bytes or 0.0) * min(1.0, float(np.interp(programs, sizes, shares))))


class AccessSectors(NamedTuple):
    """An access or tensor copy for its traffic: its direction, and the mean sectors of all programs.

    `mean` is how many sectors the average program accesses, `first` how many the examined one does, `largest`
    how many the program with most. `scattered` says that its addresses depend on data, `placed` that integers
    which the launch has decide them.
    """

    direction: str
    mean: float
    first: float
    largest: float
    scattered: bool = False
    placed: bool = False


# A tensor's number, a direction, and how the accesses move from program to program.
_Key = tuple[int, str, bytes]


def memory_traffic(
    touches: Sequence[ExecutedAccess],
    accessed: Sequence[AccessSectors],
    arguments: LaunchArguments,
    starts: Mapping[int, Array],
    others: Others,
    programs: int,
) -> tuple[TensorTraffic, ...]:
    """Compute the traffic of the program whose touches are given.

    `starts` are the first addresses of accesses in other programs; the grid has `programs`.
    """
    tensors: dict[int, int] = {}
    for touch in touches:
        tensors.setdefault(touch.access, int(touch.addresses.flat[0]) >> SPACING_BITS)
    groups: dict[_Key, _Group] = {}
    data_addresses = _places(touches, accessed)
    for number, tensor_number in tensors.items():
        start = starts.get(number)
        shift = None if start is None or len(start) < len(others.numbers) else _shift(start, others.own)
        # Random places: each of a program's own ones moves differently; the first represents all.
        apart = shift is not None and not accessed[number].scattered
        moves = shift.tobytes() if apart and shift is not None else b""
        tensor = arguments.tensors.get(tensor_number)
        key = tensor_number, accessed[number].direction, moves
        group = groups.setdefault(key, _Group(tensor, accessed[number].direction, shift))
        size = _row_bytes(tensor)
        moved = not apart and shift is not None and group.moved(shift)
        group.several |= moved or bool(size and _irregular(data_addresses.get(number, ()), size))
        group.members.append(number)
    numbers = [-1] * len(accessed)
    for index, group in enumerate(groups.values()):
        for member in group.members:
            numbers[member] = index
    by_group = footprints(touches, numbers)
    traffic = []
    for index, group in enumerate(groups.values()):
        if index in by_group:
            members = [accessed[member] for member in sorted(group.members)]
            traffic.append(_traffic(group, by_group[index], members, others, programs))
    return tuple(traffic)


@dataclass(slots=True)
class _Group:
    """The accesses to one tensor that move together: by how many bytes in each program (None: unknown).

    `several` says that a program accesses several places that data decides.
    """

    tensor: TensorArgument | None
    direction: str
    shift: Integers | None
    members: list[int] = field(default_factory=list)
    several: bool = False

    def moved(self, shift: Integers) -> bool:
        """Check whether another access moves differently than the first."""
        return self.shift is not None and not np.array_equal(shift, self.shift)


def _places(
    touches: Sequence[ExecutedAccess], accessed: Sequence[AccessSectors]
) -> dict[int, list[Integers]]:
    """Map each access whose addresses depend on data to the addresses of its first executions."""
    by_access: dict[int, list[Integers]] = {}
    for touch in touches:
        if accessed[touch.access].scattered and len(by_access.setdefault(touch.access, [])) < _MOST_PLACES:
            row = touch.addresses[0]
            by_access[touch.access].append(row if touch.active is None else row[touch.active[0]])
    return by_access


def _row_bytes(tensor: TensorArgument | None) -> int:
    """Return the distance of the rows of a tensor of several dimensions, or 0 if there are none."""
    size = tensor.strides[0] * tensor.size if tensor is not None and len(tensor.strides) > 1 else 0
    return size if size >= SECTOR else 0


def _irregular(places: Sequence[Integers], row: int) -> bool:
    """Check whether a program's addresses are in rows at various distances.

    Compares those within the first execution or, if it has one row only, those of several
    executions.
    """
    if not len(places):
        return False
    within = np.diff(np.unique(places[0] // row))
    if len(within):
        return len(np.unique(within)) > 1 or within[0] > 1
    between = np.diff([int(addresses[0]) for addresses in places if len(addresses)])
    return bool((np.abs(between) >= 2 * row).any())


def _shift(start: Array, own: int) -> Integers:
    """Return how many bytes further each program starts."""
    distances: Integers = start[:, 0] - start[own, 0]
    return distances


def _traffic(
    group: _Group, footprint: Footprint, members: Sequence[AccessSectors], others: Others, programs: int
) -> TensorTraffic:
    tensor, sectors, shift = group.tensor, footprint.sectors, group.shift
    first = sum(member.first for member in members)
    # Other programs access more or less than the one that was examined.
    mean = sum(member.mean for member in members)
    scale = mean / first if first else 1.0
    longest = sum(member.largest for member in members) / mean if mean else 1.0
    scattered = any(member.scattered for member in members)
    again = {
        1 << exponent: float(count) * SECTOR * scale
        for exponent, count in enumerate(footprint.again[:DISTANCES])
        if count
    }
    return TensorTraffic(
        name=tensor.name if tensor else "",
        direction=group.direction,
        bytes=footprint.bytes * scale,
        touched=footprint.touched * SECTOR * scale,
        again=again,
        sharing=_placed_sharing(shift, others)
        if shift is not None and any(member.placed for member in members)
        else _sharing(sectors, shift, others, programs, longest, scattered),
        tensor_bytes=tensor.bytes if tensor else None,
        scattered=scattered,
        columns=_columns(sectors, shift, others, tensor if group.several else None, programs),
        several=group.several,
    )


def _columns(
    sectors: Integers, shift: Integers | None, others: Others, tensor: TensorArgument | None, programs: int
) -> tuple[tuple[int, float], ...]:
    """Return, by number of consecutive programs, the share of the rows of a tensor that they access."""
    row = _row_bytes(tensor)
    if not row or shift is None:
        return ((1, 1.0),)
    share = len(np.unique((sectors << 5) % row)) * SECTOR / row
    distance = np.abs(others.numbers - others.numbers[others.own])
    near, shares, size = int(others.around.sum()), [(1, share)], 2
    while size < near:
        shares.append((size, share * len(np.unique(shift[distance * 2 < size] % row))))
        size *= 2
    return (*shares, (max(size, programs), share * len(np.unique(shift % row))))


def _placed_sharing(shift: Integers, others: Others) -> tuple[tuple[int, float], ...]:
    """Return the share of different bytes if each program is at one of several places, as integers say.

    Programs at one place access the same, others something else. More programs than were compared
    share as little as those: the size of the tensor limits what they access.
    """
    around = shift[others.around]
    shares, size = [(1, 1.0)], 2
    while size < 2 * len(around):
        size = min(size, len(around))
        whole = around[: len(around) // size * size].reshape(-1, size)
        shares.append((size, float(_distinct_in_rows(whole).mean()) / size))
        size *= 2
    return tuple(shares)


def _distinct_in_rows(rows: Integers) -> Integers:
    ordered = np.sort(rows, axis=1)
    result: Integers = 1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)
    return result


def _sharing(
    sectors: Integers,
    shift: Integers | None,
    others: Others,
    programs: int,
    longest: float,
    scattered: bool,
) -> tuple[tuple[int, float], ...]:
    """Return the share of different bytes by number of consecutive programs, from some sectors."""
    if shift is None or programs <= 1:
        return ((1, 1.0),)
    examined = sectors[np.linspace(0, len(sectors) - 1, min(_EXAMINED, len(sectors))).astype(np.int64)]
    different, which = np.unique(shift, return_inverse=True)
    needed = ((examined[:, None] << 5) + 16 - different[None, :]) >> 5
    indices = np.minimum(np.searchsorted(sectors, needed), len(sectors) - 1)
    accesses = (sectors[indices] == needed)[:, which.ravel()]
    if scattered:
        # Programs have the same indices or others; what others share is an accident.
        accesses &= accesses.mean(axis=0) > 0.5
    distance = np.abs(others.numbers - others.numbers[others.own])
    near = int(others.around.sum())
    around = accesses[:, others.around].sum(axis=1).astype(np.float64)
    everywhere = around if near == programs else _sharing_programs(accesses, others, programs)
    shares, size = [(1, 1.0)], 2
    while size < 2 * programs:
        reach = min(size, programs)
        if reach < near:
            shared = accesses[:, others.around & (distance * 2 < size)].sum(axis=1).astype(np.float64)
        else:
            part = (reach - near) / max(1, programs - near)
            shared = around + np.maximum(everywhere - around, 0.0) * part
        share = float((1 / np.maximum(shared, 1.0)).mean())
        shares.append((reach, share * (1 + (longest - 1) * (1 - share))))
        size *= 2
    return tuple(shares)


def _sharing_programs(accesses: Mask, others: Others, programs: int) -> NDArray[np.float64]:
    """Count the programs of the whole grid that access each sector.

    Programs that share a tile of several differ in one number of the grid, or in some of its
    digits: then those that are spread over the grid represent them, if there are enough that
    share.
    """
    product = np.ones(len(accesses))
    for line, weight in others.lines:
        hits = accesses[:, line].sum(axis=1)
        product *= np.where(hits > _FEWEST_HITS, 1 + (hits - 1) * weight, hits)
    hits = accesses[:, others.spread].sum(axis=1)
    spread = np.where(hits > _FEWEST_HITS, hits * (programs / max(1, int(others.spread.sum()))), 0.0)
    largest: NDArray[np.float64] = np.maximum(product, spread)
    return largest
