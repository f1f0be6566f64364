"""Programs of a grid that represent it: spread evenly in every dimension."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

# The plastic numbers of M. Roberts, "The Unreasonable Effectiveness of Quasirandom Sequences" (2018): the
# fractional parts of n / g, n / g**2, ... fill one, two or three dimensions evenly.
_NEIGHBORS, _SPREAD = 1536, 1024
_GENERATORS = (1.618033988749895, 1.324717957244746, 1.2207440846057596)


def sampled_programs(grid: Sequence[int], most: int) -> list[tuple[int, int, int]]:
    """At most `most` programs of the grid, all if it has no more, with the last one of a larger grid.

    Each is (x, y, z).
    """
    x, y, z = grid
    if prod(grid) <= most:
        return [(at % x, at // x % y, at // (x * y)) for at in range(x * y * z)]
    axes = [axis for axis in range(3) if grid[axis] > 1]
    generator = _GENERATORS[len(axes) - 1]
    found: dict[tuple[int, int, int], None] = {}
    for at in range(8 * most):
        if len(found) == most:
            break
        program = [0, 0, 0]
        for place, axis in enumerate(axes):
            program[axis] = int((0.5 + at / generator ** (place + 1)) % 1 * grid[axis])
        found[program[0], program[1], program[2]] = None
    return list(found)


def neighbors(program: int, programs: int) -> NDArray[np.int64]:
    """Numbers of programs, ascending: those around `program` in the order of the launch, and some of all."""
    first = max(0, min(program - _NEIGHBORS // 2, programs - _NEIGHBORS))
    around = np.arange(first, min(programs, first + _NEIGHBORS))
    if len(around) == programs:
        return around
    spread = (np.arange(_SPREAD) / _GENERATORS[0] % 1 * programs).astype(np.int64)
    return np.unique(np.concatenate([around, spread]))
