"""The sectors of global memory that one program touches, in order, and how long ago it touched them before.

The distance of a touch is the bytes that the program touched since it last touched the same sector: the
reuse distance (Mattson et al., 1970) without removing duplicates, so that it is at most too long. A cache
that holds this much for each program serves the touch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.counting.requests import Touch
from irscope.estimating.counting.wavefronts import SECTOR, Integers

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
