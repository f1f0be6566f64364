"""Orders the events of logical threads: accesses of buffers, mbarriers, and what is in flight.

An event is a bit; what a thread has waited for is a set of bits. An asynchronous copy or product gets its bit
when it is issued, but only who waited for its completion has the bit. So no clock is needed: two accesses of
one buffer conflict if the later one's thread does not have the bit of the earlier one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from irscope.interpreting.events.hazards import (
    COPY,
    COUNT,
    DEADLOCK,
    EARLY_READ,
    IN_FLIGHT,
    NO_WAIT,
    OVERWRITTEN,
    TCGEN05,
    THREAD,
    TMA,
    WGMMA,
    BufferAccess,
    Hazard,
    LogicalThread,
    PhaseBarrier,
    SharedAllocation,
    conflict,
    deadlock,
    freed,
    late_wait,
    line_of,
    slot_name,
    unfenced,
)
from irscope.interpreting.runtime_values import Buffer, Item, RuntimeValue
from irscope.interpreting.stage_program import Op
from irscope.model.records import frozen

if TYPE_CHECKING:
    from irscope.interpreting.events.event_recorder import RecordedEvent, RecordedThread

# What a thread does in a pass of its loop; a wait for something else than a barrier is none.
_STEPS = ("wait", "copy", "product", "arrive")
# Engines that read shared memory through the asynchronous proxy.
_ASYNC_PROXY = (TMA, WGMMA, TCGEN05)


class EventOrder:
    """The events of one program, and the hazards among them. Writes by `fenced` engines need fences."""

    def __init__(self, fenced: tuple[str, ...] = (THREAD, COPY)) -> None:
        self.fenced = fenced
        self.hazards: dict[tuple[str, int, int], Hazard] = {}
        self.barriers: dict[int, PhaseBarrier] = {}
        self.allocations: list[SharedAllocation] = []
        self._events = 0
        # Writes that the asynchronous proxy does not see yet.
        self._unfenced = 0

    def new_bit(self) -> int:
        """Return the bit of a new event."""
        self._events += 1
        return 1 << self._events

    def report(self, hazard: Hazard) -> None:
        """Keep a hazard unless the same two operations have one of this kind."""
        key = hazard.kind, hazard.step.line, hazard.other.line if hazard.other else -1
        self.hazards.setdefault(key, hazard)

    # Buffers.

    def access(
        self, thread: LogicalThread, step: Op, view: Buffer, write: bool, engine: str, bit: int
    ) -> None:
        """Note an access, and report what it conflicts with. A thread's own access is known to it at once."""
        home = view.cell
        if not isinstance(home, SharedAllocation):
            return
        access = BufferAccess(bit, write, view, step, thread.name, thread.iteration(step), engine)
        kept: list[BufferAccess] = []
        written = write
        for earlier in home.accesses:
            if not _overlap(earlier.view, view):
                kept.append(earlier)
                continue
            written |= earlier.write
            ordered = bool(earlier.bit & thread.known) or engine == earlier.engine == TCGEN05
            if not ordered and (write or earlier.write) and earlier.bit != bit:
                self.report(conflict(thread, earlier, access))
                thread.known |= earlier.bit
            elif earlier.write and not write and earlier.bit & self._unfenced and engine in _ASYNC_PROXY:
                self.report(unfenced(access, earlier))
                self._unfenced &= ~earlier.bit
            if not (write and ordered and earlier.view.data.shape == view.data.shape):
                kept.append(earlier)
        if not written and not home.skipped:
            name = slot_name(view)
            message = f"{name} is read {thread.place(step)} before anything was written to it"
            remedy = "write it first, or wait for the barrier of the copy that fills it"
            self.report(Hazard(EARLY_READ, step, message, remedy, name, thread.name, access.iteration))
        # Tensor memory has no other proxy: a write to it is visible to tcgen05 when it has ended.
        if write and engine in self.fenced and not step.opcode.startswith("ttng.tmem_"):
            self._unfenced |= bit
        kept.append(access)
        home.accesses[:] = kept
        if engine == THREAD:
            thread.known |= bit

    def fence(self, thread: LogicalThread) -> None:
        """Make what a thread knows of visible to the asynchronous proxy."""
        self._unfenced &= ~thread.known

    def free(self, thread: LogicalThread, step: Op, buffer: Buffer) -> None:
        """Report what is in flight in a buffer whose memory is given back."""
        for earlier in buffer.cell.accesses if isinstance(buffer.cell, SharedAllocation) else ():
            if not earlier.bit & thread.known and earlier.engine != THREAD:
                self.report(freed(step, earlier))

    def use(self, thread: LogicalThread, step: Op, operands: Sequence[Item]) -> None:
        """Report a thread's own instruction that reads the accumulator of a product in flight."""
        flying = sum(thread.products)
        for name, item in zip(step.operands, operands, strict=True):
            if isinstance(item, RuntimeValue) and isinstance(item.note, int) and item.note & flying:
                message = (
                    f"the accumulator {name} is used {thread.place(step)} while its wgmma may not have ended"
                )
                remedy = "wait for the product first: warpgroup_mma_wait with fewer pending products"
                self.report(
                    Hazard(IN_FLIGHT, step, message, remedy, name, thread.name, thread.iteration(step))
                )

    def end(self, thread: LogicalThread) -> None:
        """Report what is still in flight, or was not waited for, when the kernel ends."""
        flying = sum(thread.stores)
        for home in self.allocations:
            for earlier in home.accesses:
                if earlier.engine == TMA and not earlier.write and flying & earlier.bit:
                    name = slot_name(earlier.view)
                    message = f"the kernel ends while {earlier} may still read {name}"
                    remedy = "wait for all stores before the kernel ends: store_wait(pendings=0)"
                    self.report(
                        Hazard(
                            OVERWRITTEN,
                            earlier.step,
                            message,
                            remedy,
                            name,
                            earlier.thread,
                            earlier.iteration,
                        )
                    )
            self._report_bytes(home)
            copied = [step for step, _ in home.arrivals.values() if "arrive" not in step.opcode]
            if copied and not home.waits:
                message = f"nothing waits for {home.name}, at which line {line_of(copied[-1])} arrives"
                remedy = "wait for the barrier before the data are used"
                self.report(Hazard(NO_WAIT, copied[-1], message, remedy, home.name))

    def _report_bytes(self, home: SharedAllocation) -> None:
        for barrier in home.barriers:
            if barrier.bytes < 0 and barrier.last_copy:
                message = f"copies bring {-barrier.bytes:,} bytes more to {barrier.name} than it expects"
                remedy = "expect as many bytes as all copies of a phase bring"
                self.report(
                    Hazard(COUNT, barrier.last_copy, message, remedy, barrier.name, other=barrier.step)
                )

    # Barriers.

    def arrive(
        self, thread: LogicalThread, step: Op, barrier: PhaseBarrier, mask: int, count: int = 1, size: int = 0
    ) -> None:
        """Arrive at a barrier `count` times and with `size` bytes, when `mask` has happened."""
        barrier.home.arrivals[step.line] = step, thread.name
        barrier.gathered |= mask
        barrier.pending -= count
        if size:
            barrier.bytes -= size
            barrier.last_copy = step
        if barrier.pending < 0:
            message = (
                f"{count:,} arrivals at {barrier.name} {thread.place(step)} are {-barrier.pending:,} "
                f"more than line "
                f"{line_of(barrier.step)} initializes it for"
            )
            remedy = "initialize the barrier for as many arrivals as come in a phase"
            iteration = thread.iteration(step)
            self.report(
                Hazard(COUNT, step, message, remedy, barrier.name, thread.name, iteration, barrier.step)
            )
            barrier.pending = 0
        if not barrier.pending and not barrier.bytes:
            bit = self.new_bit()
            before = barrier.ends[-1][1] if barrier.ends else 0
            barrier.ends.append((bit, before | barrier.gathered | bit))
            barrier.pending = barrier.count
            barrier.gathered = 0

    def uninitialized(self, thread: LogicalThread, step: Op, name: str) -> None:
        """Report the use of a barrier that nothing initialized."""
        message = f"{name} is used as a barrier {thread.place(step)}, but nothing initializes it"
        remedy = "initialize the barrier with the number of arrivals per phase"
        self.report(Hazard(DEADLOCK, step, message, remedy, name, thread.name, thread.iteration(step)))

    def deadlock(self, threads: Sequence[LogicalThread]) -> None:
        """Report that all threads wait, each for a phase that does not end."""
        for home in self.allocations:
            self._report_bytes(home)
        self.report(deadlock(threads))

    def target_phase(self, thread: LogicalThread, barrier: PhaseBarrier, parity: int) -> int:
        """Return how many phases must have ended for a thread to go on that waits for a parity."""
        observed = barrier.observed(thread.known)
        return observed if observed % 2 != parity % 2 else observed + 1

    def passed(self, thread: LogicalThread, step: Op, barrier: PhaseBarrier, target: int) -> None:
        """Let a thread go on after its wait, with what happened before the phase ended."""
        thread.last_wait = step, barrier, target == barrier.observed(thread.known)
        if target:
            thread.known |= barrier.ends[target - 1][1]
        if len(barrier.ends) > target:
            self.report(late_wait(thread, step, barrier, target))
            thread.known |= barrier.ends[-1][1]


