"""Orders events: logical threads, mbarriers, accesses of buffers, and the hazards where no order is enforced.

An event is a bit; what a thread has waited for is a set of bits. An asynchronous copy or product gets its bit
when it is issued, but only who waited for its completion has the bit. So no clock is needed: two accesses of
one buffer conflict if the later one's thread does not have the bit of the earlier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from irscope.interpreting.runtime_values import Array, Buffer, BufferState, Item, RuntimeValue
from irscope.interpreting.stage_program import Op
from irscope.languages.document import inlining_chain

# How an access is done: by a thread's own instruction, or by an engine that goes on by itself.
THREAD, COPY, TMA, WGMMA, TCGEN05 = "", "cp.async", "TMA", "wgmma", "tcgen05"
_PRODUCTS = (WGMMA, TCGEN05)
# Engines that read shared memory through the asynchronous proxy.
_ASYNC_PROXY = (TMA, WGMMA, TCGEN05)


@dataclass(frozen=True)
class Hazard:
    """An order that nothing enforces.

    `rule` is the number of its kind, such as "IRS311". `step` is the operation to look at and `other` the one
    it conflicts with (None: there is none). `buffer` is the name of the buffer or barrier, with the number of
    its slot. `thread` names the partition that executes `step`, in iteration `iteration` (from 0).
    """

    rule: str
    step: Op
    message: str
    remedy: str
    buffer: str = ""
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


@dataclass(slots=True)
class SharedAllocation(BufferState):
    """An allocation in shared or tensor memory; `accesses` are those that later ones may conflict with.

    `barriers` are the mbarriers in it, `arrivals` what arrived at one of them: the operation, and its thread.
    """

    name: str = ""
    step: Op | None = None
    data: Array = field(default_factory=lambda: np.zeros(0, np.uint8))
    accesses: list[BufferAccess] = field(default_factory=list)
    barriers: list[PhaseBarrier] = field(default_factory=list)
    arrivals: dict[int, tuple[Op, str]] = field(default_factory=dict)
    waits: int = 0


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


@dataclass(slots=True)
class LogicalThread:
    """A partition: `known` are the events that happened before its next one; the rest is in flight.

    `groups` are committed groups of copies, `products` wgmmas and `stores` TMA stores, oldest first.
    `tensor_products` are all that it issued to tensor cores that arrive at mbarriers.
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
        ended = pending[: len(pending) - left] if left else list(pending)
        for bits in ended:
            self.known |= bits
        del pending[: len(ended)]


