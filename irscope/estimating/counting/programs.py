"""The first address of each access in many programs: one thread of a warp is interpreted, each loop once.

Programs of a grid that represent it: spread evenly in every dimension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.counting.interpreter import Interpreter
from irscope.estimating.counting.lanes import Array, Value, storage
from irscope.estimating.counting.launch_arguments import LaunchArguments, tensor_address
from irscope.estimating.counting.memory_requests import Integers, Mask
from irscope.estimating.counting.ptx_program import PtxProgram
from irscope.estimating.counting.translate import Access, Exit, Space, Step, Steps
from irscope.languages.control_flow import NONE


class ProgramStarts(Interpreter):
    """Interprets the first thread of `programs` programs, or of each of their `warps`."""

    _follows_loops = False

    def __init__(
        self,
        program: PtxProgram,
        steps: Steps,
        values: Mapping[int, Array],
        arguments: LaunchArguments,
        programs: int,
        warps: int = 1,
    ) -> None:
        super().__init__(program, steps, values, arguments, programs, warps)
        self._loops.tracing = self._follows_loops and bool(program.tree.loops)
        self.starts: dict[int, Array] = {}
        self._stored_last: list[Value] = []

    def _warps(self, mask: Mask) -> NDArray[np.int64]:
        return np.asarray(mask.any(axis=1), np.int64)

    def working(self) -> Mask:
        """Check which programs access more of global memory than integers that the launch has.

        The others end as soon as they have read that there is nothing to do.
        """
        blocks = [
            any(step.copy or (step.access and self._works(step.access)) for step in steps)
            for steps in self.steps.blocks
        ]
        return np.asarray(self.run.blocks[blocks].any(axis=0), bool)

    def among_working(self, compared: Others) -> tuple[Others, Mapping[int, Array]]:
        """Return those of the programs that work, with their first addresses; all without integers."""
        working = self.working()
        if not self.arguments.has_values or not working[compared.own]:
            return compared, self.starts
        everyone = self.programs, 1
        starts = {number: np.broadcast_to(start, everyone)[working] for number, start in self.starts.items()}
        return compared.among(working), starts

    def _works(self, access: Access) -> bool:
        reads = access.source or access
        return reads.space is Space.GLOBAL and self._number[id(reads)] not in self.run.known

    def _arrive(self, block: int, mask: Mask) -> None:
        """Do nothing: no loop is repeated."""

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
        """Return what this thread stored to shared memory last: stores of other threads are unknown.

        Programs that store the same then load the same, as those that gather by the same indices do.
        """
        if access.space is Space.SHARED and self.threads == 1:
            stored = [value for value in self._stored_last if value is not None]
            kind = storage(access.register)
            return [
                stored[element % len(stored)].astype(kind) if stored else None
                for element in range(len(step.results))
            ]
        return super()._loaded(step, access, active)

    def _store(self, access: Access, active: Mask | None) -> None:
        if access.space is Space.SHARED and self.threads == 1:
            self._stored_last = [self.registers[register] for register in access.data]
        super()._store(access, active)

    def _note(self, number: int, address: Array, active: Mask | None) -> None:
        """Note the address of each program's first active thread."""
        if number in self.starts:
            return
        everyone = self.programs, self.threads
        lanes = np.zeros(self.programs, np.int64)
        if active is not None:
            lanes = np.argmax(np.broadcast_to(active, everyone), axis=1)
        wide = np.broadcast_to(address, everyone)
        self.starts[number] = np.take_along_axis(wide, lanes[:, None], axis=1)

    def _leave(self, block: int, mask: Mask) -> list[tuple[int, Mask]]:
        """Leave a loop instead of going back."""
        branches = super()._leave(block, mask)
        position = self._position.get(block, 0)
        forward = [
            (target, threads) for target, threads in branches if self._position.get(target, 0) > position
        ]
        if len(forward) == len(branches):
            return branches
        ending: Exit = self.steps.exits[block]
        exits = [
            target
            for target in (ending.taken, ending.otherwise)
            if target != NONE and self._position[target] > position
        ]
        return [(exits[0], mask)] if exits else []