def _overlap(a: Buffer, b: Buffer) -> bool:
    if a.data is b.data:
        return True
    if not np.may_share_memory(a.data, b.data):
        return False
    contiguous = a.data.flags.c_contiguous and b.data.flags.c_contiguous
    return contiguous or bool(np.shares_memory(a.data, b.data))


@frozen
class LoopStep:
    """What a thread does in each pass of its loop, and how many bytes it copies.

    `needs` are what a wait waits for: thread, number of its step, and how many passes ago.
    """

    kind: str
    size: int
    needs: list[tuple[int, int, int]]


def loop_passes(threads: Sequence[RecordedThread]) -> list[tuple[int, list[LoopStep]]]:
    """Return the warps of each thread that waits for barriers, and what it does in a pass of its loop."""
    ends: dict[int, tuple[int, int, int]] = {}
    middles: list[tuple[int, int, dict[int, RecordedEvent]]] = []
    for thread in threads:
        events = [
            event
            for event in thread.events
            if event.kind in _STEPS and (event.barrier or event.kind != "wait")
        ]
        counts = Counter(map(_place, events))
        often = max(counts.values(), default=0)
        # A guard may skip the first pass.
        places = sorted(place for place, count in counts.items() if count >= often - 1)
        if not any(event.kind == "wait" for event in events):
            continue
        number, passed, middle = len(places), -1, {}
        for event in events:
            if _place(event) not in places:
                continue
            before, number = number, places.index(_place(event))
            passed += number <= before
            if passed == often // 2:
                middle[number] = event
            if event.kind != "product" and "expect" not in event.step.opcode:
                ends[event.bit] = len(middles), number, passed
        middles.append((thread.warps, often // 2, middle))
    return [
        (warps, [LoopStep(event.kind, event.size, _needs(event, half, ends)) for event in middle.values()])
        for warps, half, middle in middles
    ]


def _place(event: RecordedEvent) -> tuple[int, bool]:
    return event.step.line, event.kind == "arrive"


def _needs(
    event: RecordedEvent, passed: int, ends: Mapping[int, tuple[int, int, int]]
) -> list[tuple[int, int, int]]:
    sources = [ends[bit] for bit in event.needs if bit in ends]
    return [(thread, number, passed - before) for thread, number, before in sources]
