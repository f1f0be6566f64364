"""Repeats the iterations of a loop without running them, if each does the same as those before it.

    iteration 5: k = 160, buffer = 2, address = 10240     counts: 4 sectors, ...
    iteration 6: k = 192, buffer = 0, address = 12288     counts: 4 sectors, ...
    iteration 7: k = 224, buffer = 1, address = 14336     counts: 4 sectors, ...
    -> k and address grow by 32 and 2048 per iteration, buffer by 0 per 3; `k < 4096` holds for 120 more

Each value that a loop carries from one iteration to the next must move by the same amount per period, which
is one iteration or, for the buffers of a pipeline, several. The iterations are repeated until a comparison
gives another result: its operands move linearly too. Values are then set to those after these iterations.

The registers that a loop carries: those that an iteration writes and the next one reads first.

A program with these and the other tables that counting needs, kept for further launches.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.counting.lanes import Array, Value, bits_of, unsigned
from irscope.estimating.counting.llvm_lowering import lowered
from irscope.estimating.counting.ptx_program import PtxProgram
from irscope.estimating.counting.translate import Space, Step, Steps, Translator
from irscope.facts.registers.liveness import bits, effect, live_out
from irscope.languages.control_flow import NONE, LoopTree
from irscope.languages.ptx import parse
from irscope.languages.registers import RegisterAccess
from irscope.model import Target
from irscope.model.process import cycles_not_collected
from irscope.targets import HIP
from irscope.targets.cuda_instructions import PTX
from irscope.targets.hip_instructions import AMDGCN
from irscope.targets.instructions import InstructionKind

if TYPE_CHECKING:
    from irscope.estimating.counting.interpreter import Interpreter
    from irscope.estimating.counting.memory_requests import Mask


_PERIODS = (1, 2, 3, 4, 5, 6, 8, 12, 16)
_UNBOUNDED = 1 << 40
# States that are kept of a loop: those of two of the longest periods.
_MOST_KEPT = 2 * _PERIODS[-1] + 1
# Repeating fewer iterations is not worth it.
_FEWEST = 2


class _Iteration(NamedTuple):
    """The state at the start of an iteration; what came before ends at these places of the lists."""

    values: list[Value]
    counters: NDArray[np.int64]
    compared: int
    touched: int


class _Comparison(NamedTuple):
    """An executed comparison: the difference of its operands, in the active threads (None: all)."""

    step: int
    difference: Array
    active: NDArray[np.bool_] | None


@dataclass
class _History:
    mask: NDArray[np.bool_]
    iterations: list[_Iteration] = field(default_factory=list)


class SteadyLoops:
    """Watches the loops of a run."""

    def __init__(self, tree: LoopTree, carried: Mapping[int, Sequence[int]]) -> None:
        self._tree, self._carried = tree, carried
        self._loop_of_header = {loop.header: number for number, loop in enumerate(tree.loops)}
        self._history: dict[int, _History] = {}
        self._compared: list[_Comparison] = []
        self.tracing = bool(tree.loops)

    def enter(self, source: int, target: int) -> int:
        """Return the loop that a branch from `source` to `target` enters from outside, or NONE.

        A loop that is entered has no history.
        """
        loop = self._loop_of_header.get(target)
        if loop is None or self._inside(source, loop):
            return NONE
        self._history.pop(target, None)
        return loop

    def trace(self, step: Step, registers: list[Value], active: Mask | None) -> None:
        """Note what a comparison compared."""
        first, second = (registers[register] for register in step.sources[:2])
        if first is None or second is None or first.dtype == np.bool_:
            return
        width = bits_of(step.parts[-1])
        if step.parts[-1][0] == "u" and width < 64:
            first, second = unsigned(first, width), unsigned(second, width)
        difference = first.astype(np.int64) - second.astype(np.int64)
        self._compared.append(_Comparison(step.index, difference, active))

    def arrive(self, block: int, mask: Mask, run: Interpreter) -> None:
        """Start an iteration of the loop with this header: repeat those before it, if possible."""
        loop = self._loop_of_header.get(block)
        if loop is None:
            return
        history = self._history.get(block)
        if history is None or not _only_programs_left(history.mask, mask):
            history = self._history[block] = _History(mask)
        history.mask = mask
        carried = self._carried[block]
        values = [run.registers[register] for register in carried]
        iterations = history.iterations
        iterations.append(_Iteration(values, run.counters.copy(), len(self._compared), len(run.touches)))
        del iterations[:-_MOST_KEPT]
        if len(iterations) >= 3 and self._repeat(iterations, carried, mask, run):
            # The values of skipped iterations are not known, but those that follow continue the series.
            self._history.pop(block)

    def _inside(self, block: int, loop: int) -> bool:
        around = self._tree.innermost[block]
        while around not in (NONE, loop):
            around = self._tree.loops[around].parent
        return around == loop

    def _repeat(
        self, iterations: Sequence[_Iteration], carried: Sequence[int], mask: Mask, run: Interpreter
    ) -> int:
        """Repeat as many iterations as do the same; return how many those are."""
        among = None if mask.all() else mask
        programs = mask.any(axis=1)
        counted = [(newer.counters - older.counters) * programs for newer, older in _pairs(iterations)]

        def repeats(period: int) -> bool:
            last, before = counted[-period:], counted[-2 * period : -period]
            return 2 * period <= len(counted) and all(map(np.array_equal, last, before))

        window = next(filter(repeats, _PERIODS), 0)
        if not window:
            return 0
        times = self._repeatable(iterations, mask)
        times -= times % window
        if not _FEWEST <= times < _UNBOUNDED:
            return 0
        moved: dict[int, Value] = {}
        for position, register in enumerate(carried):
            after = _after([iteration.values[position] for iteration in iterations], times, among)
            if after is False:
                return 0
            if not isinstance(after, bool):
                old = run.registers[register]
                if among is None or old is None or after is None:
                    moved[register] = after
                else:
                    moved[register] = np.where(among, after, old)
        for register, value in moved.items():
            run.registers[register] = value
        run.counters += (times // window) * sum(counted[-window:])
        _repeat_touches(run, iterations, window, times)
        return times

    def _repeatable(self, iterations: Sequence[_Iteration], mask: Mask) -> int:
        """Count the iterations that can pass until a comparison gives another result; 0 if unknown."""
        traces = [self._compared[before.compared : after.compared] for after, before in _pairs(iterations)]
        newest = [comparison.step for comparison in traces[-1]]
        same = 1
        while same < len(traces) and [comparison.step for comparison in traces[-1 - same]] == newest:
            same += 1
        if same < 2:
            return 0
        times = _UNBOUNDED
        for position in range(len(newest)):
            times = min(times, _unchanged([trace[position] for trace in traces[-same:]], mask))
            if times < _FEWEST:
                return 0
        return times


def _pairs(iterations: Sequence[_Iteration]) -> list[tuple[_Iteration, _Iteration]]:
    """Pair each iteration with the one before it."""
    return list(zip(iterations[1:], iterations, strict=False))


def _only_programs_left(before: Mask, now: Mask) -> bool:
    """Return True if the threads are the same, except for those of whole programs."""
    if np.array_equal(before, now):
        return True
    still = now.any(axis=1)
    return bool(np.array_equal(before[still], now[still]))


def _equal(first: Array, second: Array, among: Mask | None) -> bool:
    same = first == second
    return bool((same if among is None else same | ~among).all())


def _period(series: Sequence[Array], among: Mask | None) -> int:
    """Return after how many elements the series repeats, moved by a constant; 0 if it does not."""
    for period in _PERIODS:
        if 2 * period + 1 > len(series):
            return 0
        move = series[-1] - series[-1 - period]
        if all(
            _equal(series[-1 - distance] - series[-1 - distance - period], move, among)
            for distance in range(1, period + 1)
        ):
            return period
    return 0


def _after(series: Sequence[Value], times: int, among: Mask | None) -> Value | bool:
    """Return the value after `times` more iterations.

    Returns False if the series is not steady, and True if it is constant.
    """
    if all(value is series[-1] for value in series[-3:]):
        return True
    values = [value for value in series if value is not None]
    if len(values) < len(series):
        return None if series[-1] is None else False
    if values[-1].dtype == np.bool_:
        return all(_equal(value, values[-1], among) for value in values[-3:])
    period = _period(values, among)
    if not period:
        return False
    move = values[-1] - values[-1 - period]
    whole, rest = divmod(times, period)
    # The value `rest` iterations after the last one is a period after one that is known.
    start = values[-1] if rest == 0 else values[-1 - period + rest] + move
    moved: Array = start + move * move.dtype.type(whole)
    return moved


def _unchanged(series: Sequence[_Comparison], mask: Mask) -> int:
    """Count the iterations for which the comparison gives the same result as in its last period."""
    period = _period([comparison.difference for comparison in series], mask)
    if not period:
        return 0
    times = _UNBOUNDED
    for distance in range(period):
        comparison = series[-1 - distance]
        rate = comparison.difference - series[-1 - distance - period].difference
        if not rate.any():
            continue
        toward = ((rate > 0) & (comparison.difference <= 0)) | ((rate < 0) & (comparison.difference >= 0))
        approaching = toward & mask if comparison.active is None else toward & mask & comparison.active
        if approaching.any():
            passes = (np.abs(comparison.difference) - 1) // np.maximum(np.abs(rate), 1)
            least = int(np.broadcast_to(passes, approaching.shape)[approaching].min())
            times = min(times, max(0, least) * period)
    return times


def _repeat_touches(run: Interpreter, iterations: Sequence[_Iteration], window: int, times: int) -> None:
    """Note that the accesses of the last iterations are repeated."""
    now, last, before = iterations[-1], iterations[-1 - window], iterations[-1 - 2 * window]
    newest = run.touches[last.touched : now.touched]
    older = run.touches[before.touched : last.touched]
    for touch, earlier in zip(newest, older, strict=False):
        same = touch.access == earlier.access and touch.addresses.shape == earlier.addresses.shape
        step = int(touch.addresses.flat[0]) - int(earlier.addresses.flat[0]) if same else 0
        touch.repeats.append((times // window, step))


def carried_registers(program: PtxProgram, steps: Steps) -> Mapping[int, Sequence[int]]:
    """Map the block of each loop's header to the registers that the loop carries."""
    tree = program.tree
    if not tree.loops:
        return {}
    accesses = [[*map(_access, block)] for block in steps.blocks]
    for block, ending in zip(accesses, steps.exits, strict=True):
        block.append(RegisterAccess(_mask([ending.condition]), 0, True))
    effects = [effect(block) for block in accesses]
    after = live_out(tree.graph, effects)
    carried = {}
    for number, loop in enumerate(tree.loops):
        written = 0
        for access in (access for block in tree.body(number) for access in accesses[block]):
            written |= access.writes
        reads, certain = effects[loop.header]
        live = written if after is None else reads | (after[loop.header] & ~certain)
        carried[loop.header] = list(bits(written & live))
    return carried


