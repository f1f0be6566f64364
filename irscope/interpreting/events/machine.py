"""Executes the scalar part of the final TTGIR for a few iterations, and orders its events.

Tensors are opaque. Arguments, and integers that a kernel loads, get numbers that make its loops run a few times.
The barriers that the compiler inserts later, between the instructions of one partition, are taken for granted:
`lowered` checks those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from irscope.interpreting.domain import Domain
from irscope.interpreting.events.order import (
    COPY,
    TCGEN05,
    THREAD,
    TMA,
    WGMMA,
    EventOrder,
    Hazard,
    LogicalThread,
    PhaseBarrier,
    SharedAllocation,
    address,
    slot_name,
)
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
from irscope.interpreting.stage_program import Op, OpBlock, StageProgram, Type
from irscope.interpreting.unanswered import UnansweredError
from irscope.languages.document import Document
from irscope.layouts.convert import Version

# What an integer argument is at first. If loops have few iterations, so that they do not come back to a buffer
# often enough, a larger one is tried; if they have too many, a smaller one.
_ARGUMENT, _SMALL_ARGUMENT = 256, 64
_FEW_ITERATIONS, _MOST_TRIES = 7, 2
_STEPS = 15_000
# A condition that depends on data holds so often, then no more.
_TIMES = 4
_NOTHING = np.zeros(1, np.int64)
_THREADS_PER_WARP = 32
_FENCED_COPIES = (3, 9)
_SHARED_MEMORY = 1 << 18


@dataclass(frozen=True)
class EventCheck:
    """The hazards of a stage. `unanswered` says why it could not be executed, at line `line` of the stage."""

    hazards: tuple[Hazard, ...] = ()
    unanswered: str = ""
    line: int | None = None


def check_order(document: Document, triton: Version) -> EventCheck:
    """Execute the final TTGIR of a kernel and return what nothing orders. Never raises."""
    try:
        program = StageProgram(document, triton)
        if re.search(r'"ttg\.num-ctas" = (?!1 )\d', document.text):
            return EventCheck(unanswered="clusters of several CTAs")
        return EventCheck(tuple(execute_events(program).order.hazards.values()))
    except UnansweredError as error:
        return EventCheck(unanswered=error.reason, line=error.step.line if error.step else None)
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


class _OpaqueDomain:
    """What the interpreter asks a domain if every tensor and every float is opaque."""

    def __init__(self, machine: EventInterpreter) -> None:
        self._machine = machine

    def begin(self, program: StageProgram, program_id: tuple[int, int, int]) -> None:
        """Begin the execution of the program."""

    def enter(self, block: OpBlock) -> None:
        """Begin a block of code."""

    def computed(self, step: Op, name: str, value: RuntimeValue) -> None:
        """Ignore a result that is not known."""

    def constant(self, number: float, type_: Type) -> RuntimeValue:
        """Return an opaque constant."""
        return opaque(type_)

    def carried(self, value: RuntimeValue) -> RuntimeValue:
        """Return a value as it is: an accumulator in flight stays in flight."""
        return value

    def repeated(self, step: Op, times: range, carried: Sequence[RuntimeValue]) -> None:
        """Note how many iterations a loop had that copies or multiplies asynchronously."""
        if len(times) > self._machine.trips and _is_asynchronous(step):
            self._machine.trips = len(times)


def opaque(type_: Type, note: int = 0) -> RuntimeValue:
    """Return a value of which only the type is known; `note` has the bits of what computes it."""
    return RuntimeValue(_NOTHING, type_, False, note)


class _DeadlockError(UnansweredError):
    """All threads wait."""


class EventInterpreter(StageInterpreter):
    """Executes one program of a stage as logical threads; `order` has what came of it.

    `trips` are the iterations of the longest loop that copies or multiplies asynchronously; -1 if there is none.
    """

    def __init__(self, program: StageProgram, number: int) -> None:
        limits = ExecutionLimits(_STEPS, 1 << 60)
        super().__init__(program, cast(Domain, _OpaqueDomain(self)), KernelLaunch({}, (1, 1, 1)), limits)
        self.number = number
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

    def execute(self) -> None:
        """Execute the program to its end, or until all threads wait. Raises UnansweredError."""
        try:
            self.run((0, 0, 0))
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
        thread = self.thread
        thread.visits[step.line] = thread.visits.get(step.line, 0) + 1
        handler = _EVENTS.get(step.opcode)
        if handler is not None:
            return handler(self, step, operands)
        if thread.products:
            if step.opcode == "arith.select" and step.types[0].kind == "tensor":
                # The choice is made in the registers of the next product.
                return [opaque(type_, _notes(operands)) for type_ in step.types]
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
        return bit

    def barrier(self, item: Item, step: Op) -> PhaseBarrier:
        """Return the barrier in a buffer; report one that was not initialized, and stop."""
        buffer = buffer_of(item, step)
        barrier = self.order.barriers.get(address(buffer.data))
        if barrier is None:
            self.order.report_uninitialized(self.thread, step, slot_name(buffer))
            raise _DeadlockError("a barrier that is not initialized", step)
        return barrier

    def allocate(self, step: Op) -> Buffer:
        """Return a new allocation, at its offset in shared memory if the stage has offsets."""
        type_ = step.types[0]
        size = size_in_bytes(type_.element)
        kind = np.dtype(f"u{size}" if size in (1, 2, 4, 8) else "u1")
        name = step.results[0]
        home = SharedAllocation(name=name if name[1:].isdecimal() else name[1:], step=step)
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
                self.order.report_deadlock(self.threads)
                raise _DeadlockError("a barrier's phase never ends", step)
            yield step
        thread.waiting = None
        self.order.passed(thread, step, barrier, target)
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
            thread = LogicalThread(name, parent.known, warps[number - 1] if 0 < number <= len(warps) else parent.warps)
            running.append((thread, self.block(region, Frame(values))))
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
                except StopIteration as stop:  # noqa: PERF203 - a partition ends once
                    running.remove((thread, execution))
                    ended.append(thread)
                    results = stop.value if thread.name == "default" else results
            if running and self.steps == before and all(thread.waiting for thread, _ in running):
                self.order.report_deadlock([thread for thread, _ in running])
                raise _DeadlockError("the partitions wait for each other", step)
        for thread in ended:
            parent.known |= thread.known
            parent.stores += thread.stores
        self.thread, self.threads = parent, [parent]
        return results

    def _partition_warps(self, step: Op) -> list[int]:
        lines = self.program.document.lines
        warps: list[int] = []
        for number in range(step.line, len(lines)):
            match = re.match(r"\s*partition\d+\(.*num_warps\((\d+)\)", lines[number])
            if match:
                warps.append(int(match[1]))
            if len(warps) == len(step.regions) - 1:
                break
        return warps


EventHandler = Callable[[EventInterpreter, Op, Sequence[Item]], Results]

_SCALAR_HANDLERS = frozenset(
    ("arith.constant", "tt.get_program_id", "tt.get_num_programs", "arith.select", "ub.poison", "ttg.warp_id",
     "nvgpu.cluster_id", "ttg.memdesc_index", "ttg.memdesc_subview", "ttg.memdesc_subslice", "ttg.memdesc_trans",
     "ttng.tmem_subslice")
)  # fmt: skip
_ASYNCHRONOUS = ("async_copy", "async_tma", "async_tdm", "buffer_load_to_local", "warp_group_dot", "tc_gen5_mma")


def _is_asynchronous(step: Op) -> bool:
    return any(
        any(word in inner.opcode for word in _ASYNCHRONOUS) or _is_asynchronous(inner)
        for region in step.regions
        for inner in region.steps
    )


def _numbers(operands: Sequence[Item]) -> list[RuntimeValue]:
    """Return the operands that are integers: neither buffers nor tokens nor tensors."""
    return [item for item in operands if isinstance(item, RuntimeValue) and item.known and not item.type.kind]


def _notes(operands: Sequence[Item]) -> int:
    """Return the bits of what computes the operands: products in flight, or the copies of tokens."""
    notes = 0
    for item in operands:
        if isinstance(item, RuntimeValue) and isinstance(item.note, int):
            notes |= item.note
    return notes


def _holds(operands: Sequence[Item]) -> bool:
    """Return True if the predicates, which follow the first buffer, hold."""
    first = next((number for number, item in enumerate(operands) if isinstance(item, Buffer)), 0)
    return all(item.number for item in _numbers(operands[first:]))


def _nothing(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    return machine.guess(step)


# Buffers.


def _alloc(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    buffer = machine.allocate(step)
    if any(isinstance(item, RuntimeValue) for item in operands):
        machine.bit_of(step, [buffer], True, THREAD)
    return [buffer, *([None] * (len(step.results) - 1))]


def _read(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    machine.bit_of(step, operands, False, THREAD)
    return [opaque(type_) for type_ in step.types]


def _write(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    if step.opcode != "ttng.tmem_store" or _holds(operands):
        machine.bit_of(step, operands, True, THREAD)
    return [None] * len(step.results)


def _dealloc(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    machine.order.free(machine.thread, step, buffer_of(operands[0], step))
    return []


def _reinterpret(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    """Return a view as another type or shape: rows that stay rows, or else flat memory."""
    buffer, type_ = buffer_of(operands[0], step), step.types[0]
    size = size_in_bytes(type_.element)
    kind = np.dtype(f"u{size}" if size in (1, 2, 4, 8) else "u1")
    data = buffer.data
    try:
        if data.shape == type_.shape and data.dtype == kind:
            return [Buffer(data, type_, buffer.cell)]
        if data.shape[:-1] == type_.shape[:-1] and not data.flags.c_contiguous:
            return [Buffer(data.view(kind)[..., : type_.shape[-1]], type_, buffer.cell)]
        view = data.view()
        view.shape = (data.size,)
        count = int(np.prod(type_.shape))
        return [Buffer(view.view(kind)[:count].reshape(type_.shape), type_, buffer.cell)]
    except (ValueError, AttributeError) as error:
        raise UnansweredError("a buffer that is read as another type", step) from error


# Copies.


def _copy(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    bit = machine.bit_of(step, operands, True, COPY)
    machine.thread.open_group |= bit
    return [opaque(_TOKEN, bit) for _ in step.results]


def _commit(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    thread = machine.thread
    group, thread.open_group = thread.open_group, 0
    thread.groups.append(group)
    return [opaque(_TOKEN, group) for _ in step.results]


def _wait_copies(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    thread = machine.thread
    left = step.number("num", 0)
    tokens = _notes(operands)
    if machine.program.target.startswith("hip") and tokens:
        # The number of instructions to wait for is computed from the tokens, not from `num`.
        newest = max((n for n, group in enumerate(thread.groups) if group & tokens), default=-1)
        left = max(left, len(thread.groups) - 1 - newest)
    thread.complete(thread.groups, left)
    return [opaque(_TOKEN, tokens) for _ in step.results]


def _arrive_after_copies(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    thread, barrier = machine.thread, machine.barrier(operands[0], step)
    mask = thread.known | thread.open_group
    for group in thread.groups:
        mask |= group
    if step.flag("noIncrement"):
        machine.order.arrive(thread, step, barrier, mask, thread.warps * _THREADS_PER_WARP)
    else:
        barrier.gathered |= mask
    return []


def _tma_load(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    """Copy to a buffer and count its bytes at a barrier: `%desc[%i, %j] %buffer, %barrier, %predicate`."""
    buffers = [item for item in operands if isinstance(item, Buffer)]
    if not _holds(operands):
        return []
    barrier_view = next((item for item in buffers if address(item.data) in machine.order.barriers), None)
    if barrier_view is None:
        barrier_view = buffers[-1]
    barrier = machine.barrier(barrier_view, step)
    targets = [item for item in buffers if item is not barrier_view]
    bit = machine.bit_of(step, targets, True, TMA)
    machine.order.arrive_bytes(
        machine.thread, step, barrier, bit | machine.thread.known, sum(item.data.nbytes for item in targets)
    )
    return []


def _tma_store(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    bit = machine.bit_of(step, operands, False, TMA)
    machine.thread.stores.append(bit)
    return [opaque(_TOKEN, bit) for _ in step.results]


def _wait_stores(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    machine.thread.complete(machine.thread.stores, step.number("pendings", step.number("num", 0)))
    return [None] * len(step.results)


def _tdm_load(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    """Copy by AMD's data mover, whose copies end in order and are counted one by one."""
    buffers = [item for item in operands if isinstance(item, Buffer)]
    barriers = [item for item in buffers if address(item.data) in machine.order.barriers]
    targets = [item for item in buffers if item not in barriers]
    bit = machine.bit_of(step, targets, True, COPY)
    machine.thread.stores.append(bit)
    for item in barriers:
        machine.order.arrive(machine.thread, step, machine.barrier(item, step), bit | machine.thread.known)
    return [opaque(_TOKEN, bit) for _ in step.results]


