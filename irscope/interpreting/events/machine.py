"""Executes the scalar part of the final TTGIR for a few iterations, and orders its events.

Tensors are opaque. Arguments, and integers that a kernel loads, get numbers that make its loops run a few
times. The barriers that the compiler inserts later, between the instructions of one partition, are taken for
granted: `lowered` checks those.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from irscope.interpreting.domain import Domain, UnnotedDomain
from irscope.interpreting.events.event_order import EventOrder
from irscope.interpreting.events.hazards import (
    COPY,
    THREAD,
    Hazard,
    LogicalThread,
    PhaseBarrier,
    SharedAllocation,
    address,
    slot_name,
)
from irscope.interpreting.events.operations import EVENTS, is_asynchronous, notes, opaque
from irscope.interpreting.integers import integer_result
from irscope.interpreting.memory import buffer_of
from irscope.interpreting.runtime_values import (
    Buffer,
    Item,
    Results,
    RuntimeValue,
    is_integer,
    known_number,
    size_in_bytes,
    width,
)
from irscope.interpreting.stage_interpreter import (
    Execution,
    ExecutionLimits,
    Frame,
    KernelLaunch,
    StageInterpreter,
)
from irscope.interpreting.stage_program import Op, StageProgram, Type, UnansweredError
from irscope.languages.document import Document
from irscope.layouts.convert import Version

if TYPE_CHECKING:
    from irscope.interpreting.events.event_recorder import EventRecorder

# What an integer argument is at first. If loops have few iterations, so that they do not come back to a
# buffer often enough, a larger one is tried; if they have too many, a smaller one.
_ARGUMENT, _SMALL_ARGUMENT = 256, 64
_FEW_ITERATIONS, _MOST_TRIES = 7, 2
_STEPS = 8_000
# A condition that depends on data holds so often, then no more.
_TIMES = 4
_FENCED_COPIES = (3, 9)
_SHARED_MEMORY = 1 << 18


_SCALAR_HANDLERS = frozenset(
    ("arith.constant", "tt.get_program_id", "tt.get_num_programs", "arith.select", "ub.poison", "ttg.warp_id",
     "nvgpu.cluster_id", "ttg.memdesc_index", "ttg.memdesc_subview", "ttg.memdesc_subslice",
     "ttg.memdesc_trans", "ttng.tmem_subslice")
)  # fmt: skip


@dataclass(frozen=True)
class EventCheck:
    """The hazards of a stage. `unanswered` says why it could not be executed."""

    hazards: tuple[Hazard, ...] = ()
    unanswered: str = ""


def check_order(document: Document, triton: Version) -> EventCheck:
    """Execute the final TTGIR of a kernel and return what nothing orders. Never raises."""
    try:
        program = StageProgram(document, triton)
        if re.search(r'"ttg\.num-ctas" = (?!1 )\d', document.text):
            return EventCheck(unanswered="clusters of several CTAs")
        return EventCheck(tuple(execute_events(program).order.hazards.values()))
    except UnansweredError as error:
        return EventCheck(unanswered=error.reason)
    except RecursionError:
        return EventCheck(unanswered="the stage is nested too deeply")


def execute_events(program: StageProgram) -> EventInterpreter:
    """Execute a program with numbers that let loops come back to their buffers. Raises UnansweredError."""
    number = _ARGUMENT
    machine = EventInterpreter(program, number)
    try:
        machine.execute()
    except UnansweredError:
        if machine.steps < _STEPS:
            raise
        machine = EventInterpreter(program, _SMALL_ARGUMENT)
        machine.execute()
        return machine
    for _ in range(_MOST_TRIES):
        if machine.order.hazards or not 0 <= machine.trips < _FEW_ITERATIONS:
            break
        number *= 2 if 2 * machine.trips >= _FEW_ITERATIONS else 4
        longer = EventInterpreter(program, number)
        try:
            longer.execute()
        except UnansweredError:
            break
        machine = longer
    return machine


class _OpaqueDomain(UnnotedDomain):
    """What the interpreter asks a domain if every tensor and every float is opaque."""

    def __init__(self, machine: EventInterpreter) -> None:
        self._machine = machine

    def begin(self, program: StageProgram, program_id: tuple[int, int, int]) -> None:
        """Begin the execution of the program."""

    def constant(self, number: float, type_: Type) -> RuntimeValue:
        """Return an opaque constant."""
        return opaque(type_)

    def repeated(self, step: Op, times: range, carried: Sequence[RuntimeValue]) -> None:
        """Note how many iterations a loop had that copies or multiplies asynchronously."""
        if len(times) > self._machine.trips and is_asynchronous(step):
            self._machine.trips = len(times)
        if self._machine.recorder is not None:
            self._machine.recorder.left_loop(step)


class _DeadlockError(UnansweredError):
    """All threads wait."""


class EventInterpreter(StageInterpreter):
    """Executes one program of a stage as logical threads; `order` has what came of it.

    `trips` are the iterations of the longest loop that copies or multiplies asynchronously; -1 without one.
    """

    def __init__(self, program: StageProgram, number: int, recorder: EventRecorder | None = None) -> None:
        limits = ExecutionLimits(_STEPS, 1 << 60)
        super().__init__(program, cast(Domain, _OpaqueDomain(self)), KernelLaunch({}, (1, 1, 1)), limits)
        self.number = number
        self.recorder = recorder
        # Later Tritons fence copies by cp.async, earlier ones do not.
        self.order = EventOrder((THREAD, COPY) if program.triton >= _FENCED_COPIES else (THREAD,))
        warps = re.search(r'"ttg\.num-warps" = (\d+)', program.document.text)
        self.thread = LogicalThread("", warps=int(warps[1]) if warps else 4)
        self.threads = [self.thread]
        self.trips = -1
        self._arena: SharedAllocation | None = None
        for opcode in ("ttng.wait_barrier", "amdg.wait_barrier"):
            self._control[opcode] = lambda _, step, frame: self._wait_for_phase(step, frame)
        self._control["ttg.warp_specialize"] = lambda _, step, frame: self._specialize(step, frame)

    def execute(self, program_id: int = 0) -> None:
        """Execute a program to its end, or until all threads wait. Raises UnansweredError."""
        try:
            self.run((program_id, 0, 0))
        except _DeadlockError:
            return
        self.order.end(self.thread)

    def _argument(self, index: int, name: str) -> Item:
        type_ = self.program.argument_types[index]
        if self.program.pointees[index] or not is_integer(type_.element) or type_.kind:
            return opaque(type_)
        return self._integer(type_, self.number)

    def _integer(self, type_: Type, number: int) -> RuntimeValue:
        return RuntimeValue(np.array(number if width(type_.element) >= 16 else 1, np.int64), type_)

    def guess(self, step: Op) -> Results:
        """Return results that depend on data: numbers for integers, so that loops and branches go on."""
        visit = self.visit(step)
        results: Results = []
        for type_ in step.types:
            if type_.kind == "tensor" or not is_integer(type_.element):
                results.append(opaque(type_))
            elif type_.element == "i1":
                results.append(RuntimeValue(np.array(int(visit < _TIMES), np.int64), type_))
            elif "atomic" in step.opcode:
                results.append(self._integer(type_, visit))
            else:
                results.append(self._integer(type_, self.number * (visit + 1)))
        return results

    def visit(self, step: Op) -> int:
        """Return how often this thread executed an operation before."""
        return self.thread.visits.get(step.line, 1) - 1

    def _execute(self, step: Op, operands: Sequence[Item]) -> Results:
        thread, before = self.thread, self.thread.known
        results = self._perform(step, operands)
        if self.recorder is not None:
            learned = thread.known & ~before
            self.recorder.executed(thread, step, operands, results, learned, self.order.new_bit)
        return results

    def _perform(self, step: Op, operands: Sequence[Item]) -> Results:
        thread = self.thread
        thread.visits[step.line] = thread.visits.get(step.line, 0) + 1
        handler = EVENTS.get(step.opcode)
        if handler is not None:
            return handler(self, step, operands)
        if thread.products:
            if step.opcode == "arith.select" and step.types[0].kind == "tensor":
                # The choice is made in the registers of the next product.
                return [opaque(type_, notes(operands)) for type_ in step.types]
            self.order.use(thread, step, operands)
        if step.types and step.types[0].kind == "tensor":
            return [opaque(type_) for type_ in step.types]
        numbers = [item for item in operands if isinstance(item, RuntimeValue) and item.known]
        if step.opcode in _SCALAR_HANDLERS:
            return super()._execute(step, operands)
        results = integer_result(step, numbers) if len(numbers) == len(operands) else None
        return self.guess(step) if results is None else [*results]

    def bit_of(self, step: Op, buffers: Sequence[Item], write: bool, engine: str, bit: int = 0) -> int:
        """Note an access of buffers by one event; return its bit."""
        bit = bit or self.order.new_bit()
        for item in buffers:
            if isinstance(item, Buffer):
                self.order.access(self.thread, step, item, write, engine, bit)
                if self.recorder is not None:
                    self.recorder.accessed(item, write, engine, bit)
        return bit

    def arrive(self, step: Op, barrier: PhaseBarrier, mask: int, count: int = 1) -> None:
        """Arrive at a barrier `count` times when `mask` and all that the thread knows of have happened."""
        if self.recorder is not None:
            bit = self.order.new_bit()
            self.recorder.arrived(self.thread, step, barrier, bit)
            mask |= bit
        self.order.arrive(self.thread, step, barrier, mask | self.thread.known, count)

    def barrier(self, item: Item, step: Op) -> PhaseBarrier:
        """Return the barrier in a buffer; report one that was not initialized, and stop."""
        buffer = buffer_of(item, step)
        barrier = self.order.barriers.get(address(buffer.data))
        if barrier is None:
            self.order.uninitialized(self.thread, step, slot_name(buffer))
            raise _DeadlockError("a barrier that is not initialized", step)
        return barrier

    def allocate(self, step: Op) -> Buffer:
        """Return a new allocation, at its offset in shared memory if the stage has offsets."""
        type_ = step.types[0]
        size = size_in_bytes(type_.element)
        kind = np.dtype(f"u{size}" if size in (1, 2, 4, 8) else "u1")
        name = step.results[0]
        home = SharedAllocation(name=name if name[1:].isdecimal() else name[1:])
        offset = re.search(r"\ballocation\.offset = (\d+)", step.text)
        count = int(np.prod(type_.shape))
        if offset and int(offset[1]) + count * kind.itemsize <= _SHARED_MEMORY:
            if self._arena is None:
                self._arena = SharedAllocation(data=np.zeros(_SHARED_MEMORY, np.uint8))
            home.accesses = self._arena.accesses
            start = int(offset[1])
            data = self._arena.data[start : start + count * kind.itemsize].view(kind).reshape(type_.shape)
        else:
            data = np.zeros(type_.shape, kind)
        home.data = data
        self.order.allocations.append(home)
        return Buffer(data, type_, home)

    def _wait_for_phase(self, step: Op, frame: Frame) -> Execution:
        items = [frame.values[name] for name in step.operands]
        thread = self.thread
        thread.visits[step.line] = thread.visits.get(step.line, 0) + 1
        barrier = self.barrier(items[0], step)
        barrier.home.waits += 1
        parity = known_number(items[1], "a barrier's parity", step)
        if len(items) > 2 and isinstance(items[2], RuntimeValue) and not items[2].number:
            return []
        target = self.order.target_phase(thread, barrier, parity)
        thread.waiting = step, barrier, target
        while len(barrier.ends) < target:
            if len(self.threads) == 1:
                self.order.deadlock(self.threads)
                raise _DeadlockError("a barrier's phase never ends", step)
            yield step
        thread.waiting = None
        before = thread.known
        self.order.passed(thread, step, barrier, target)
        if self.recorder is not None:
            self.recorder.passed(thread, step, barrier, target - 1, thread.known & ~before)
        return []

    def _specialize(self, step: Op, frame: Frame) -> Execution:
        """Run the partitions in turns; each begins with what happened before, and all end before the rest."""
        yield from ()
        parent = self.thread
        operands = [frame.values[name] for name in step.operands]
        warps = self._partition_warps(step)
        running: list[tuple[LogicalThread, Execution]] = []
        for number, region in enumerate(step.regions):
            values = frame.values if number == 0 else dict(frame.values)
            if number:
                values.update(zip(region.arguments, operands, strict=False))
            name = f"partition{number - 1}" if number else "default"
            thread = LogicalThread(name, parent.known, warps.get(name, parent.warps))
            running.append((thread, self.block(region, Frame(values))))
        self._join([parent], [thread for thread, _ in running], step)
        running[0][0].visits = parent.visits
        ended: list[LogicalThread] = []
        results: Results = []
        while running:
            self.threads = [thread for thread, _ in running]
            if len(self.threads) == 1:
                self.threads = [*self.threads, *ended[:1]]
            before = self.steps
            for thread, execution in tuple(running):
                self.thread = thread
                try:
                    next(execution)
                except StopIteration as stop:
                    running.remove((thread, execution))
                    ended.append(thread)
                    results = stop.value if thread.name == "default" else results
            if running and self.steps == before and all(thread.waiting for thread, _ in running):
                self.order.deadlock([thread for thread, _ in running])
                raise _DeadlockError("the partitions wait for each other", step)
        for thread in ended:
            parent.known |= thread.known
            parent.stores += thread.stores
        self._join(ended, [parent], step)
        self.thread, self.threads = parent, [parent]
        return results

    def _join(self, before: Sequence[LogicalThread], after: Sequence[LogicalThread], step: Op) -> None:
        """Record that threads go on when others have come to this operation."""
        if self.recorder is None:
            return
        bits = 0
        for thread in before:
            bit = self.order.new_bit()
            self.recorder.joined(thread, step, bit)
            bits |= bit
        for thread in after:
            self.recorder.joined(thread, step, needs=bits)

    def _partition_warps(self, step: Op) -> dict[str, int]:
        lines = self.program.document.lines
        warps: dict[str, int] = {}
        for number in range(step.line, len(lines)):
            match = re.match(r"\s*(partition\d+)\(.*num_warps\((\d+)\)", lines[number])
            if match:
                warps[match[1]] = int(match[2])
            if len(warps) == len(step.regions) - 1:
                break
        return warps