def _access(step: Step) -> RegisterAccess:
    """Return the registers that a step reads and writes; one with a guard may keep its results."""
    read = [*step.sources, step.guard]
    for access in (step.access, step.access and step.access.source):
        if access is not None:
            read += [access.address, access.size]
    if step.copy is not None:
        read += [step.copy.descriptor, *step.copy.coordinates]
    results = _mask(step.results)
    always = step.guard == NONE
    return RegisterAccess(_mask(read) | (0 if always else results), results, always)


def _mask(registers: Iterable[int]) -> int:
    """Return a bit set of some registers; NONE is none."""
    mask = 0
    for register in registers:
        if register != NONE:
            mask |= 1 << register
    return mask


def data_registers(steps: Steps, known: Collection[int] = ()) -> frozenset[int]:
    """Find the registers whose values depend on loads from global memory, also by shared memory.

    The loads at these indices of instructions are `known`: they do not count.
    """
    registers: set[int] = set()
    everything = [step for block in steps.blocks for step in block if step.results or step.access]
    before, through = -1, False
    while before != len(registers):
        before = len(registers)
        for step in everything:
            access = step.access
            if access is not None and access.space is Space.SHARED:
                through = through or not registers.isdisjoint(access.data)
            loaded = access is not None and (
                through if access.space is Space.SHARED else access.index not in known
            )
            if loaded or not registers.isdisjoint(step.sources):
                registers.update(step.results)
    return frozenset(registers)


