"""Records what the logical threads of a stage do, so that everything follows what it waits for."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil, prod

from irscope.interpreting.events.hazards import (
    THREAD,
    Hazard,
    LogicalThread,
    PhaseBarrier,
    SharedAllocation,
    slot_name,
)
from irscope.interpreting.events.machine import EventInterpreter
from irscope.interpreting.runtime_values import Buffer, Item, RuntimeValue, size_in_bytes
from irscope.interpreting.stage_program import Op, OpBlock, StageProgram, Type, UnansweredError
from irscope.languages.document import Location
from irscope.model.kernel_timeline import Lane, SpanKind, without_slot
from irscope.model.records import frozen

_NUMBER, _LARGEST_NUMBER, _LATER_PROGRAM = 256, 1 << 14, 8
_MOST_TRIES, _MOST_ITERATIONS = 2, 32
_LOADS = frozenset(("tt.load", "amdg.buffer_load", "tt.descriptor_load", "tt.atomic_rmw", "tt.atomic_cas"))
_STORES = frozenset(("tt.store", "amdg.buffer_store", "tt.descriptor_store", "amdg.buffer_atomic_rmw"))
_MASKED = frozenset(("arith.andi", "tt.broadcast", "ttg.convert_layout", *_LOADS, *_STORES))
_DOTS, _LOOPS = ("tt.dot", "tt.dot_scaled"), ("scf.for", "scf.while")
# What gives registers another name, and needs not wait for them.
_RENAMING = ("tt.trans", "tt.reshape", "tt.expand", "tt.broadcast")


@dataclass(slots=True)
class RecordedEvent:
    """What a thread does: `bit` is the number of its end among all events, -1 if nothing can wait for it.

    `needs` are the numbers of the events that must have ended before the thread goes on. `asynchronous`: an
    engine does it, and the thread goes on at once. `size` counts the bytes that are copied, `types` are those
    of its operands and results.
    """

    kind: SpanKind
    thread: str
    step: Op
    bit: int
    needs: list[int]
    iteration: int
    buffers: tuple[str, ...]
    barrier: str
    phase: int
    asynchronous: bool
    size: int
    types: tuple[Type, ...]


@dataclass(slots=True)
class RecordedThread:
    """A logical thread: its warps, the registers that it requests per thread, and the events in its order."""

    name: str
    warps: int
    registers: int = 0
    events: list[RecordedEvent] = field(default_factory=list)


@dataclass(slots=True)
class _Origin:
    """Where a tensor in registers comes from: its iteration, and the loads that bring it."""

    value: RuntimeValue
    iteration: int
    loads: int
    empty: bool


@frozen
class EventRecording:
    """The events of a stage by thread, how many iterations its data have, and the hazards among them.

    `branches`: some iterations of the main loop do more than others, such as store a tile.
    """

    threads: tuple[RecordedThread, ...]
    iterations: int
    hazards: tuple[Hazard, ...]
    branches: bool

    @property
    def depth(self) -> int:
        """Return how many iterations may be in flight: the most slots that a buffer in a loop has."""
        slots: dict[str, set[str]] = defaultdict(set)
        for thread in self.threads:
            for event in thread.events:
                if event.kind in ("copy", "write") and event.iteration >= 0:
                    for name in event.buffers:
                        slots[name.partition("[")[0]].add(name)
        return max((len(names) for names in slots.values()), default=1)

    def lanes(self) -> tuple[Lane, ...]:
        """Return the warps of each thread that has some, and the engines that they start."""
        events = [event for thread in self.threads for event in thread.events]
        several = len(self.threads) > 1
        lanes = [Lane("warps", t.name, t.warps, t.registers) for t in self.threads if t.name or not several]
        if any(event.asynchronous and event.kind != "product" for event in events):
            lanes.append(Lane("copies"))
        if any(event.kind == "product" or "commit" in event.step.opcode for event in events):
            lanes.append(Lane("tensor cores"))
        return tuple(lanes)


def record_events(program: StageProgram, steady: int) -> EventRecording:
    """Execute a program so that its main loop has `steady` iterations more than those at its start and end.

    What numbers do that is tried: those of arguments first, then that of the program in its grid, on which
    the loops of causal attention depend. Raises UnansweredError.
    """
    best = _adjusted(program, steady, _record(program, _NUMBER, 0), 0)
    if best.iterations < steady + 2 * best.depth:
        with suppress(UnansweredError):
            later = _adjusted(program, steady, _record(program, _NUMBER, _LATER_PROGRAM), _LATER_PROGRAM)
            best = max(best, later, key=lambda recording: recording.iterations)
    return best


def _adjusted(
    program: StageProgram, steady: int, recording: EventRecording, program_id: int
) -> EventRecording:
    """Scale the numbers of a recording until it has about as many iterations as it should."""
    number = _NUMBER
    for _ in range(_MOST_TRIES):
        enough = steady + 2 * recording.depth
        close = 0 <= recording.iterations - enough <= 1
        if recording.hazards or not recording.iterations or close:
            break
        scale = enough / recording.iterations
        number, program_id = ceil(number * scale), ceil(program_id * scale)
        try:
            scaled = _record(program, min(number, _LARGEST_NUMBER), program_id)
        except UnansweredError:
            break
        if scaled.iterations < min(enough, recording.iterations):
            break
        recording = scaled
    return recording


def _record(program: StageProgram, number: int, program_id: int) -> EventRecording:
    recorder = EventRecorder(program)
    machine = EventInterpreter(program, number, recorder)
    with suppress(_EnoughError):
        machine.execute(program_id)
    hazards = tuple(machine.order.hazards.values())
    for thread in recorder.threads.values():
        thread.events = _with_early_loads(thread.events)
    threads = tuple(recorder.threads.values())
    if events := [event for thread in threads for event in thread.events]:
        _name_memory(events)
    return EventRecording(threads, recorder.iterations, hazards, recorder.branches)


def _name_memory(events: Sequence[RecordedEvent]) -> None:
    """Name buffers as in Python, and the barriers that the compiler made after what they guard: "a ready"."""
    buffers = {without_slot(name) for event in events for name in event.buffers}
    variables = Counter(map(_variable, buffers))
    names = {name: _variable(name) for name in buffers if variables[_variable(name)] == 1}
    variables.update(
        _variable(name) for item in events if item.kind == "product" for name in item.step.results
    )
    arrivals: dict[str, RecordedEvent] = {}
    uses: dict[str, RecordedEvent] = {}
    for ordered, kind, noted in ((events, "arrive", arrivals), (events[::-1], "wait", uses)):
        access = ordered[0]
        for event in ordered:
            access = event if event.buffers else access
            if event.kind == kind and event.barrier and "expect" not in event.step.opcode:
                noted[without_slot(event.barrier)] = access
    for barrier, use in uses.items():
        # Another name than that of a variable for data is the user's.
        if use.buffers and (barrier.startswith("%") or _variable(barrier) in variables):
            arrival = arrivals.get(barrier, use)
            shared = {*map(without_slot, arrival.buffers)}
            guarded = next((name for name in map(without_slot, use.buffers) if name in shared), "")
            freed = use.kind in ("copy", "write") or arrival.kind == "read"
            names[barrier] = f"{names.get(guarded, guarded)} {'free' if freed else 'ready'}".strip()

    def named(name: str) -> str:
        whole = without_slot(name)
        return names.get(whole, whole) + name.removeprefix(whole)

    for event in events:
        event.barrier, event.buffers = named(event.barrier), tuple(map(named, event.buffers))


def _with_early_loads(events: Sequence[RecordedEvent]) -> list[RecordedEvent]:
    """Move loads before what waits for others of the iteration: compilers issue independent ones together."""
    moved: list[RecordedEvent] = []
    for event in events:
        place = len(moved)
        if event.kind == "load":
            while place and _is_passed(moved[place - 1], event):
                place -= 1
        moved.insert(place, event)
    return moved


def _is_passed(earlier: RecordedEvent, load: RecordedEvent) -> bool:
    together = earlier.kind in ("compute", "read", "write") and earlier.iteration in (-1, load.iteration)
    return together and not {earlier.bit, *earlier.needs} & {*load.needs}


class _EnoughError(UnansweredError):
    """The rest of the program need not be executed."""


class EventRecorder:
    """The events of one program by thread; `iterations` counts those of the data that loops process."""

    def __init__(self, program: StageProgram) -> None:
        self.threads: dict[str, RecordedThread] = {}
        self.iterations = 0
        self._main_loops = tuple(_main_loops(program.entry))
        self._in_loops = frozenset(place for loop in self._main_loops for place in _places(loop))
        self.branches = any(_has_branches(loop) for loop in self._main_loops)
        self._left = False
        self._accesses: list[tuple[int, Buffer, bool, str]] = []
        self._arrivals: list[tuple[Op, PhaseBarrier, int, int]] = []
        self._origins: dict[int, _Origin] = {}
        self._counts: Counter[tuple[Location | int | None, int, str]] = Counter()
        self._filled: dict[tuple[int, str], int] = {}  # the iteration of what a slot contains
        self._operands: Sequence[Item] = ()
        self._bits = 0  # those of events, not of phases

    # What the interpreter tells.

    def left_loop(self, step: Op) -> None:
        """Note that a loop ended. If the main loop is entered again, it shows nothing new."""
        self._left |= len(self._main_loops) == 1 and step is self._main_loops[0]

    def accessed(self, view: Buffer, write: bool, engine: str, bit: int) -> None:
        """Note that the current operation accesses a buffer."""
        self._accesses.append((bit, view, write, engine))

    def arrived(self, thread: LogicalThread, step: Op, barrier: PhaseBarrier, bit: int) -> None:
        """Record an arrival of a thread at a barrier."""
        self._arrivals.append((step, barrier, bit, len(barrier.ends)))

    def passed(
        self, thread: LogicalThread, step: Op, barrier: PhaseBarrier, phase: int, learned: int
    ) -> None:
        """Record that a thread waited until a phase ended; `learned` are the bits that it did not know."""
        iteration = self._count(step, barrier.home, f"wait of {thread.name}")
        self._add(thread, "wait", step, needs=learned, iteration=iteration, barrier=barrier.name, phase=phase)

    def joined(self, thread: LogicalThread, step: Op, bit: int = 0, needs: int = 0) -> None:
        """Record the start or the end of partitions: a point in time that others wait for, or that waits."""
        self._add(thread, "compute", step, bit, needs)
        requested = step.numbers("requestedRegisters")
        number = thread.name.removeprefix("partition")
        if number.isdecimal() and int(number) < len(requested):
            self.threads[thread.name].registers = requested[int(number)]

    def executed(
        self,
        thread: LogicalThread,
        step: Op,
        operands: Sequence[Item],
        results: Sequence[Item],
        learned: int,
        new_bit: Callable[[], int],
    ) -> None:
        """Record an operation; `learned` are the bits of which the thread did not know before."""
        accesses, self._operands = self._accesses, operands
        memory = self._origins
        origins = [memory[id(item)] for item in operands if id(item) in memory]
        # A product waits for its factors, not for what it adds to.
        factors = operands[:2] if step.opcode in _DOTS else ()
        used = [memory[id(item)] for item in factors if id(item) in memory] if factors else origins
        iteration, loads = -1, 0
        for origin in used:
            iteration, loads = max(iteration, origin.iteration), loads | origin.loads
        empty = _is_empty(step, operands, origins)
        if accesses:
            self._accesses = []
            iteration = self._access(thread, step, accesses, origins, iteration, loads)
            learned &= ~accesses[0][0]
        elif not learned and not self._arrivals:
            iteration, loads = self._own_work(thread, step, iteration, loads, empty, new_bit)
        self._add_arrivals(thread)
        if learned or step.opcode.endswith(("async_wait", "dot_wait", "store_wait", "tdm_wait")):
            self._add(thread, "wait", step, needs=learned)
        for item in results:
            if isinstance(item, RuntimeValue) and not item.known and id(item) not in memory:
                memory[id(item)] = _Origin(item, iteration, loads, empty)

    def _own_work(
        self,
        thread: LogicalThread,
        step: Op,
        iteration: int,
        loads: int,
        empty: bool,
        new_bit: Callable[[], int],
    ) -> tuple[int, int]:
        """Record what is done in registers; return the iteration of its result, and what brings that."""
        if step.opcode in _DOTS:
            self._add(thread, "product", step, needs=loads, iteration=iteration)
            return iteration, 0
        if step.opcode in _LOADS and not empty:
            iteration, bit = self._count(step, None), new_bit()
            names = tuple(_variable(name) for name in step.results[:1])
            self._add(
                thread, "load", step, bit, loads, iteration, names, asynchronous=True, size=_bytes(step)
            )
            return iteration, bit
        if step.opcode in _STORES and not empty:
            self._add(thread, "store", step, needs=loads, iteration=iteration)
        elif "wait" not in step.opcode:
            needed = 0 if step.opcode.startswith(_RENAMING) else loads
            self._add(thread, "compute", step, needs=needed, iteration=iteration)
            return iteration, loads & ~needed
        return iteration, loads

    def _access(
        self,
        thread: LogicalThread,
        step: Op,
        accesses: list[tuple[int, Buffer, bool, str]],
        origins: list[_Origin],
        iteration: int,
        loads: int,
    ) -> int:
        """Record accesses of buffers by one operation; return the iteration of what it accesses."""
        bit, view, write, engine = accesses[0]
        is_product = "dot" in step.opcode or "mma" in step.opcode or step.opcode == "ttng.tmem_copy"
        asynchronous = engine != THREAD
        kind: SpanKind = "write" if write else "read"
        if is_product:  # those of automatic specialization are waited for at once
            kind, asynchronous = "product", step.opcode != "ttng.warp_group_dot" or step.flag("isAsync")
        elif asynchronous:
            kind = "copy" if write else "store"
        if kind == "copy" and any(origin.empty for origin in origins):
            # Past the end of the loop, the mask is false.
            self._add(thread, "compute", step, bit)
            return iteration
        home = view.cell
        if kind == "copy" and isinstance(home, SharedAllocation) and home.name.startswith("%"):
            # A buffer of automatic warp specialization: only the descriptor has a name.
            home.name = _variable(step.operands[0])
        names = tuple(slot_name(item) for _, item, _, _ in accesses)
        slots = [(id(item.cell), name) for (_, item, _, _), name in zip(accesses, names, strict=True)]
        written = [slot for slot, access in zip(slots, accesses, strict=True) if access[2]]
        if kind == "copy" or (kind == "write" and iteration < 0):
            iteration = self._count(step, view.cell)
        elif kind != "write":
            used = (slot for slot, access in zip(slots, accesses, strict=True) if not access[2])
            iteration = max([iteration, *(self._filled.get(slot, -1) for slot in used)])
        self._filled.update(dict.fromkeys(written, iteration))
        self._add(
            thread, kind, step, bit, loads, iteration, names,
            asynchronous=asynchronous, size=sum(item.data.nbytes for _, item, _, _ in accesses),
        )  # fmt: skip
        return iteration

    def _add_arrivals(self, thread: LogicalThread) -> None:
        for step, barrier, bit, phase in self._arrivals:
            iteration = self._count(step, barrier.home, f"arrival of {thread.name}")
            self._add(thread, "arrive", step, bit, iteration=iteration, barrier=barrier.name, phase=phase)
        self._arrivals.clear()

    def _count(self, step: Op, home: object, synchronizes: str = "") -> int:
        """Return how often an operation at this location, in a loop or moved out of it, used an allocation.

        What `synchronizes`, a wait or an arrival of a thread, says nothing about the iterations of the data.
        """
        place = step.location if step.location in self._in_loops else step.line
        if place not in self._in_loops:
            return -1
        key = (place, id(home), synchronizes)
        self._counts[key] += 1
        if not synchronizes:
            if self._left or self._counts[key] > _MOST_ITERATIONS:
                raise _EnoughError("the main loop was executed often enough")
            self.iterations = max(self.iterations, self._counts[key])
        return self._counts[key] - 1

    def _add(
        self,
        thread: LogicalThread,
        kind: SpanKind,
        step: Op,
        bit: int = 0,
        needs: int = 0,
        iteration: int = -1,
        buffers: tuple[str, ...] = (),
        barrier: str = "",
        phase: int = -1,
        asynchronous: bool = False,
        size: int = 0,
    ) -> None:
        recorded = self.threads.get(thread.name)
        if recorded is None:
            recorded = self.threads[thread.name] = RecordedThread(thread.name, thread.warps)
        types = [item.type for item in self._operands if isinstance(item, (Buffer, RuntimeValue))]
        event = RecordedEvent(
            kind, thread.name, step, bit.bit_length() - 1,
            [*_numbers_of(needs & self._bits)] if needs else [],
            iteration, buffers, barrier, phase, asynchronous, size, (*types, *step.types),
        )  # fmt: skip
        self._bits |= bit
        recorded.events.append(event)


def _variable(name: str) -> str:
    """Return the name that a value has in Python: `%a_desc_12` is `a_desc`."""
    return re.sub(r"^%(?=\D)|_\d+$", "", name)


def _numbers_of(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _is_empty(step: Op, operands: Sequence[Item], origins: Sequence[_Origin]) -> bool:
    """Return True for a mask without true elements, and for an operation that has one."""
    if step.opcode == "tt.splat":
        item = operands[0]
        is_mask = step.types[0].element == "i1"
        return is_mask and isinstance(item, RuntimeValue) and item.known and not item.number
    return step.opcode in _MASKED and any(origin.empty for origin in origins)


def _bytes(step: Op) -> int:
    """Return the bytes that a load brings to registers; some have the type of their pointers as their own."""
    if not step.types:
        return 0
    element = step.types[0].element.removeprefix("!tt.ptr<").removesuffix(">")
    return size_in_bytes(element) * prod(step.types[0].shape)


def _main_loops(block: OpBlock) -> Iterator[Op]:
    """Yield the main loop of each partition.

    It is the innermost one with products, or else with copies or loads, and with the most of them.
    """
    loops = [(_score(loop, depth), loop) for loop, depth in _loops(block.steps)]
    scores = [(score, -number) for number, (score, _) in enumerate(loops) if score[0]]
    if scores:
        yield loops[-max(scores)[1]][1]
    for step in block.steps:
        if step.opcode == "ttg.warp_specialize":
            for region in step.regions:
                yield from _main_loops(region)


def _places(loop: Op) -> Iterator[Location | int]:
    """Yield the lines of the operations in a loop, and their locations: those before it have the same."""
    for step in _inner(loop):
        yield step.line
        if step.location is not None:
            yield step.location


def _has_branches(loop: Op) -> bool:
    branches = [step for step in _inner(loop) if step.opcode == "scf.if"]
    return any(
        not step.opcode.startswith(("arith.", "scf.")) for branch in branches for step in _inner(branch)
    )


def _loops(steps: Sequence[Op], depth: int = 0) -> Iterator[tuple[Op, int]]:
    """Yield the loops among operations and in them, but not those of partitions, and how deep they are."""
    for step in steps:
        if step.opcode in _LOOPS:
            yield step, depth
        for region in step.regions if step.opcode != "ttg.warp_specialize" else ():
            yield from _loops(region.steps, depth + 1)


def _inner(step: Op, through: tuple[str, ...] = ()) -> Iterator[Op]:
    """Yield the operations in an operation, but not those in one of the opcodes `through`."""
    for region in step.regions:
        for inner in region.steps:
            yield inner
            if inner.opcode not in through:
                yield from _inner(inner, through)


def _score(loop: Op, depth: int) -> tuple[int, int, int, int]:
    opcodes = [step.opcode for step in _inner(loop, _LOOPS)]
    products = sum(("dot" in opcode and "wait" not in opcode) or "gen5_mma" in opcode for opcode in opcodes)
    copies = sum(
        "global_to_local" in opcode or "to_local" in opcode or opcode in _LOADS for opcode in opcodes
    )
    return 2 * bool(products) or bool(copies), depth, products, copies
