"""Programs of a grid that represent it: spread evenly in every dimension."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

_NEIGHBORS, _SPREAD = 1536, 1024
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


def neighbors(program: int, programs: int) -> NDArray[np.int64]:
    """Numbers of programs, ascending: those around `program` in the order of the launch, and some of all."""
    first = max(0, min(program - _NEIGHBORS // 2, programs - _NEIGHBORS))
    around = np.arange(first, min(programs, first + _NEIGHBORS))
    if len(around) == programs:
        return around
    spread = (np.arange(_SPREAD) * _IRRATIONAL[1] % 1 * programs).astype(np.int64)
    return np.unique(np.concatenate([around, spread]))