class EventOrder:
    """The events of one program, and the hazards among them. Writes by `fenced` engines need fences."""

    def __init__(self, fenced: tuple[str, ...] = (THREAD, COPY)) -> None:
        self.fenced = fenced
        self.hazards: dict[tuple[str, int, int], Hazard] = {}
        self.events = 0
        # Writes that the asynchronous proxy does not see yet.
        self.unfenced = 0
        self.barriers: dict[int, PhaseBarrier] = {}
        self.allocations: list[SharedAllocation] = []

    def new_bit(self) -> int:
        """Return the bit of a new event."""
        self.events += 1
        return 1 << self.events

    def report(self, hazard: Hazard) -> None:
        """Keep a hazard unless the same two operations have one of this kind."""
        key = (hazard.rule, hazard.step.line, hazard.other.line if hazard.other else -1)
        self.hazards.setdefault(key, hazard)

    # Buffers.

    def access(self, thread: LogicalThread, step: Op, view: Buffer, write: bool, engine: str, bit: int) -> None:
        """Note an access, and report what it conflicts with. A thread's own access is known to it at once."""
        home = view.cell
        if not isinstance(home, SharedAllocation):
            return
        access = BufferAccess(bit, write, view, step, thread.name, thread.visits.get(step.line, 1) - 1, engine)
        kept: list[BufferAccess] = []
        written = False
        for earlier in home.accesses:
            if not _overlap(earlier.view, view):
                kept.append(earlier)
                continue
            written |= earlier.write
            ordered = bool(earlier.bit & thread.known) or engine == earlier.engine == TCGEN05
            if not ordered and (write or earlier.write) and earlier.bit != bit:
                self._report_conflict(thread, earlier, access)
                thread.known |= earlier.bit
            elif earlier.write and not write and earlier.bit & self.unfenced and engine in _ASYNC_PROXY:
                self._report_fence(thread, earlier, access)
            if not (write and ordered and earlier.view.data.shape == view.data.shape):
                kept.append(earlier)
        if not written and not write:
            self._report_empty(thread, access)
        if write and engine in self.fenced:
            self.unfenced |= bit
        kept.append(access)
        home.accesses = kept
        if engine == THREAD:
            thread.known |= bit

    def fence(self, thread: LogicalThread) -> None:
        """Make what a thread knows of visible to the asynchronous proxy."""
        self.unfenced &= ~thread.known

    def free(self, thread: LogicalThread, step: Op, buffer: Buffer) -> None:
        """Report what is in flight in a buffer whose memory is given back."""
        home = buffer.cell
        if not isinstance(home, SharedAllocation):
            return
        for earlier in home.accesses:
            if earlier.bit & thread.known or earlier.engine == THREAD:
                continue
            name = slot_name(earlier.view)
            self.report(
                Hazard(
                    "IRS312",
                    step,
                    f"{name} is freed while {_in_flight(earlier)} may not have completed, so the next buffer at "
                    "its address is written twice" if earlier.write else
                    f"{name} is freed while {_in_flight(earlier)} may still read it",
                    f"wait for the {earlier.engine} before the buffer is freed or the kernel ends",
                    name, thread.name, 0, earlier.step,
                )
            )  # fmt: skip

    def _report_conflict(self, thread: LogicalThread, earlier: BufferAccess, access: BufferAccess) -> None:
        name = slot_name(access.view)
        doing = _in_flight(earlier)
        cause = _cause(thread)
        where = f"in iteration {access.iteration:,} of {thread.name}" if thread.name else (
            f"in iteration {access.iteration:,}"
        )  # fmt: skip
        if earlier.engine in _PRODUCTS and earlier.thread == thread.name:
            rule = "IRS317"
            verb = "read" if not access.write else "overwritten"
            message = f"{name} is {verb} {where} while {doing} may still {_use(earlier)} it"
            remedy = _wait_for(earlier)
        elif access.write:
            rule = "IRS312"
            which = "is complete" if earlier.write else "has read it"
            message = f"{name} is overwritten {where} before {doing} {which}"
            remedy = (
                "wait, before the write, for a barrier that the reader arrives at after its last read; "
                "or use one more buffer"
            )
        else:
            rule = "IRS311"
            message = f"{name} is read {where} before {doing} is visible"
            remedy = _wait_for(earlier)
        if cause and earlier.thread != thread.name or cause and earlier.engine == TMA:
            message += f"; {cause}"
        self.report(
            Hazard(
                rule, access.step, message, remedy, name, thread.name, access.iteration, earlier.step,
                (f"{_by(earlier)}: {_use(earlier)} {name}, iteration {earlier.iteration:,}",
                 f"{_by(access)}: {_use(access)} {name}, iteration {access.iteration:,}"),
            )
        )  # fmt: skip

    def _report_fence(self, thread: LogicalThread, earlier: BufferAccess, access: BufferAccess) -> None:
        name = slot_name(access.view)
        message = (
            f"no fence makes {_in_flight(earlier)} of {name} visible to the asynchronous proxy, through which "
            f"the {access.engine} of line {line_of(access.step)} reads it"
        )
        self.report(
            Hazard(
                "IRS318", access.step, message,
                "call fence_async_shared() after the write, before the barrier that the reader waits for",
                name, thread.name, access.iteration, earlier.step,
            )
        )  # fmt: skip
        self.unfenced &= ~earlier.bit

    def _report_empty(self, thread: LogicalThread, access: BufferAccess) -> None:
        name = slot_name(access.view)
        self.report(
            Hazard(
                "IRS311", access.step,
                f"{name} is read in iteration {access.iteration:,} before anything was written to it",
                "write it first, or wait for the barrier of the copy that fills it", name, thread.name,
                access.iteration,
            )
        )  # fmt: skip

    def use(self, thread: LogicalThread, step: Op, operands: Sequence[Item]) -> None:
        """Report a thread's own instruction that reads the accumulator of a product in flight."""
        flying = sum(thread.products)
        for item in operands:
            if isinstance(item, RuntimeValue) and isinstance(item.note, int) and item.note & flying:
                self.report(
                    Hazard(
                        "IRS317", step,
                        f"the accumulator {step.operands[0]} is used while the wgmma that computes it may not have "
                        "ended",
                        "wait for the product first: warpgroup_mma_wait with fewer pending products",
                        step.operands[0], thread.name, thread.visits.get(step.line, 1) - 1,
                    )
                )  # fmt: skip

    def end(self, thread: LogicalThread) -> None:
        """Report what is still in flight, or was not waited for, when the kernel ends."""
        for home in self.allocations:
            for earlier in home.accesses:
                if earlier.engine == TMA and not earlier.write and sum(thread.stores) & earlier.bit:
                    self.report(
                        Hazard(
                            "IRS312", earlier.step,
                            f"the kernel ends while {_in_flight(earlier)} may still read {slot_name(earlier.view)}",
                            "wait for all stores before the kernel ends: store_wait(pendings=0)",
                            slot_name(earlier.view), earlier.thread, earlier.iteration,
                        )
                    )  # fmt: skip
            self._report_bytes(home)
            copied = [step for step, _ in home.arrivals.values() if "arrive" not in step.opcode]
            if copied and not home.waits:
                self.report(
                    Hazard(
                        "IRS316", copied[-1],
                        f"nothing waits for {home.name}, at which line {line_of(copied[-1])} arrives",
                        "wait for the barrier before the data are used", home.name,
                    )
                )  # fmt: skip

    def _report_bytes(self, home: SharedAllocation) -> None:
        for barrier in home.barriers:
            if barrier.bytes < 0 and barrier.last_copy:
                self.report(
                    Hazard(
                        "IRS315", barrier.last_copy,
                        f"copies bring {-barrier.bytes:,} bytes more to {barrier.name} than it expects",
                        "expect as many bytes as all copies of a phase bring", barrier.name, "", 0, barrier.step,
                    )
                )  # fmt: skip

    # Barriers.

    def arrive_bytes(
        self, thread: LogicalThread, step: Op, barrier: PhaseBarrier, mask: int, size: int
    ) -> None:
        """Count the bytes of a copy at its barrier."""
        barrier.home.arrivals.setdefault(step.line, (step, thread.name))
        barrier.bytes -= size
        barrier.last_copy = step
        barrier.gathered |= mask
        self.end_phase(barrier)

    def report_uninitialized(self, thread: LogicalThread, step: Op, name: str) -> None:
        """Report the use of a barrier that nothing initialized."""
        self.report(
            Hazard(
                "IRS313", step, f"{name} is used as a barrier, but nothing initializes it",
                "initialize the barrier with the number of arrivals per phase", name, thread.name,
                thread.visits.get(step.line, 1) - 1,
            )
        )  # fmt: skip

    def report_deadlock(self, threads: Sequence[LogicalThread]) -> None:
        """Report that all threads wait, each for a phase that does not end."""
        for home in self.allocations:
            self._report_bytes(home)
        blocked = [(thread, *thread.waiting) for thread in threads if thread.waiting]
        trace = tuple(self._waiting_line(*item) for item in blocked)
        blocked.sort(key=lambda item: _blame(item[2]))
        for thread, step, barrier, target in blocked[:1]:
            rule, message, remedy = self._why_blocked(barrier, target)
            iteration = thread.visits.get(step.line, 1) - 1
            who = thread.name or "the kernel"
            arrival = next((arrival for arrival, _ in barrier.home.arrivals.values()), barrier.step)
            self.report(
                Hazard(
                    rule, step, f"{who} waits for ever for {barrier.name} in iteration {iteration:,}: {message}",
                    remedy, barrier.name, thread.name, iteration, arrival, trace,
                )
            )  # fmt: skip

    def _waiting_line(self, thread: LogicalThread, step: Op, barrier: PhaseBarrier, target: int) -> str:
        return (
            f"{thread.name or 'the kernel'} waits in line {line_of(step)} for phase {target - 1} of "
            f"{barrier.name}, of which {len(barrier.ends)} ended; {barrier.count - barrier.pending:,} of "
            f"{barrier.count:,} arrivals came, {max(barrier.bytes, 0):,} bytes are missing"
        )

    def _why_blocked(self, barrier: PhaseBarrier, target: int) -> tuple[str, str, str]:
        arrivals = [f"line {line_of(step)} ({name or 'all warps'})" for step, name in barrier.home.arrivals.values()]
        came = barrier.count - barrier.pending
        if barrier.bytes > 0 and not barrier.pending:
            return (
                "IRS315",
                f"it expects {barrier.bytes:,} bytes more than its copies bring",
                "expect as many bytes as all copies of a phase bring",
            )
        if barrier.bytes < 0:
            return (
                "IRS315",
                f"its copies bring {-barrier.bytes:,} bytes that nothing expects",
                "expect as many bytes as all copies of a phase bring",
            )
        if came:
            return (
                "IRS315",
                f"{came:,} of the {barrier.count:,} arrivals came that line {line_of(barrier.step)} "
                "initializes it for",
                "initialize the barrier for as many arrivals as come in a phase, or add the one that is missing",
            )
        if not arrivals:
            return (
                "IRS313", "nothing arrives at it", "arrive at the barrier after the last use of its buffer",
            )  # fmt: skip
        return (
            "IRS313",
            f"only {', '.join(arrivals)} arrives at it, and all partitions wait or have ended",
            "begin with the other phase of the empty barrier, or arrive once more",
        )

    def arrive(
        self, thread: LogicalThread, step: Op, barrier: PhaseBarrier, mask: int, count: int = 1
    ) -> None:
        """Arrive at a barrier `count` times, when `mask` has happened."""
        barrier.home.arrivals[step.line] = step, thread.name
        barrier.gathered |= mask
        barrier.pending -= count
        if barrier.pending < 0:
            self.report(
                Hazard(
                    "IRS315", step,
                    f"{count:,} arrivals at {barrier.name} are {-barrier.pending:,} more than it waits for: line "
                    f"{line_of(barrier.step)} initializes it for {barrier.count:,} per phase",
                    "initialize the barrier for as many arrivals as come in a phase",
                    barrier.name, thread.name, thread.visits.get(step.line, 1) - 1, barrier.step,
                )
            )  # fmt: skip
            barrier.pending = 0
        self.end_phase(barrier)

    def end_phase(self, barrier: PhaseBarrier) -> None:
        """Begin the next phase if all arrivals and bytes of this one have come."""
        if barrier.pending <= 0 and not barrier.bytes:
            bit = self.new_bit()
            before = barrier.ends[-1][1] if barrier.ends else 0
            barrier.ends.append((bit, before | barrier.gathered | bit))
            barrier.pending = barrier.count
            barrier.gathered = 0

    def target_phase(self, thread: LogicalThread, barrier: PhaseBarrier, parity: int) -> int:
        """Return how many phases must have ended for a thread to go on that waits for a parity."""
        observed = barrier.observed(thread.known)
        return observed if observed % 2 != parity % 2 else observed + 1

    def passed(self, thread: LogicalThread, step: Op, barrier: PhaseBarrier, target: int) -> None:
        """Let a thread go on after its wait, with what happened before the phase ended."""
        observed = barrier.observed(thread.known)
        thread.last_wait = step, barrier, target == observed
        if target:
            thread.known |= barrier.ends[target - 1][1]
        if len(barrier.ends) > target:
            iteration = thread.visits.get(step.line, 1) - 1
            name, who = barrier.name, thread.name or "the kernel"
            if target:
                message = (
                    f"{name} may be a phase ahead of the wait in iteration {iteration:,} of {who}: phase {target} can "
                    f"end before phase {target - 1} is waited for, so the wait goes on too late or never"
                )
            else:
                message = (
                    f"the wait for {name} in iteration {iteration:,} of {who} is for the phase before the first one: "
                    "it goes on before anything arrived, or never if it comes late"
                )
            self.report(
                Hazard(
                    "IRS314", step, message,
                    "wait for the phase that the next arrival ends, and let no phase end before it is waited for: "
                    "check the phases of both waits",
                    name, thread.name, iteration,
                    next((arrival for arrival, _ in barrier.home.arrivals.values()), None),
                )
            )  # fmt: skip
            thread.known |= barrier.ends[-1][1]


