"""Runs the integer part of a kernel for some of its programs at once, and counts.

All sampled programs run together: a value has a row per program and a column per thread (see `lanes`).
Threads that diverge wait: of the blocks at which threads are, the one that comes first in reverse postorder
runs next, with those threads only, so that those that leave a loop wait until all have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.lanes import Array, Value, storage
from irscope.estimating.launch_arguments import SPACING_BITS
from irscope.estimating.ptx_program import PtxProgram
from irscope.estimating.steady_loops import SteadyLoops
from irscope.estimating.steps import Access, Exit, Kind, Space, Step, Steps
from irscope.estimating.warp_operations import warp_operation
from irscope.estimating.wavefronts import WARP, sectors, wavefronts
from irscope.languages.control_flow import NONE

Mask = NDArray[np.bool_]

# Per access: warps that execute it with an active thread, active threads, sectors or wavefronts, lines.
WARPS, THREADS, SECTORS, LINES = range(4)
_METRICS = 4
_MOST_BLOCKS = 20_000
_FOOTPRINT_PROGRAMS = 2


@dataclass(slots=True)
class Touch:
    """The addresses of one execution of an access in the first programs, and how often it is repeated.

    `repeats` are pairs: so many more times, each so many bytes further.
    """

    access: int
    addresses: Array
    active: Mask | None
    order: int
    repeats: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Run:
    """What the sampled programs did.

    `entries` are the warps that entered each loop from outside (loops x programs), `blocks` the warps that
    executed each block (blocks x programs); `accesses` the metrics of each access
    (accesses x metrics x programs); `copies` the blocks that each tensor copy copied (copies x programs).
    `assumptions` says which conditions were not known.
    """

    entries: NDArray[np.int64]
    blocks: NDArray[np.int64]
    accesses: NDArray[np.int64]
    copies: NDArray[np.int64]
    touches: list[Touch] = field(default_factory=list)
    copied: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)
    first_addresses: dict[int, Array] = field(default_factory=dict)
    assumptions: dict[int, str] = field(default_factory=dict)
    stopped: str = ""


class Interpreter:
    """The state of one run. `values` are the first values of registers by number."""

    def __init__(
        self,
        program: PtxProgram,
        steps: Steps,
        values: Mapping[int, Array],
        programs: int,
        threads: int,
        seconds: float,
    ) -> None:
        self.program, self.steps = program, steps
        self.programs, self.threads = programs, threads
        self.warps = threads // WARP
        self.registers: list[Value] = [None] * (len(steps.numbers) + 1)
        for number, value in {**steps.constants, **values}.items():
            self.registers[number] = value
        self._number = {id(access): at for at, access in enumerate(steps.accesses)}
        self._copy_number = {id(copy): at for at, copy in enumerate(steps.copies)}
        loops = len(program.tree.loops)
        counts = loops + len(steps.blocks) + len(steps.accesses) * _METRICS + len(steps.copies)
        # One array, so that a loop can be repeated by adding the difference of two copies of it.
        self.counters = np.zeros((counts, programs), np.int64)
        blocks, accesses = len(steps.blocks), len(steps.accesses)
        entries, measured = np.split(self.counters, [loops])
        executed, measured, copied = np.split(measured, [blocks, blocks + accesses * _METRICS])
        self.run = Run(entries, executed, measured.reshape(accesses, _METRICS, programs), copied)
        self._position = {block: at for at, block in enumerate(program.tree.graph.reverse_postorder)}
        self._wavefronts: dict[tuple[int, bytes, bytes], NDArray[np.int64]] = {}
        self._deadline = perf_counter() + seconds
        self._loops = SteadyLoops(program, steps)
        self._shared: NDArray[np.uint8] | None = None
        self.all = np.ones((programs, threads), bool)

    def execute(self) -> Run:
        """Runs until all threads have ended, or the time is up."""
        pending: dict[int, Mask] = dict.fromkeys(self.program.tree.graph.entries[:1], self.all)
        executed = 0
        with np.errstate(all="ignore"):
            while pending:
                block = min(pending, key=lambda at: self._position.get(at, 1 << 30))
                mask = pending.pop(block)
                # The registers of threads that have ended are not read again.
                partial = mask if pending else None
                executed += 1
                if executed > _MOST_BLOCKS or perf_counter() > self._deadline:
                    self.run.stopped = "the programs run for too long to be interpreted"
                    break
                self._loops.arrive(block, mask, self)
                self._block(block, mask, partial)
                for following, own in self._leave(block, mask):
                    loop = self._loops.enter(block, following)
                    if loop != NONE:
                        self.run.entries[loop] += self._warps(own)
                    pending[following] = pending[following] | own if following in pending else own
        return self.run

    def _warps(self, mask: Mask) -> NDArray[np.int64]:
        """The warps of each program with an active thread."""
        found: NDArray[np.int64] = mask.reshape(self.programs, self.warps, WARP).any(axis=2).sum(axis=1)
        return found

    def _block(self, block: int, mask: Mask, partial: Mask | None) -> None:
        self.run.blocks[block] += self._warps(mask)
        full = mask if not mask.all() else None
        registers, tracing = self.registers, self._loops.tracing
        for step in self.steps.blocks[block]:
            if step.kind is Kind.COMPUTE and step.guard == NONE and partial is None:
                try:
                    found = step.function(*[registers[at] for at in step.sources])
                except Exception:  # noqa: BLE001 - an unknown value, or an instruction that is not interpreted
                    for at in step.results:
                        registers[at] = None
                else:
                    if len(step.results) == 1:
                        registers[step.results[0]] = found
                    else:
                        for at, value in zip(step.results, found, strict=False):
                            registers[at] = value
                if tracing and step.parts:
                    self._loops.trace(step, registers, full)
            else:
                self._step(step, full, partial)

    def _step(self, step: Step, full: Mask | None, partial: Mask | None) -> None:
        """A step of another kind, or one with a predicate, or in a block that only some threads execute.

        `full` are the active threads (None: all), `partial` the same if the registers of others are kept.
        """
        active, guarded = full, None
        if step.guard != NONE:
            guarded = self.registers[step.guard]
            if guarded is None:
                self.run.assumptions.setdefault(step.index, "a mask depends on data: taken to hold")
            else:
                guarded = ~guarded if step.negated else guarded
                active = guarded & (self.all if active is None else active)
                partial = guarded if partial is None else guarded & partial
        if step.access is not None:
            self._access(step.access, active)
            if not step.results:
                return
            found = self._loaded(step, active)
        elif step.kind is Kind.TENSOR_COPY:
            self._tensor_copy(step, active)
            return
        else:
            found = self._computed(step, active)
        if step.parts[:1] == ("setp",) and self._loops.tracing:
            self._loops.trace(step, self.registers, full)
        for at, value in zip(step.results, found, strict=False):
            old = self.registers[at]
            if partial is not None and value is not None and old is not None and old.dtype == value.dtype:
                self.registers[at] = np.where(partial, value, old)
            else:
                self.registers[at] = value

    def _computed(self, step: Step, active: Mask | None) -> Sequence[Value]:
        sources = [self.registers[at] for at in step.sources]
        try:
            if step.kind is Kind.LANES:
                return warp_operation(step.parts, sources, self, active)
            found = step.function(*sources)
        except Exception:  # noqa: BLE001 - an unknown value, or an instruction that is not interpreted
            return [None] * len(step.results)
        return [found] if len(step.results) == 1 else found

    def _loaded(self, step: Step, active: Mask | None) -> Sequence[Value]:
        """The values of a load: unknown data. Equal addresses give equal numbers, others likely not.

        The numbers are small, as indices are, so that addresses made from them have the shape of real ones.
        """
        access = step.access
        address = None if access is None else self.registers[access.address]
        if access is None or address is None or not step.parts or step.parts[0] not in ("ld", "atom"):
            return [None] * len(step.results)
        kind = step.parts[-1]
        if kind[0] == "f" or kind in ("pred",):
            return [None] * len(step.results)
        self.run.assumptions.setdefault(step.index, "an address or a mask depends on data: taken as random")
        each = access.width // max(1, len(step.results))
        found = []
        for at in range(len(step.results)):
            own = (address.astype(np.int64) + access.offset + at * each) // max(1, each)
            mixed = own * np.int64(0x9E3779B97F4A7C1 | 1)
            found.append(((mixed >> 24) & 0x7FF).astype(storage(kind)))
        return found

    def _access(self, access: Access, active: Mask | None) -> None:
        address = self.registers[access.address]
        row = self.run.accesses[self._number[id(access)]]
        if access.size != NONE:
            size = self.registers[access.size]
            if access.space is Space.GLOBAL and size is not None and not (size > 0).all():
                active = (size > 0) & (self.all if active is None else active)
        if active is not None and active.shape != self.all.shape:
            active = np.broadcast_to(active, self.all.shape)
        if active is not None and active.all():
            active = None
        if address is None:
            self._unknown_address(access, row, active)
            return
        if active is None:
            row[WARPS] += self.warps
            row[THREADS] += self.threads
        else:
            by_warp = active.reshape(self.programs, self.warps, WARP)
            row[WARPS] += by_warp.any(axis=2).sum(axis=1)
            row[THREADS] += active.sum(axis=1)
        if access.space is Space.GLOBAL:
            self._global(access, row, address.astype(np.int64) + access.offset, active)
        else:
            row[SECTORS] += self._shared_wavefronts(access, address.astype(np.int64) + access.offset, active)

    def _unknown_address(self, access: Access, row: NDArray[np.int64], active: Mask | None) -> None:
        """Counts an access as if each thread accessed a sector of its own."""
        self.run.assumptions.setdefault(access.index, "an unknown address: taken to be scattered")
        mask = self.all if active is None else active
        row[WARPS] += mask.reshape(self.programs, self.warps, WARP).any(axis=2).sum(axis=1)
        row[THREADS] += mask.sum(axis=1)
        if access.space is Space.GLOBAL:
            row[SECTORS] += mask.sum(axis=1)
            row[LINES] += mask.sum(axis=1)

    def _global(self, access: Access, row: NDArray[np.int64], address: Array, active: Mask | None) -> None:
        rows = self.programs if active is not None else address.shape[0]
        wide = np.broadcast_to(address, (rows, self.threads))
        shape = (rows, self.warps, WARP)
        mask = None if active is None else active.reshape(shape)
        found, lines = sectors(wide.reshape(shape), access.width, mask)
        row[SECTORS] += found.sum(axis=1)
        row[LINES] += lines.sum(axis=1)
        kept = min(rows, _FOOTPRINT_PROGRAMS)
        number = self._number[id(access)]
        self.run.first_addresses.setdefault(number, wide[:, :1])
        touch = Touch(number, wide[:kept], None if active is None else active[:kept], len(self.run.touches))
        self.run.touches.append(touch)

    def _shared_wavefronts(self, access: Access, address: Array, active: Mask | None) -> NDArray[np.int64]:
        rows = self.programs if active is not None else address.shape[0]
        wide = np.broadcast_to(address, (rows, self.threads)).reshape(rows * self.warps, WARP)
        mask = None if active is None else active.reshape(rows * self.warps, WARP)
        if access.lanes < WARP:
            first = np.broadcast_to(np.arange(WARP) < access.lanes, wide.shape)
            mask = first if mask is None else mask & first
        # Moving all addresses by a multiple of 128 bytes changes no bank.
        shift = int(wide.flat[0]) & ~127
        key = access.width, (wide - shift).tobytes(), b"" if mask is None else mask.tobytes()
        known = self._wavefronts.get(key)
        if known is None:
            known = wavefronts(wide - shift, access.width, mask).reshape(rows, self.warps).sum(axis=1)
            self._wavefronts[key] = known
        return known

    def _tensor_copy(self, step: Step, active: Mask | None) -> None:
        copy = step.copy
        if copy is None:
            return
        number = self._copy_number[id(copy)]
        executing = self.all if active is None else np.broadcast_to(active, self.all.shape)
        self.run.copies[number] += executing.sum(axis=1)
        descriptor = self.registers[copy.descriptor] if copy.descriptor != NONE else None
        if descriptor is None or not executing[0].any():
            return
        lane = int(np.argmax(executing[0]))
        coordinates = []
        for at in copy.coordinates:
            value = self.registers[at]
            if value is None:
                return
            coordinates.append(int(np.broadcast_to(value, self.all.shape)[0, lane]))
        address = int(np.broadcast_to(descriptor, self.all.shape)[0, lane])
        self.run.copied.append((number, address >> SPACING_BITS, tuple(coordinates)))

    def _leave(self, block: int, mask: Mask) -> list[tuple[int, Mask]]:
        """Where the threads of `mask` go after a block."""
        ending: Exit = self.steps.exits[block]
        if not ending.known:
            self.run.stopped = "an indirect branch"
            return []
        if ending.condition == NONE:
            return [(ending.taken, mask)] if ending.taken != NONE else []
        condition = self.registers[ending.condition]
        if condition is None:
            taken = self._unknown_branch(block, ending)
            following = ending.taken if taken else ending.otherwise
            return [(following, mask)] if following != NONE else []
        condition = ~condition if ending.negated else condition
        if condition.size == 1:
            following = ending.taken if condition.flat[0] else ending.otherwise
            return [(following, mask)] if following != NONE else []
        taken_by, left = mask & condition, mask & ~condition
        found = []
        for following, own in ((ending.taken, taken_by), (ending.otherwise, left)):
            if following != NONE and own.any():
                found.append((following, own))
        return found

    def _unknown_branch(self, block: int, ending: Exit) -> bool:
        """Takes no branch back, and otherwise enters what the branch skips."""
        last = self.program.tree.graph.blocks[block].end - 1
        own = self._position.get(block, 0)
        back = self._position.get(ending.taken, 0) <= own
        forward_exit = ending.otherwise != NONE and self._position.get(
            ending.otherwise, 0
        ) <= self._position.get(block, 0)
        if back:
            self.run.assumptions[last] = "a loop's end depends on data: taken to run once"
            return False
        if forward_exit:
            self.run.assumptions[last] = "a loop's end depends on data: taken to run once"
            return True
        self.run.assumptions[last] = "a branch depends on data: taken to enter the code that it can skip"
        return False