def deciding_loads(steps: Steps) -> Mapping[int, frozenset[int]]:
    """Map each block to the loads from global memory that decide where it leads, by their instructions."""
    everything = [step for block in steps.blocks for step in block if step.results or step.access]
    loads: dict[int, int] = {}
    by_register: dict[int, int] = {}
    shared, before = 0, -1
    while before != (before := sum(map(int.bit_count, by_register.values())) + shared.bit_count()):
        for step in everything:
            access, own = step.access, 0
            for register in (*step.sources, step.guard):
                own |= by_register.get(register, 0)
            if access is not None:
                own |= by_register.get(access.address, 0)
                if access.space is Space.SHARED:
                    for register in access.data:
                        shared |= by_register.get(register, 0)
                    own |= shared
                elif access.name == "load" and step.results:
                    own |= 1 << loads.setdefault(access.index, len(loads))
            if own:
                for register in step.results:
                    by_register[register] = by_register.get(register, 0) | own
    decided = {}
    for block, ending in enumerate(steps.exits):
        if mask := by_register.get(ending.condition, 0):
            decided[block] = frozenset(index for index, bit in loads.items() if mask >> bit & 1)
    return decided


# Preparations that are kept: Python's search for cycles visits all their objects again and again.
_MOST_PREPARED, _MOST_PREPARED_TEXT = 32, 1_000_000


