"""Programs of a grid that represent it: spread evenly in every dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from irscope.estimating.counting.wavefronts import Integers, Mask

_NEIGHBORS, _LINE = 1536, 128
# The fractional parts of their multiples are spread evenly (H. Weyl, 1916), those of the golden ratio best.
_IRRATIONAL = (0.41421356237309515, 0.618033988749895, 0.7320508075688772)


def sampled_programs(grid: Sequence[int], most: int) -> list[tuple[int, int, int]]:
    """At most `most` programs of the grid, all if it has no more; one near its middle comes first.

    Each is (x, y, z). Along the longest axis there is one in each of `most` equal parts, somewhere in it,
    since programs at equal distances may have something in common. Equal programs are left out.
    """
    x, y, z = grid
    if prod(grid) <= most:
        return [(at % x, at // x % y, at // (x * y)) for at in range(x * y * z)]
    axes = sorted(range(3), key=lambda axis: -grid[axis])
    found: dict[tuple[int, int, int], None] = {}
    for at in range(most):
        program = [0, 0, 0]
        places = [((at + most // 2) % most + _fraction(at, 0)) / most, _fraction(at, 1), _fraction(at, 2)]
        for axis, place in zip(axes, places, strict=True):
            program[axis] = int(place * grid[axis])
        found[program[0], program[1], program[2]] = None
    return list(found)


def _fraction(at: int, sequence: int) -> float:
    return (0.5 + at * _IRRATIONAL[sequence]) % 1


@dataclass(frozen=True)
class Others:
    """Programs to compare one with: their numbers in the grid, ascending; `own` is the place of the program.

    `around` are those in one row of consecutive numbers with it; `lines` those along each axis of the grid
    through it, with how many each represents; `spread` those that represent the whole grid.
    """

    numbers: Integers
    own: int
    around: Mask
    lines: tuple[tuple[Mask, float], ...]
    spread: Mask


def other_programs(
    program: tuple[int, int, int], grid: tuple[int, int, int], most: int = _NEIGHBORS
) -> Others:
    """The programs that are compared with `program` to find what they share: all of a small grid.

    At most `most` consecutive ones, and others.
    """
    strides = (1, grid[0], grid[0] * grid[1])
    count = prod(grid)
    here = sum(at * stride for at, stride in zip(program, strides, strict=True))
    first = max(0, min(here - most // 2, count - most))
    around = np.arange(first, min(count, first + most))
    spread = (np.arange(min(most // 2, count)) * _IRRATIONAL[1] % 1 * count).astype(np.int64)
    lines = []
    for axis in range(3):
        kept = np.unique(np.linspace(0, grid[axis] - 1, min(_LINE, grid[axis])).astype(np.int64))
        lines.append(here + (np.append(kept, program[axis]) - program[axis]) * strides[axis])
    numbers = np.unique(np.concatenate([around, spread, *lines]))
    weights = [max(1.0, grid[axis] / _LINE) for axis in range(3)]
    return Others(
        numbers,
        int(np.searchsorted(numbers, here)),
        np.isin(numbers, around),
        tuple((np.isin(numbers, line), weight) for line, weight in zip(lines, weights, strict=True)),
        np.isin(numbers, spread),
    )