def line_of(step: Op) -> int:
    """Return the line of the kernel's file that an operation was written in, be it in a function that is inlined."""
    *links, outermost = list(inlining_chain(step.location)) or [None]
    for link in links:
        if outermost and link and link.file == outermost.file:
            return link.line
    return outermost.line if outermost else step.source_line


def slot_name(view: Buffer) -> str:
    """Return the name of a buffer, with the number of the slot if it has several: `a[1]`."""
    home = view.cell
    if not isinstance(home, SharedAllocation):
        return "a buffer"
    whole = home.data
    if whole.ndim == 0 or whole.shape[0] < 2 or view.data.nbytes >= whole.nbytes or not whole.strides[0]:
        return home.name
    offset = address(view.data) - address(whole)
    slot = offset // whole.strides[0]
    inside = view.data.nbytes <= whole.strides[0]
    return f"{home.name}[{slot}]" if inside and view.data.ndim < whole.ndim else home.name


def address(data: Array) -> int:
    """Return where an array begins."""
    return int(data.__array_interface__["data"][0])


def _overlap(a: Buffer, b: Buffer) -> bool:
    if a.data is b.data:
        return True
    if not np.may_share_memory(a.data, b.data):
        return False
    contiguous = a.data.flags.c_contiguous and b.data.flags.c_contiguous
    return contiguous or bool(np.shares_memory(a.data, b.data))