class PreparedProgram:
    """A PTX program with the tables that counting any of its launches needs."""

    def __init__(self, program: PtxProgram) -> None:
        self.program, document = program, program.document
        self.steps: Steps = Translator(self.program).run()
        self.steps.carried = carried_registers(self.program, self.steps)
        self.steps.deciding = deciding_loads(self.steps)
        self.scattered = data_registers(self.steps)
        instructions, lines = self.program.instructions, document.lines
        self.kinds = [
            _kinds(instruction.opcode, lines[document.operations[instruction.index].line])
            if _counted(instruction.opcode)
            else ()
            for instruction in instructions
        ]


_prepared: OrderedDict[str, PreparedProgram] = OrderedDict()


def prepared_program(text: str, target: Target | None = None) -> PreparedProgram:
    """Prepare a PTX text, or return its cached preparation, for further launches of a variant.

    The text is LLVM IR if `target` is one of AMD.
    """
    prepared = _prepared.get(text)
    if prepared is None:
        with cycles_not_collected():
            prepared = PreparedProgram(_program(text, target))
        while _prepared and (
            len(_prepared) >= _MOST_PREPARED or sum(map(len, _prepared)) + len(text) > _MOST_PREPARED_TEXT
        ):
            _prepared.popitem(last=False)
    _prepared[text] = prepared
    _prepared.move_to_end(text)
    return prepared


def _program(text: str, target: Target | None) -> PtxProgram:
    """Read a PTX, or the LLVM IR of an AMD kernel."""
    if target is None or target.backend != HIP.name:
        return PtxProgram(parse(text))
    ptx, lines = lowered(text)
    banks = 64 if target.arch == "gfx950" else 32
    return PtxProgram(parse(ptx), target.warp_size, banks, text, lines)


def _kinds(opcode: str, line: str) -> tuple[InstructionKind, ...]:
    return AMDGCN.kinds(opcode, "") if opcode.startswith("v_") else PTX.kinds(opcode, line)


def _counted(opcode: str) -> bool:
    return opcode.partition(".")[0] not in ("mov", "add", "mul", "fma", "sub", "cvt", "selp", "setp")
