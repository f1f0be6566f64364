"""What is reported: orders that nothing enforces, with line, buffer, partition, iteration and remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from irscope.interpreting.runtime_values import Array, Buffer, BufferState
from irscope.interpreting.stage_program import Op
from irscope.languages.document import inlining_chain

# How an access is done: by a thread's own instruction, or by an engine that goes on by itself.
THREAD, COPY, TMA, WGMMA, TCGEN05 = "", "cp.async", "TMA", "wgmma", "tcgen05"

# The kinds of hazards.
EARLY_READ = "read before the write is visible"
OVERWRITTEN = "overwritten before the last use"
DEADLOCK = "deadlock"
PHASE = "phase off by one"
COUNT = "counts do not match"
NO_WAIT = "nothing waits"
IN_FLIGHT = "used while a product is in flight"
FENCE = "no fence between proxies"
NO_BARRIER = "no barrier between warps"

_NAMES = {
    (THREAD, True): "the write",
    (THREAD, False): "the read",
    (COPY, True): "the asynchronous copy",
    (COPY, False): "the asynchronous store",
    (TMA, True): "the TMA copy",
    (TMA, False): "the TMA store",
}
_PRODUCTS = {WGMMA: "the wgmma", TCGEN05: "the tcgen05 product"}
_REMEDIES = {
    THREAD: "let the writer arrive at a barrier after its write, and wait for it before the read",
    COPY: "wait until fewer groups of copies are in flight, or copy earlier",
    TMA: "wait for the barrier of the copy, with the phase that this copy ends",
    WGMMA: "wait for the product first: warpgroup_mma_wait with fewer pending products",
    TCGEN05: "commit the product to a barrier and wait for it first",
}


@dataclass(frozen=True)
class Hazard:
    """An order that nothing enforces, at `step`; `other` is the operation that it conflicts with, if any.

    `buffer` names the buffer or barrier with its slot, `thread` the partition that executes `step` (""
    without specialization), in `iteration` (from 0). `trace` has a line per access or waiting partition.
    """

    kind: str
    step: Op
    message: str
    remedy: str
    buffer: str
    thread: str = ""
    iteration: int = 0
    other: Op | None = None
    trace: tuple[str, ...] = ()


@dataclass(slots=True)
class BufferAccess:
    """A read or a write of a view of a buffer."""

    bit: int
    write: bool
    view: Buffer
    step: Op
    thread: str
    iteration: int
    engine: str

    def __str__(self) -> str:
        """Return what accesses the buffer: "the TMA copy of line 40"."""
        name = _PRODUCTS.get(self.engine) or _NAMES[self.engine, self.write]
        return f"{name} of line {line_of(self.step)}"

    @property
    def trace(self) -> str:
        """Return the access as a line of a trace."""
        verb = "writes" if self.write else "reads"
        who = self.thread or "the kernel"
        return f"{who}, iteration {self.iteration:,}: {self} {verb} {slot_name(self.view)}"


@dataclass(slots=True)
class SharedAllocation(BufferState):
    """An allocation in shared or tensor memory; `accesses` are those that later ones may conflict with.

    `barriers` are the mbarriers in it, `arrivals` what arrives at them by the line of the stage, with its
    thread; `waits` counts the waits for them. `skipped`: a product that fills it did not run, as before a
    loop without iterations, so what is read of it is not used.
    """

    name: str = ""
    data: Array = field(default_factory=lambda: np.zeros(0, np.uint8))
    accesses: list[BufferAccess] = field(default_factory=list)
    barriers: list[PhaseBarrier] = field(default_factory=list)
    arrivals: dict[int, tuple[Op, str]] = field(default_factory=dict)
    waits: int = 0
    skipped: bool = False


@dataclass(slots=True)
class PhaseBarrier:
    """An mbarrier: `ends` has, for each phase that ended, its bit and all that happened before its end."""

    count: int
    pending: int
    name: str
    home: SharedAllocation
    step: Op
    bytes: int = 0
    gathered: int = 0
    ends: list[tuple[int, int]] = field(default_factory=list)
    last_copy: Op | None = None

    def observed(self, known: int) -> int:
        """Return how many phases have ended as far as a thread can tell."""
        number = len(self.ends)
        while number and not self.ends[number - 1][0] & known:
            number -= 1
        return number

    @property
    def arrival(self) -> Op | None:
        """Return an operation that arrives at the barrier or its neighbors."""
        return next((step for step, _ in self.home.arrivals.values()), None)


@dataclass(slots=True)
class LogicalThread:
    """A partition: `known` are the events that happened before its next one; the rest is in flight.

    `groups` are committed groups of copies, `products` wgmmas and `stores` stores by engines, oldest first;
    `tensor_products` are all that it issued to tensor cores that arrive at mbarriers. `visits` counts
    executions by line of the stage. `waiting` is the wait that it is in, and how many phases must end.
    """

    name: str
    known: int = 0
    warps: int = 4
    open_group: int = 0
    groups: list[int] = field(default_factory=list)
    products: list[int] = field(default_factory=list)
    stores: list[int] = field(default_factory=list)
    tensor_products: int = 0
    visits: dict[int, int] = field(default_factory=dict)
    waiting: tuple[Op, PhaseBarrier, int] | None = None
    last_wait: tuple[Op, PhaseBarrier, bool] | None = None

    def complete(self, pending: list[int], left: int) -> None:
        """Learn that all but the last `left` of what is pending have completed."""
        ended = pending[: max(0, len(pending) - left)]
        for bits in ended:
            self.known |= bits
        del pending[: len(ended)]

    def iteration(self, step: Op) -> int:
        """Return how often the thread executed an operation before."""
        return self.visits.get(step.line, 1) - 1

    def place(self, step: Op) -> str:
        """Return where the thread is: "in iteration 3 of partition0"."""
        return f"in iteration {self.iteration(step):,} of {self.name or 'the kernel'}"


def line_of(step: Op) -> int:
    """Return the line that an operation was written in: of an inlined function if it is in the "
    "kernel's file.
    """
    links = list(inlining_chain(step.location))
    lines = [link.line for link in links if link.file == links[-1].file]
    return lines[0] if lines else step.source_line


def slot_name(view: Buffer) -> str:
    """Return the name of a buffer, with the number of the slot if it has several: `a[1]`."""
    home = view.cell
    if not isinstance(home, SharedAllocation):
        return "a buffer"
    whole, part = home.data, view.data
    if whole.ndim < 2 or part.ndim >= whole.ndim or part.nbytes > whole.strides[0]:
        return home.name
    return f"{home.name}[{(address(part) - address(whole)) // whole.strides[0]}]"


def address(data: Array) -> int:
    """Return where an array begins."""
    return int(data.__array_interface__["data"][0])


def conflict(thread: LogicalThread, earlier: BufferAccess, access: BufferAccess) -> Hazard:
    """Return the hazard of two accesses of which at least one writes."""
    name = slot_name(access.view)
    where = thread.place(access.step)
    if earlier.engine in _PRODUCTS and earlier.thread == thread.name:
        kind, remedy = IN_FLIGHT, _REMEDIES[earlier.engine]
        use, other_use = ("overwritten" if access.write else "read"), ("write" if earlier.write else "read")
        message = f"{name} is {use} {where} while {earlier} may still {other_use} it"
    elif access.write:
        kind = OVERWRITTEN
        remedy = "wait for a barrier that is arrived at after the last use, or use one more buffer"
        end = "is complete" if earlier.write else "has read it"
        message = f"{name} is overwritten {where} before {earlier} {end}"
    else:
        kind, remedy = EARLY_READ, _REMEDIES[earlier.engine]
        message = f"{name} is read {where} before {earlier} is visible"
    if thread.last_wait and thread.last_wait[2] and (earlier.thread != thread.name or earlier.engine == TMA):
        step, barrier, _ = thread.last_wait
        message += (
            f"; its wait for {barrier.name} in line {line_of(step)} is for a phase that had already ended"
        )
    trace = earlier.trace, access.trace
    return Hazard(
        kind, access.step, message, remedy, name, thread.name, access.iteration, earlier.step, trace
    )


def deadlock(threads: Sequence[LogicalThread]) -> Hazard:
    """Return the hazard of threads that all wait; the barrier that is wrong itself comes before the "
    "others.
    """
    waits = [(thread, *thread.waiting) for thread in threads if thread.waiting]
    thread, step, barrier, _ = min(waits, key=lambda wait: _blame(wait[2]))
    kind, message, remedy = _why_blocked(barrier)
    who = thread.name or "the kernel"
    place = f"{who} waits for ever for {barrier.name} in iteration {thread.iteration(step):,}"
    return Hazard(
        kind, step, f"{place}: {message}", remedy, barrier.name, thread.name, thread.iteration(step),
        barrier.arrival or barrier.step, tuple(_waiting_line(*wait) for wait in waits),
    )  # fmt: skip


def _blame(barrier: PhaseBarrier) -> int:
    if barrier.bytes or barrier.count != barrier.pending:
        return 0
    return 1 if not barrier.home.arrivals else 2


def _waiting_line(thread: LogicalThread, step: Op, barrier: PhaseBarrier, target: int) -> str:
    return (
        f"{thread.name or 'the kernel'} waits in line {line_of(step)} for phase {target - 1} of "
        f"{barrier.name}, "
        f"of which {len(barrier.ends)} ended; {barrier.count - barrier.pending:,} of "
        f"{barrier.count:,} arrivals came, "
        f"{max(barrier.bytes, 0):,} bytes are missing"
    )


def _why_blocked(barrier: PhaseBarrier) -> tuple[str, str, str]:
    """Return the kind of a deadlock, what is wrong with the barrier, and the remedy."""
    expected = "expect as many bytes as all copies of a phase bring"
    came = barrier.count - barrier.pending
    if barrier.bytes < 0:
        return COUNT, f"its copies bring {-barrier.bytes:,} bytes that nothing expects", expected
    if barrier.bytes and not barrier.pending:
        return COUNT, f"it expects {barrier.bytes:,} bytes more than its copies bring", expected
    if came:
        initialized = f"that line {line_of(barrier.step)} initializes it for"
        return (
            COUNT,
            f"{came:,} of the {barrier.count:,} arrivals came {initialized}",
            "initialize the barrier for as many arrivals as come in a phase, or add the one that is missing",
        )
    lines = [
        f"line {line_of(step)} ({name or 'the kernel'})" for step, name in barrier.home.arrivals.values()
    ]
    if not lines:
        return DEADLOCK, "nothing arrives at it", "arrive at the barrier after the last use of its buffer"
    return (
        DEADLOCK,
        f"only {', '.join(lines)} arrives at it, and all partitions wait or have ended",
        "begin with the other phase of the empty barrier, or arrive once more",
    )


def late_wait(thread: LogicalThread, step: Op, barrier: PhaseBarrier, target: int) -> Hazard:
    """Return the hazard of a wait for `target` phases while the next one can end before the wait is "
    "passed.
    """
    if target:
        message = (
            f"{barrier.name} may be a phase ahead of the wait {thread.place(step)}: phase {target} "
            f"can end before phase "
            f"{target - 1} is waited for, so the wait goes on too late or never"
        )
    else:
        message = (
            f"the wait for {barrier.name} {thread.place(step)} is for the phase before the first one: "
            f"it goes on "
            "before anything arrived, or never if it comes late"
        )
    remedy = (
        "wait for the phase that the next arrival ends, and let no phase end before it is waited "
        "for: check the "
        "phases of both waits"
    )
    iteration = thread.iteration(step)
    return Hazard(PHASE, step, message, remedy, barrier.name, thread.name, iteration, barrier.arrival)


def unfenced(access: BufferAccess, earlier: BufferAccess) -> Hazard:
    """Return the hazard of a write by threads that an engine reads without a fence."""
    name = slot_name(access.view)
    message = (
        f"no fence makes {earlier} to {name} visible to the asynchronous proxy, through which the "
        f"{access.engine} of "
        f"line {line_of(access.step)} reads it"
    )
    remedy = "call fence_async_shared() after the write, before the barrier that the reader waits for"
    return Hazard(
        FENCE, access.step, message, remedy, name, access.thread, access.iteration, earlier.step
    )  # fmt: skip


def freed(step: Op, earlier: BufferAccess) -> Hazard:
    """Return the hazard of a buffer whose memory is given back while an engine uses it."""
    name = slot_name(earlier.view)
    message = f"{name} is freed while {earlier} may still {'write to' if earlier.write else 'read'} it"
    remedy = f"wait for the {earlier.engine} before the buffer is freed"
    return Hazard(OVERWRITTEN, step, message, remedy, name, earlier.thread, 0, earlier.step)