class ProgramLengths(ProgramStarts):
    """Interprets the first thread of each program to its end, its loops included."""

    _follows_loops = True

    def _arrive(self, block: int, mask: Mask) -> None:
        self._loops.arrive(block, mask, self)

    def _leave(self, block: int, mask: Mask) -> list[tuple[int, Mask]]:
        return Interpreter._leave(self, block, mask)

    def representative(self, most: int) -> Integers:
        """Choose at most `most` of the programs that work; without any, the first ones.

        They are those in the middle of equal parts of all, by how many instructions they execute. One of
        middle length is first: its memory accesses are examined.
        """
        working = np.flatnonzero(self.working())
        if not len(working):
            return np.arange(min(most, self.programs))
        sizes = [block.end - block.start for block in self.program.tree.graph.blocks]
        lengths = np.array(sizes) @ self.run.blocks
        by_length = working[np.argsort(lengths[working], kind="stable")]
        count = min(most, len(working))
        middles = (np.arange(count) + 0.5) * len(working) / count
        result: Integers = by_length[np.roll(middles.astype(np.int64), -(count // 2))]
        return result


_NEIGHBORS, _LINE = 1536, 128
# The fractional parts of their multiples are spread evenly (H. Weyl, 1916), those of the golden ratio best.
_IRRATIONAL = (0.41421356237309515, 0.618033988749895, 0.7320508075688772)


def sampled_programs(grid: Sequence[int], most: int) -> list[tuple[int, int, int]]:
    """Choose at most `most` programs of the grid, or all; one near its middle comes first.

    Each is (x, y, z). Along the longest axis there is one in each of `most` equal parts, somewhere
    in it, since programs at equal distances may have something in common. Equal programs are left
    out.
    """
    x, y, z = grid
    if prod(grid) <= most:
        return [(number % x, number // x % y, number // (x * y)) for number in range(x * y * z)]
    axes = sorted(range(3), key=lambda axis: -grid[axis])
    programs: dict[tuple[int, int, int], None] = {}
    for number in range(most):
        program = [0, 0, 0]
        fractions = [
            ((number + most // 2) % most + _fraction(number, 0)) / most,
            _fraction(number, 1),
            _fraction(number, 2),
        ]
        for axis, fraction in zip(axes, fractions, strict=True):
            program[axis] = int(fraction * grid[axis])
        programs[program[0], program[1], program[2]] = None
    return list(programs)


def _fraction(at: int, sequence: int) -> float:
    return (0.5 + at * _IRRATIONAL[sequence]) % 1


class Others(NamedTuple):
    """Programs to compare one with: their numbers in the grid, ascending; `own` is the place of the program.

    `around` are those in one row of consecutive numbers with it; `lines` those along each axis of the grid
    through it, with how many each represents; `spread` those that represent the whole grid.
    """

    numbers: Integers
    own: int
    around: Mask
    lines: tuple[tuple[Mask, float], ...]
    spread: Mask

    def among(self, working: Mask) -> Others:
        """Return those that work, as if there were no others: their numbers follow each other."""
        lines = tuple((line[working], weight) for line, weight in self.lines)
        numbers, own = np.arange(int(working.sum())), int(working[: self.own].sum())
        return Others(numbers, own, self.around[working], lines, self.spread[working])


def other_programs(
    program: tuple[int, int, int], grid: tuple[int, int, int], most: int = _NEIGHBORS
) -> Others:
    """Choose the programs to compare with `program` to find what they share: all of a small grid.

    At most `most` are consecutive; the others are spread over the grid.
    """
    strides = (1, grid[0], grid[0] * grid[1])
    count = prod(grid)
    own_number = sum(coordinate * stride for coordinate, stride in zip(program, strides, strict=True))
    first = max(0, min(own_number - most // 2, count - most))
    around = np.arange(first, min(count, first + most))
    spread = (np.arange(min(most // 2, count)) * _IRRATIONAL[1] % 1 * count).astype(np.int64)
    lines = []
    for axis in range(3):
        coordinates = np.unique(np.linspace(0, grid[axis] - 1, min(_LINE, grid[axis])).astype(np.int64))
        lines.append(own_number + (np.append(coordinates, program[axis]) - program[axis]) * strides[axis])
    numbers = np.unique(np.concatenate([around, spread, *lines]))
    weights = [max(1.0, grid[axis] / _LINE) for axis in range(3)]
    return Others(
        numbers,
        int(np.searchsorted(numbers, own_number)),
        np.isin(numbers, around),
        tuple((np.isin(numbers, line), weight) for line, weight in zip(lines, weights, strict=True)),
        np.isin(numbers, spread),
    )