def _in_flight(access: BufferAccess) -> str:
    what = {
        THREAD: "the write" if access.write else "the read",
        COPY: "the asynchronous copy",
        TMA: "the TMA copy" if access.write else "the TMA store",
        WGMMA: "the wgmma",
        TCGEN05: "the tcgen05 product",
    }[access.engine]
    return f"{what} of line {line_of(access.step)}"


def _use(access: BufferAccess) -> str:
    return "write" if access.write else "read"


def _by(access: BufferAccess) -> str:
    return f"line {line_of(access.step)} ({access.thread or 'all warps'}, {access.step.opcode})"


def _wait_for(access: BufferAccess) -> str:
    return {
        THREAD: "let the writer arrive at a barrier after its write, and wait for it before the read",
        COPY: "wait until fewer groups of copies are in flight (num of the async_wait), or copy earlier",
        TMA: "wait for the barrier of the copy, with the phase that this copy ends",
        WGMMA: "wait for the product first: warpgroup_mma_wait with fewer pending products",
        TCGEN05: "commit the product to a barrier and wait for it first",
    }[access.engine]


def _cause(thread: LogicalThread) -> str:
    """Return why the last wait of a thread did not help."""
    if thread.last_wait is None or not thread.last_wait[2]:
        return ""
    step, barrier, _ = thread.last_wait
    return f"its wait for {barrier.name} in line {line_of(step)} is for a phase that had already ended"


def _blame(barrier: PhaseBarrier) -> int:
    """Rank barriers that are waited for: what is wrong with one itself explains the others."""
    if barrier.bytes < 0 or (barrier.bytes > 0 and not barrier.pending) or barrier.count != barrier.pending:
        return 0
    return 1 if not barrier.home.arrivals else 2
