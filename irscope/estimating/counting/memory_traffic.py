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

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.counting.lanes import Array
from irscope.estimating.counting.launch_arguments import SPACING_BITS, LaunchArguments, Tensor
from irscope.estimating.counting.programs import Others
from irscope.estimating.counting.requests import SECTOR, Integers, Mask, Touch

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
        """The bytes of the different sectors; more than there are in `sectors` if not all were expanded."""
        return float(max(len(self.sectors), self.again[FIRST]) * SECTOR)


def footprints(touches: Sequence[Touch], groups: Sequence[int]) -> dict[int, Footprint]:
    """The footprint of each group of accesses; `groups` is the group of each access, -1 for none."""
    parts = [(groups[touch.access], sectors, weight) for touch, sectors, weight in _expanded(touches)]
    parts = [part for part in parts if part[0] >= 0 and len(part[1])]
    if not parts:
        return {}
    everything = _different(np.concatenate([sectors for _, sectors, _ in parts]))
    last = np.full(len(everything), -1.0)
    found: dict[int, Footprint] = {}
    members: dict[int, list[Integers]] = {}
    clock = 0.0
    for group, sectors, weight in parts:
        own = found.setdefault(group, Footprint(sectors))
        places = np.searchsorted(everything, sectors)
        before = last[places]
        distance = np.where(before < 0, 0.0, np.maximum(clock - before, 1.0) * SECTOR)
        bucket = np.minimum(np.log2(np.maximum(distance, 1.0)).astype(np.int64), DISTANCES - 1)
        bucket = np.where(before < 0, FIRST, bucket)
        counts = np.bincount(bucket, minlength=DISTANCES + 1)
        if counts[FIRST]:
            # Sectors that several iterations of a group touch are new only once.
            repeated = counts[FIRST] - len(_different(places[before < 0]))
            counts[FIRST] -= repeated
            counts[_BETWEEN_ITERATIONS] += repeated
        own.again += counts * weight
        own.touched += len(sectors) * weight
        last[places] = clock
        clock += len(sectors) * weight
        members.setdefault(group, []).append(sectors)
    for group, own in found.items():
        own.sectors = _different(np.concatenate(members[group]))
    return found