def _tdm_store(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    bit = machine.bit_of(step, operands, False, COPY)
    machine.thread.stores.append(bit)
    return [opaque(_TOKEN, bit) for _ in step.results]


# Barriers.


def _init_barrier(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    buffer = buffer_of(operands[0], step)
    count = _literal(step, "count", 1)
    home = cast(SharedAllocation, buffer.cell)
    barrier = PhaseBarrier(count, count, slot_name(buffer), home, step)
    machine.order.barriers[address(buffer.data)] = barrier
    home.barriers.append(barrier)
    return []


def _literal(step: Op, name: str, default: int) -> int:
    """Return a number that is printed as an attribute or between the operands."""
    number = step.number(name, 0)
    if number:
        return number
    text = re.sub(r"\{.*", "", step.text.split(" : ")[0])
    digits = [item for item in text.replace(",", " ").split() if item.isdecimal()]
    return int(digits[0]) if digits else default


def _expect(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    barrier = machine.barrier(operands[0], step)
    if _holds(operands):
        barrier.bytes += _literal(step, "size", 0)
        machine.order.arrive(machine.thread, step, barrier, machine.thread.known)
    return []


def _arrive(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    barrier = machine.barrier(operands[0], step)
    if _holds(operands):
        machine.order.arrive(machine.thread, step, barrier, machine.thread.known, _literal(step, "count", 1))
    return [None] * len(step.results)


def _fence(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    machine.order.fence(machine.thread)
    return []


# Products.


def _wgmma(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    bit = machine.bit_of(step, operands[:2], False, WGMMA)
    thread = machine.thread
    if step.flag("isAsync"):
        thread.products.append(bit)
    else:
        thread.complete(thread.products, 0)
        thread.known |= bit
    return [opaque(type_, bit) for type_ in step.types]


def _wait_wgmma(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    machine.thread.complete(machine.thread.products, step.number("pendings", 0))
    return [*operands[: len(step.results)]]


def _tcgen05(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    """Multiply: `%a, %b, %accumulator[%token], ..., %adds, %predicate, %barrier[%predicate], ...`."""
    buffers = [item for item in operands if isinstance(item, Buffer)]
    barriers = [item for item in buffers if item.type.element == "i64"]
    factors = [item for item in buffers if item.type.element != "i64"]
    numbers = _numbers(operands)
    flags = numbers[: len(numbers) - len(barriers)]
    if flags and not flags[-1].number:
        return [None] * len(step.results)
    bit = machine.bit_of(step, [*factors[:2], *factors[3:]], False, TCGEN05)
    machine.bit_of(step, factors[2:3], True, TCGEN05, bit)
    machine.thread.tensor_products |= bit
    for item, arrives in zip(barriers, numbers[len(flags) :], strict=False):
        if arrives.number:
            _commit_products(machine, step, [item])
    return [None] * len(step.results)


def _tmem_copy(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    source, target, *barriers = (item for item in operands if isinstance(item, Buffer))
    bit = machine.bit_of(step, [source], False, TCGEN05)
    machine.bit_of(step, [target], True, TCGEN05, bit)
    machine.thread.tensor_products |= bit
    for item in barriers:
        _commit_products(machine, step, [item])
    return [None] * len(step.results)


def _commit_products(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    barrier = machine.barrier(operands[0], step)
    if _holds(operands):
        thread = machine.thread
        machine.order.arrive(thread, step, barrier, thread.known | thread.tensor_products)
    return []


def _cancel(machine: EventInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    """Let a program take over the work of others a few times."""
    canceled = machine.visit(step) >= _TIMES - 1
    return [RuntimeValue(np.array(int(canceled), np.int64), type_) for type_ in step.types]


_TOKEN = Type("!ttg.async.token")
_EVENTS: Mapping[str, EventHandler] = {
    **dict.fromkeys(("ttg.local_alloc", "ttng.tmem_alloc"), _alloc),
    **dict.fromkeys(("ttg.local_load", "ttng.tmem_load", "ttg.local_gather", "amdg.local_load_packed_transposed"), _read),
    **dict.fromkeys(("ttg.local_store", "ttng.tmem_store", "ttg.local_scatter", "ttg.local_atomic_scatter_rmw"), _write),
    "ttg.local_dealloc": _dealloc,
    "ttg.memdesc_reshape": _reinterpret,
    "ttg.memdesc_reinterpret": _reinterpret,
    "ttg.async_copy_global_to_local": _copy,
    "amdg.buffer_load_to_local": _copy,
    "ttg.async_commit_group": _commit,
    "ttg.async_wait": _wait_copies,
    "amdg.async_wait": _wait_copies,
    "ttng.async_copy_mbarrier_arrive": _arrive_after_copies,
    "amdg.async_copy_mbarrier_arrive": _arrive_after_copies,
    "ttng.async_tma_copy_global_to_local": _tma_load,
    "ttng.async_tma_gather": _tma_load,
    "ttng.clc_try_cancel": _tma_load,
    "ttng.clc_is_canceled": _cancel,
    "ttng.async_tma_copy_local_to_global": _tma_store,
    "ttng.async_tma_reduce": _tma_store,
    "ttng.async_tma_scatter": _tma_store,
    "ttng.async_tma_store_wait": _wait_stores,
    "ttng.async_tma_store_token_wait": _wait_stores,
    "amdg.async_tdm_copy_global_to_local": _tdm_load,
    "amdg.async_tdm_copy_local_to_global": _tdm_store,
    "amdg.async_tdm_wait": _wait_stores,
    "ttng.init_barrier": _init_barrier,
    "amdg.init_barrier": _init_barrier,
    "ttng.barrier_expect": _expect,
    "ttng.arrive_barrier": _arrive,
    "amdg.arrive_barrier": _arrive,
    "ttng.fence_async_shared": _fence,
    "ttng.warp_group_dot": _wgmma,
    "ttng.warp_group_dot_wait": _wait_wgmma,
    "ttng.tc_gen5_mma": _tcgen05,
    "ttng.tc_gen5_mma_scaled": _tcgen05,
    "ttng.tmem_copy": _tmem_copy,
    "ttng.tc_gen5_commit": _commit_products,
    **dict.fromkeys(
        ("tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.unsplat", "tt.reduce", "tt.addptr",
         "tt.make_tensor_descriptor", "ttng.reinterpret_tensor_descriptor", "ttng.tensormap_create",
         "tt.descriptor_load", "tt.descriptor_store", "ttg.global_scratch_alloc", "ttg.convert_layout",
         "amdg.buffer_load", "amdg.buffer_store", "amdg.buffer_atomic_rmw", "ttng.clc_load_result"),
        _nothing,
    ),
}  # fmt: skip
