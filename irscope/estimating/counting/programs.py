"""The first address of each access in many programs: one thread of a warp is interpreted, each loop once.

Programs of a grid that represent it: spread evenly in every dimension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.counting.interpreter import Interpreter
from irscope.estimating.counting.lanes import Array, Value, storage
from irscope.estimating.counting.launch_arguments import LaunchArguments, tensor_address
from irscope.estimating.counting.ptx_program import PtxProgram
from irscope.estimating.counting.requests import Integers, Mask
from irscope.estimating.counting.translate import Access, Exit, Space, Step, Steps
from irscope.languages.control_flow import NONE


class ProgramStarts(Interpreter):
    """Interprets the first thread of `programs` programs, or of each of their `warps`."""

    def __init__(
        self,
        program: PtxProgram,
        steps: Steps,
        values: Mapping[int, Array],
        arguments: LaunchArguments,
        programs: int,
        warps: int,
    ) -> None:
        super().__init__(program, steps, values, arguments, programs, warps)
        self._loops.tracing = False
        self.starts: dict[int, Array] = {}
        self._stored_last: list[Value] = []

    def _warps(self, mask: Mask) -> NDArray[np.int64]:
        return np.zeros(self.programs, np.int64)

    def _arrive(self, block: int, mask: Mask) -> None:
        """No loop is repeated."""

    def _count(self, access: Access, active: Mask | None) -> str:
        reads = access.source or access
        if reads.space is Space.GLOBAL:
            address = self.registers[reads.address]
            if address is not None:
                self._note(self._number[id(reads)], address.astype(np.int64) + reads.offset, active)
        return ""

    def _tensor_copy(self, step: Step, active: Mask | None) -> None:
        if step.copy is not None:
            address = tensor_address(step.copy, self.registers, self.arguments)
            if address is not None:
                number = len(self.steps.accesses) + self._copy_number[id(step.copy)]
                self._note(number, address, active)

    def _loaded(self, step: Step, access: Access, active: Mask | None) -> Sequence[Value]:
        """Loads from shared memory return what this thread stored last: stores of other threads are unknown.

        Programs that store the same then load the same, as those that gather by the same indices do.
        """
        if access.space is Space.SHARED and self.threads == 1:
            known = [value for value in self._stored_last if value is not None]
            kind = storage(access.register)
            return [known[at % len(known)].astype(kind) if known else None for at in range(len(step.results))]
        return super()._loaded(step, access, active)

    def _store(self, access: Access, active: Mask | None) -> None:
        if access.space is Space.SHARED and self.threads == 1:
            self._stored_last = [self.registers[at] for at in access.data]
        super()._store(access, active)

    def _note(self, number: int, address: Array, active: Mask | None) -> None:
        """Notes the address of each program's first active thread."""
        if number in self.starts:
            return
        everyone = self.programs, self.threads
        lanes = np.zeros(self.programs, np.int64)
        if active is not None:
            lanes = np.argmax(np.broadcast_to(active, everyone), axis=1)
        wide = np.broadcast_to(address, everyone)
        self.starts[number] = np.take_along_axis(wide, lanes[:, None], axis=1)

    def _leave(self, block: int, mask: Mask) -> list[tuple[int, Mask]]:
        """Leaves a loop instead of going back."""
        found = super()._leave(block, mask)
        own = self._position.get(block, 0)
        forward = [(at, threads) for at, threads in found if self._position.get(at, 0) > own]
        if len(forward) == len(found):
            return found
        ending: Exit = self.steps.exits[block]
        others = [at for at in (ending.taken, ending.otherwise) if at != NONE and self._position[at] > own]
        return [(others[0], mask)] if others else []


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