def _expanded(touches: Sequence[Touch]) -> Iterator[tuple[Touch, Integers, float]]:
    """The sectors of each touch, those of repeated iterations after those that they repeat.

    A repeated loop is expanded as a whole, so that its accesses alternate.
    """
    at, total = 0, 0
    while at < len(touches):
        touch = touches[at]
        if not touch.repeats:
            yield touch, _sectors(touch, 0), 1.0
            at += 1
            continue
        end = at
        while end < len(touches) and _times(touches[end]) == _times(touch):
            end += 1
        body = [(one, _sectors(one, 0)) for one in touches[at:end]]
        for one, sectors in body:
            yield one, sectors, 1.0
        size = max(1, sum(len(sectors) for _, sectors in body))
        for passes, weight in _passes(touch, max(0, (_MOST_SECTORS - total) // size)):
            total += size * len(passes)
            for one, sectors in body:
                moved = (sectors[None, :] + _offsets(one, passes)[:, None]).ravel()
                yield one, moved, weight
        at = end


def _times(touch: Touch) -> tuple[int, ...]:
    return tuple(times for times, _ in touch.repeats)


def _passes(touch: Touch, most: int) -> Iterable[tuple[NDArray[np.int64], float]]:
    """Groups of repetitions, by number, each with its weight: the first few, then all others at once."""
    total = 1
    for times, _ in touch.repeats:
        total *= times + 1
    first = min(total - 1, _MOST_EXPANDED)
    for at in range(1, first + 1):
        yield np.array([at]), 1.0
    rest = total - 1 - first
    if rest > 0:
        kept = max(1, min(rest, most))
        yield np.linspace(first + 1, total - 1, kept).astype(np.int64), rest / kept


def _offsets(touch: Touch, passes: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many sectors further each repetition is."""
    found = np.zeros(len(passes), np.int64)
    left = passes
    for times, step in touch.repeats:
        left, place = np.divmod(left, times + 1)
        found += place * step
    return found >> 5


def _sectors(touch: Touch, program: int) -> Integers:
    row = touch.addresses[min(program, len(touch.addresses) - 1)]
    if touch.active is not None:
        row = row[touch.active[min(program, len(touch.active) - 1)]]
    return _different(row >> 5)


def _different(numbers: Integers) -> Integers:
    """The different numbers in ascending order. NumPy 2.4's `unique` takes several times as long."""
    ordered = np.sort(numbers)
    kept = np.ones(len(ordered), bool)
    kept[1:] = ordered[1:] != ordered[:-1]
    return ordered[kept]


# Sectors of a program whose sharing is examined; programs that must share for it to be no accident.
_EXAMINED = 48
_FEWEST_HITS = 3
# Executions of an access that are compared.
_MOST_PLACES = 8


@dataclass(frozen=True, slots=True)
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
    again: Mapping[int, float] = field(default_factory=dict)
    sharing: tuple[tuple[int, float], ...] = ((1, 1.0),)
    tensor_bytes: int | None = None
    scattered: bool = False
    columns: tuple[tuple[int, float], ...] = ((1, 1.0),)
    several: bool = False

    def unique_bytes(self, programs: float) -> float:
        """The different bytes that consecutive programs access; `programs` is their number."""
        found = self.different_bytes(programs)
        if not self.tensor_bytes:
            return found
        if self.scattered:
            # Random places: the chance that none of them is a given one.
            window = self.window_bytes(programs)
            return window * (1 - exp(-found / window))
        return min(found, self.tensor_bytes)

    def different_bytes(self, programs: float) -> float:
        """The same without what programs share by accident, or because the tensor is no larger."""
        sizes = [np.log2(size) for size, _ in self.sharing]
        share = float(np.interp(np.log2(max(programs, 1.0)), sizes, [share for _, share in self.sharing]))
        return max(self.bytes, share * self.bytes * programs)

    def window_bytes(self, programs: float) -> float:
        """The bytes of the tensor among which the accesses of consecutive programs are scattered."""
        sizes, shares = zip(*self.columns, strict=True)
        return max(1.0, (self.tensor_bytes or 0.0) * min(1.0, float(np.interp(programs, sizes, shares))))


@dataclass(frozen=True, slots=True)
class Accessed:
    """An access or tensor copy for its traffic: its direction, and the mean sectors of all programs.

    `mean` is how many sectors the average program accesses, `first` how many the examined one does, `largest`
    how many the program with most. `scattered` says that its addresses depend on data.
    """

    direction: str
    mean: float
    first: float
    largest: float
    scattered: bool = False


def memory_traffic(
    touches: Sequence[Touch],
    accessed: Sequence[Accessed],
    arguments: LaunchArguments,
    starts: Mapping[int, Array],
    others: Others,
    programs: int,
) -> tuple[TensorTraffic, ...]:
    """The traffic of the program whose touches are given.

    `starts` are the first addresses of accesses in other programs; the grid has `programs`.
    """
    tensors: dict[int, int] = {}
    for touch in touches:
        tensors.setdefault(touch.access, int(touch.addresses.flat[0]) >> SPACING_BITS)
    keys: dict[tuple[int, str, bytes], int] = {}
    groups = [-1] * len(accessed)
    shifts: list[Integers | None] = []
    several: set[tuple[int, str, bytes]] = set()
    places = _places(touches, accessed)
    for number, tensor in tensors.items():
        start = starts.get(number)
        shift = None if start is None or len(start) < len(others.numbers) else _shift(start, others.own)
        # Random places: each of a program's own ones moves differently; the first represents all.
        apart = shift is not None and not accessed[number].scattered
        key = tensor, accessed[number].direction, shift.tobytes() if apart and shift is not None else b""
        if key not in keys:
            keys[key] = len(keys)
            shifts.append(shift)
        first, size = shifts[keys[key]], _row_bytes(arguments.tensors.get(tensor))
        moved = not apart and shift is not None and first is not None and not np.array_equal(shift, first)
        if moved or (size and _irregular(places.get(number, ()), size)):
            several.add(key)
        groups[number] = keys[key]
    found = footprints(touches, groups)
    return tuple(
        _traffic(
            key, found[group], shifts[group], groups, group, accessed, arguments, others, programs, several
        )
        for key, group in keys.items()
        if group in found
    )


def _places(touches: Sequence[Touch], accessed: Sequence[Accessed]) -> dict[int, list[Integers]]:
    """By access whose addresses depend on data: the addresses of its first executions."""
    found: dict[int, list[Integers]] = {}
    for touch in touches:
        if accessed[touch.access].scattered and len(found.setdefault(touch.access, [])) < _MOST_PLACES:
            row = touch.addresses[0]
            found[touch.access].append(row if touch.active is None else row[touch.active[0]])
    return found


def _row_bytes(tensor: Tensor | None) -> int:
    """The distance of the rows of a tensor of several dimensions; 0 if there are none."""
    size = tensor.strides[0] * tensor.size if tensor is not None and len(tensor.strides) > 1 else 0
    return size if size >= SECTOR else 0


def _irregular(places: Sequence[Integers], row: int) -> bool:
    """Whether a program's addresses are in rows at various distances, within an execution or between them."""
    if not len(places):
        return False
    within = np.diff(np.unique(places[0] // row))
    if len(within):
        return len(np.unique(within)) > 1 or within[0] > 1
    between = np.diff([int(own[0]) for own in places if len(own)])
    return bool((np.abs(between) >= 2 * row).any())


def _shift(start: Array, own: int) -> Integers:
    """How many bytes further each program starts."""
    found: Integers = start[:, 0] - start[own, 0]
    return found


def _traffic(
    key: tuple[int, str, bytes],
    footprint: Footprint,
    shift: Integers | None,
    groups: Sequence[int],
    group: int,
    accessed: Sequence[Accessed],
    arguments: LaunchArguments,
    others: Others,
    programs: int,
    several: Container[tuple[int, str, bytes]],
) -> TensorTraffic:
    tensor = arguments.tensors.get(key[0])
    members = [accessed[number] for number, other in enumerate(groups) if other == group]
    first = sum(member.first for member in members)
    # Other programs access more or less than the one that was examined.
    mean = sum(member.mean for member in members)
    scale = mean / first if first else 1.0
    longest = sum(member.largest for member in members) / mean if mean else 1.0
    scattered = any(member.scattered for member in members)
    again = {
        1 << at: float(count) * SECTOR * scale
        for at, count in enumerate(footprint.again[:DISTANCES])
        if count
    }
    return TensorTraffic(
        name=tensor.name if tensor else "",
        direction=key[1],
        bytes=footprint.bytes * scale,
        touched=footprint.touched * SECTOR * scale,
        again=again,
        sharing=_sharing(footprint.sectors, shift, others, programs, longest, scattered),
        tensor_bytes=tensor.bytes if tensor else None,
        scattered=scattered,
        columns=(
            _columns(footprint.sectors, shift, others, tensor, programs)
            if tensor and key in several
            else ((1, 1.0),)
        ),
        several=key in several,
    )


def _columns(
    sectors: Integers, shift: Integers | None, others: Others, tensor: Tensor, programs: int
) -> tuple[tuple[int, float], ...]:
    """By number of consecutive programs: the share of the rows of a tensor that they access."""
    row = _row_bytes(tensor)
    if not row or shift is None:
        return ((1, 1.0),)
    own = len(np.unique((sectors << 5) % row)) * SECTOR / row
    distance = np.abs(others.numbers - others.numbers[others.own])
    near, found, size = int(others.around.sum()), [(1, own)], 2
    while size < near:
        found.append((size, own * len(np.unique(shift[distance * 2 < size] % row))))
        size *= 2
    return (*found, (max(size, programs), own * len(np.unique(shift % row))))


def _sharing(
    sectors: Integers,
    shift: Integers | None,
    others: Others,
    programs: int,
    longest: float,
    scattered: bool,
) -> tuple[tuple[int, float], ...]:
    """The share of different bytes by number of consecutive programs, from the sharing of some sectors."""
    if shift is None or programs <= 1:
        return ((1, 1.0),)
    examined = sectors[np.linspace(0, len(sectors) - 1, min(_EXAMINED, len(sectors))).astype(np.int64)]
    different, which = np.unique(shift, return_inverse=True)
    wanted = ((examined[:, None] << 5) + 16 - different[None, :]) >> 5
    places = np.minimum(np.searchsorted(sectors, wanted), len(sectors) - 1)
    accesses = (sectors[places] == wanted)[:, which.ravel()]
    if scattered:
        # Programs have the same indices or others; what others share is an accident.
        accesses &= accesses.mean(axis=0) > 0.5
    distance = np.abs(others.numbers - others.numbers[others.own])
    near = int(others.around.sum())
    around = accesses[:, others.around].sum(axis=1).astype(np.float64)
    everywhere = around if near == programs else _sharing_programs(accesses, others, programs)
    found, size = [(1, 1.0)], 2
    while size < 2 * programs:
        reach = min(size, programs)
        if reach < near:
            shared = accesses[:, others.around & (distance * 2 < size)].sum(axis=1).astype(np.float64)
        else:
            part = (reach - near) / max(1, programs - near)
            shared = around + np.maximum(everywhere - around, 0.0) * part
        share = float((1 / np.maximum(shared, 1.0)).mean())
        found.append((reach, share * (1 + (longest - 1) * (1 - share))))
        size *= 2
    return tuple(found)


def _sharing_programs(accesses: Mask, others: Others, programs: int) -> NDArray[np.float64]:
    """How many programs of the whole grid access each sector.

    Programs that share a tile of several differ in one number of the grid, or in some of its digits: then
    those that are spread over the grid represent them, if there are enough that share.
    """
    product = np.ones(len(accesses))
    for line, weight in others.lines:
        hits = accesses[:, line].sum(axis=1)
        product *= np.where(hits > _FEWEST_HITS, 1 + (hits - 1) * weight, hits)
    hits = accesses[:, others.spread].sum(axis=1)
    spread = np.where(hits > _FEWEST_HITS, hits * (programs / max(1, int(others.spread.sum()))), 0.0)
    found: NDArray[np.float64] = np.maximum(product, spread)
    return found
