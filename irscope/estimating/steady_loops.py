"""Repeats the iterations of a loop without running them, if each does the same as the one before.

    iteration 5: k = 160, address = 10240     counts: 4 sectors, ...
    iteration 6: k = 192, address = 12288     counts: 4 sectors, ...
    -> each iteration adds 32 and 2048; `k < 4096` holds for 122 more: skip those

A loop is steady if the values that it carries from one iteration to the next moved by the same amount in the
last two periods of so many iterations (pipelines of several buffers have a period of several iterations), and
can be repeated until a comparison of its iterations changes: each compares numbers that move linearly too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.lanes import Array, Value
from irscope.estimating.ptx_program import PtxProgram
from irscope.estimating.steps import Step, Steps
from irscope.languages.control_flow import NONE

if TYPE_CHECKING:
    from irscope.estimating.interpreter import Interpreter, Mask

_PERIODS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24)
_UNBOUNDED = 1 << 40


@dataclass(slots=True)
class _Iteration:
    """The state at the start of an iteration; what it compared is in the trace from `compared` on."""

    values: list[Value]
    mask: NDArray[np.bool_]
    counters: NDArray[np.int64]
    compared: int
    touched: int


@dataclass
class _History:
    iterations: list[_Iteration] = field(default_factory=list)


class SteadyLoops:
    """Watches the loops of a run."""

    def __init__(self, program: PtxProgram, steps: Steps) -> None:
        tree = program.tree
        self._tree, self._steps = tree, steps
        self._loop_of_header = {loop.header: at for at, loop in enumerate(tree.loops)}
        self._bodies = [frozenset(tree.body(at)) for at in range(len(tree.loops))]
        self._carried: dict[int, list[int]] = {}
        self._history: dict[int, _History] = {}
        self._compared: list[tuple[int, Array, Mask | None]] = []
        self.tracing = bool(tree.loops)
        self._live = _live_registers(program, steps) if tree.loops else []

    def enter(self, source: int, target: int) -> int:
        """Control goes from one block to another: the loop that it enters from outside, or NONE.

        A loop that is entered has no history.
        """
        loop = self._loop_of_header.get(target)
        if loop is None or source in self._bodies[loop]:
            return NONE
        self._history[target] = _History()
        return loop

    def trace(self, step: Step, registers: list[Value], active: Mask | None) -> None:
        """Notes what a comparison compared."""
        first, second = (registers[at] for at in step.sources[:2])
        if first is None or second is None or first.dtype == np.bool_:
            return
        unsigned = step.parts[-1][0] == "u" and first.itemsize < 8
        if unsigned:
            size = first.itemsize * 8
            first, second = (value.view(f"u{size // 8}") for value in (first, second))
        self._compared.append((step.index, first.astype(np.int64) - second.astype(np.int64), active))

    def arrive(self, block: int, mask: Mask, run: Interpreter) -> None:
        """An iteration of the loop with this header starts: skips those after it that do the same."""
        loop = self._loop_of_header.get(block)
        if loop is None:
            return
        history = self._history.setdefault(block, _History())
        carried = self._carried_registers(block, loop)
        now = _Iteration(
            [run.registers[at] for at in carried],
            mask,
            run.counters.copy(),
            len(self._compared),
            len(run.run.touches),
        )
        iterations = history.iterations
        iterations.append(now)
        for period in _PERIODS:
            if len(iterations) <= 2 * period:
                return
            last, before = iterations[-1 - period], iterations[-1 - 2 * period]
            moves = _moves(now, last, before)
            if moves is None:
                continue
            times = self._repeatable(now, last, before)
            if 0 < times < _UNBOUNDED:
                self._repeat(carried, moves, times, now, last, before, run)
                history.iterations = []
            return

    def _carried_registers(self, block: int, loop: int) -> list[int]:
        if block not in self._carried:
            written = {
                at for body in self._bodies[loop] for step in self._steps.blocks[body] for at in step.results
            }
            self._carried[block] = sorted(written & self._live[block])
        return self._carried[block]

    def _repeatable(self, now: _Iteration, last: _Iteration, before: _Iteration) -> int:
        """How many periods can pass until a comparison gives another result."""
        newest = self._compared[last.compared : now.compared]
        older = self._compared[before.compared : last.compared]
        if len(newest) != len(older):
            return 0
        times = _UNBOUNDED
        for (index, difference, active), (other, earlier, _) in zip(newest, older, strict=True):
            if index != other:
                return 0
            rate = difference - earlier
            if not rate.any():
                continue
            moving = ((rate > 0) & (difference <= 0)) | ((rate < 0) & (difference >= 0))
            if active is not None:
                moving = moving & active
            own = np.broadcast_to(moving, np.broadcast_shapes(moving.shape, now.mask.shape)) & now.mask
            if not own.any():
                continue
            left = np.broadcast_to((np.abs(difference) - 1) // np.maximum(np.abs(rate), 1), own.shape)[own]
            times = min(times, max(0, int(left.min())))
        return times

    def _repeat(
        self,
        carried: list[int],
        moves: list[Array | None],
        times: int,
        now: _Iteration,
        last: _Iteration,
        before: _Iteration,
        run: Interpreter,
    ) -> None:
        for at, move in zip(carried, moves, strict=True):
            value = run.registers[at]
            if move is not None and value is not None and move.any():
                moved = value + move * value.dtype.type(times)
                run.registers[at] = moved if now.mask.all() else np.where(now.mask, moved, value)
        run.counters += times * (now.counters - last.counters)
        newest = run.run.touches[last.touched : now.touched]
        older = run.run.touches[before.touched : last.touched]
        for touch, earlier in zip(newest, older, strict=False):
            same = touch.access == earlier.access and touch.addresses.shape == earlier.addresses.shape
            step = int(touch.addresses.flat[0]) - int(earlier.addresses.flat[0]) if same else 0
            touch.repeats.append((times, step))


def _moves(now: _Iteration, last: _Iteration, before: _Iteration) -> list[Array | None] | None:
    """By how much each value moved in the last period; None if not by the same as in the one before."""
    if not np.array_equal(now.mask, last.mask) or not np.array_equal(last.mask, before.mask):
        return None
    whole = bool(now.mask.all())
    found: list[Array | None] = []
    for value, one, two in zip(now.values, last.values, before.values, strict=True):
        if value is None or one is None or two is None:
            if not (value is None and one is None):
                return None
            found.append(None)
            continue
        if value is one and one is two:
            found.append(None)
            continue
        if value.dtype == np.bool_:
            same = (value == one) & (one == two)
            move = None
        else:
            move = value - one
            same = move == one - two
        if not (same.all() if whole else np.broadcast_to(same, now.mask.shape)[now.mask].all()):
            return None
        found.append(move)
    return found


def _live_registers(program: PtxProgram, steps: Steps) -> list[frozenset[int]]:
    """The registers of the slice that are read after the start of each block before they are written."""
    blocks = program.tree.graph.blocks
    reads, writes = [], []
    for own, ending in zip(steps.blocks, steps.exits, strict=True):
        read: set[int] = set()
        written: set[int] = set()
        for step in own:
            read |= _read(step) - written
            if step.guard == NONE:
                written.update(step.results)
        if ending.condition != NONE and ending.condition not in written:
            read.add(ending.condition)
        reads.append(read)
        writes.append(written)
    live: list[set[int]] = [set(read) for read in reads]
    changed = True
    while changed:
        changed = False
        for at in reversed(program.tree.graph.reverse_postorder):
            after = set().union(*(live[following] for following in blocks[at].successors))
            before = reads[at] | (after - writes[at])
            if before != live[at]:
                live[at] = before
                changed = True
    return [frozenset(own) for own in live]


def _read(step: Step) -> set[int]:
    read = set(step.sources)
    if step.guard != NONE:
        read.add(step.guard)
        read.update(step.results)
    if step.access is not None:
        read.add(step.access.address)
        if step.access.size != NONE:
            read.add(step.access.size)
    if step.copy is not None:
        read.update((step.copy.descriptor, *step.copy.coordinates))
    return read
