"""Runs the integer part of a kernel for some of its programs at once, and counts.

All sampled programs run together: a value has a row per program and a column per thread (see `lanes`).
Threads that diverge wait: of the blocks at which threads are, the one that comes first in reverse postorder
runs next, with those threads only, so that those that leave a loop wait until all have.

Instructions that exchange values between the threads of a warp.

The shared memory of some programs, for addresses and conditions that pass through it.

Triton converts layouts through shared memory, and so the indices of a gather.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.counting.lanes import Array, Value, storage
from irscope.estimating.counting.launch_arguments import (
    LaunchArguments,
    TensorArgument,
    block_offsets,
    copied_tensor,
    tensor_address,
)
from irscope.estimating.counting.memory_requests import METRICS, ExecutedAccess, Mask, Requests
from irscope.estimating.counting.ptx_program import PtxProgram
from irscope.estimating.counting.steady_loops import SteadyLoops
from irscope.estimating.counting.translate import Access, Exit, Space, Step, StepKind, Steps
from irscope.languages.control_flow import NONE


def _warp_operation(
    parts: Sequence[str], sources: Sequence[Value], threads: int, warp: int
) -> Sequence[Value]:
    """Execute `shfl`, `elect`, `vote`, or a wait for an mbarrier, which always succeeds."""
    match parts[0]:
        case "shfl":
            return _shuffle(parts, sources, threads, warp)
        case "elect":
            return np.zeros((1, 1), np.int32), (np.arange(threads) % warp == 0)[None, :]
        case "mbarrier":
            return (np.ones((1, 1), bool),)
        case "activemask":
            return (np.full((1, 1), -1, np.int32),)
        case "vote":
            return (_vote(parts, sources[0], threads, warp),)
    return None, None


def _shuffle(parts: Sequence[str], sources: Sequence[Value], threads: int, warp: int) -> Sequence[Value]:
    """Execute `shfl.sync.MODE.b32` within the whole warp: value, lane or distance, clamp."""
    value, by = sources[0], sources[1]
    if value is None or by is None or value.shape[1] == 1:
        return None if by is None else value, np.ones((1, 1), bool)
    lane = np.arange(threads) % warp
    amount = np.broadcast_to(by, (by.shape[0], threads))[0]
    target = {
        "idx": amount & (warp - 1), "bfly": lane ^ amount, "up": lane - amount, "down": lane + amount,
    }[parts[2] if parts[1] == "sync" else parts[1]]  # fmt: skip
    inside = (target >= 0) & (target < warp)
    source = np.arange(threads) - lane + np.where(inside, target, lane)
    return value[:, source], inside[None, :]


_BALLOTS = {32: np.int32, 64: np.int64}


def _vote(parts: Sequence[str], condition: Value, threads: int, warp: int) -> Value:
    if condition is None:
        return None
    if threads < warp:  # one thread stands for its warp
        return np.where(condition, -1, 0).astype(_BALLOTS[warp]) if "ballot" in parts else condition
    wide = np.broadcast_to(condition, (condition.shape[0], threads))
    by_warp = wide.reshape(condition.shape[0], -1, warp)
    if "ballot" in parts:
        ballots = (by_warp.astype(bool).astype(np.int64) << np.arange(warp)).sum(axis=2)
        return np.repeat(ballots.astype(_BALLOTS[warp]), warp, axis=1)
    return np.repeat(by_warp.all(axis=2) if "all" in parts else by_warp.any(axis=2), warp, axis=1)


_SIZE = 1 << 18  # bytes: more than any block can have


class SharedMemory:
    """The bytes of each program's shared memory, and which of them are known."""

    def __init__(self, programs: int, threads: int) -> None:
        self._bytes = np.zeros((programs, _SIZE), np.uint8)
        self._known = np.zeros((programs, _SIZE), bool)
        self._shape = programs, threads
        self._rows = np.arange(programs)[:, None, None]

    def store(self, address: Array, values: Sequence[Value], size: int, active: Mask | None) -> None:
        """Store elements of `size` bytes one after the other, in the active threads (None: all)."""
        for element, value in enumerate(values):
            offsets = self._places(address + element * size, size)
            is_known = value is not None and value.dtype.kind == "i" and value.dtype.itemsize >= size
            if value is not None and is_known:
                wide = np.ascontiguousarray(np.broadcast_to(value, self._shape))
                data = wide.view(np.uint8).reshape(*self._shape, -1)[:, :, :size]
            else:
                data = np.zeros((*self._shape, size), np.uint8)
            if active is None:
                self._bytes[self._rows, offsets] = data
                self._known[self._rows, offsets] = is_known
            else:
                rows = np.broadcast_to(self._rows, offsets.shape)[active]
                self._bytes[rows, offsets[active]] = data[active]
                self._known[rows, offsets[active]] = is_known

    def load(self, address: Array, element: str, kind: type, active: Mask | None) -> Value:
        """Load an element ("u4") of each thread as a register of `kind`.

        Returns None if that of an active thread is not known.
        """
        offsets = self._places(address, int(element[1:]))
        is_known = self._known[self._rows, offsets].all(axis=2)
        if not (is_known if active is None else is_known | ~active).all():
            return None
        data = np.ascontiguousarray(self._bytes[self._rows, offsets])
        loaded: Array = data.view(element).reshape(self._shape).astype(kind)
        return loaded

    def _places(self, address: Array, size: int) -> Array:
        wide = np.broadcast_to(address, self._shape) & (_SIZE - 1)
        offsets: Array = np.minimum(wide[:, :, None] + np.arange(size), _SIZE - 1)
        return offsets


# A block, and the number of a step in it.
_Place = tuple[int, int]

# Executions of blocks, apart from one of each.
_MOST_BLOCKS = 4_000
# Executions of steps, each as many as it has threads and as its start costs: about two seconds of CPU. A
# count, so that the result does not depend on how busy the machine is.
_MOST_WORK, _START = 300_000_000, 1_500
# Numbers that take the place of data: the bits of a product, as in multiplicative hashing.
_MIXER, _MOST_DATA = np.int64(0x9E3779B97F4A7C1), (1 << 30) - 1


@dataclass
class Run:
    """The counters of the sampled programs.

    `entries` are the warps that entered each loop from outside (loops x programs), `blocks` the warps that
    executed each block (blocks x programs); `accesses` the metrics of each access
    (accesses x metrics x programs); `copies` the blocks that each tensor copy copied (copies x programs).
    `copied` are the tensors of tensor copies. `known` are the accesses that load integers which the launch
    has, and whether all threads of a program always loaded the same one. `random` are the instructions that
    loaded what is not known, and `deciding` those of them that decided a branch. `assumptions` says which
    conditions were not known.
    """

    entries: NDArray[np.int64]
    blocks: NDArray[np.int64]
    accesses: NDArray[np.int64]
    copies: NDArray[np.int64]
    copied: dict[int, TensorArgument] = field(default_factory=dict)
    known: dict[int, bool] = field(default_factory=dict)
    random: set[int] = field(default_factory=set)
    deciding: set[int] = field(default_factory=set)
    assumptions: dict[int, str] = field(default_factory=dict)
    stopped: str = ""


class Interpreter:
    """The state of one run. `values` are the first values of registers by number."""

    def __init__(
        self,
        program: PtxProgram,
        steps: Steps,
        values: Mapping[int, Array],
        arguments: LaunchArguments,
        programs: int,
        threads: int,
    ) -> None:
        self.program, self.steps = program, steps
        self.programs, self.threads, self.arguments = programs, threads, arguments
        self.warps = threads // steps.warp
        self.registers: list[Value] = [None] * (len(steps.numbers) + 1)
        for number, value in {**steps.constants, **values}.items():
            self.registers[number] = value
        self._number = {id(access): index for index, access in enumerate(steps.accesses)}
        self._copy_number = {id(copy): index for index, copy in enumerate(steps.copies)}
        loops = len(program.tree.loops)
        counts = loops + len(steps.blocks) + len(steps.accesses) * METRICS + len(steps.copies)
        # One array, so that a loop can be repeated by adding the difference of two copies of it.
        self.counters = np.zeros((counts, programs), np.int64)
        blocks, accesses = len(steps.blocks), len(steps.accesses)
        entries, measured = np.split(self.counters, [loops])
        executed, measured, copied = np.split(measured, [blocks, blocks + accesses * METRICS])
        self.run = Run(entries, executed, measured.reshape(accesses, METRICS, programs), copied)
        self._position = {block: index for index, block in enumerate(program.tree.graph.reverse_postorder)}
        self._most_steps = _MOST_WORK // (_START + programs * threads)
        self._loops = SteadyLoops(program.tree, steps.carried)
        self.all = np.ones((programs, threads), bool)
        self._memory = SharedMemory(programs, threads) if steps.loads_shared and threads > 1 else None
        self._requests = Requests(steps, self.run.accesses, self.registers, self.all)

    @property
    def touches(self) -> list[ExecutedAccess]:
        """Return the executions of accesses to global memory, in order."""
        return self._requests.touches

    @property
    def first_addresses(self) -> Mapping[int, Array]:
        """Map each access to the address of each program's first thread at its first execution."""
        return self._requests.first_addresses

    def execute(self) -> Run:
        """Run until all threads have ended, or too much has been executed."""
        pending: dict[_Place, Mask] = {(entry, 0): self.all for entry in self.program.tree.graph.entries[:1]}
        waiting: dict[_Place, Mask] = {}
        executed = steps = 0
        with np.errstate(all="ignore"):
            while pending or waiting:
                if not pending:
                    # All threads have ended or wait at a barrier.
                    pending, waiting = waiting, {}
                position = min(pending, key=lambda at: (self._position.get(at[0], 1 << 30), at[1]))
                mask = pending.pop(position)
                # The registers of threads that have ended are not read again.
                partial = mask if pending or waiting else None
                executed += 1
                steps += len(self.steps.blocks[position[0]]) - position[1]
                if executed > _MOST_BLOCKS + len(self.steps.blocks) or steps > self._most_steps:
                    self.run.stopped = "the programs run for too long to be interpreted"
                    break
                stopped = self._run(position, mask, partial)
                if stopped is not None:
                    _add(waiting, stopped, mask)
                    continue
                for following, threads in self._leave(position[0], mask):
                    loop = self._loops.enter(position[0], following)
                    if loop != NONE:
                        self.run.entries[loop] += self._warps(threads)
                    _add(pending, (following, 0), threads)
        return self.run

    def _run(self, place: _Place, mask: Mask, partial: Mask | None) -> _Place | None:
        """Run a block from a step on; return the place after a barrier, if the threads wait at one."""
        block, start = place
        if not start:
            self._arrive(block, mask)
            self.run.blocks[block] += self._warps(mask)
        return self._block(block, start, mask, partial)

    def _arrive(self, block: int, mask: Mask) -> None:
        self._loops.arrive(block, mask, self)

    def _count(self, access: Access, active: Mask | None) -> str:
        """Count an access by the active threads (None: all); return what had to be assumed, or ""."""
        return self._requests.count(access, active)

    def _warps(self, mask: Mask) -> NDArray[np.int64]:
        """Count the warps of each program with an active thread."""
        warps: NDArray[np.int64] = (
            mask.reshape(self.programs, self.warps, self.steps.warp).any(axis=2).sum(axis=1)
        )
        return warps

    def _block(self, block: int, start: int, mask: Mask, partial: Mask | None) -> _Place | None:
        full = mask if not mask.all() else None
        registers, tracing = self.registers, self._loops.tracing
        steps = self.steps.blocks[block]
        for at_step in range(start, len(steps)):
            step = steps[at_step]
            if step.kind is StepKind.COMPUTE and step.guard == NONE and partial is None:
                try:
                    result = step.function(*[registers[register] for register in step.sources])
                except Exception:  # noqa: BLE001 - an unknown value, or an instruction that is not interpreted
                    for register in step.results:
                        registers[register] = None
                else:
                    if len(step.results) == 1:
                        registers[step.results[0]] = result
                    else:
                        for register, value in zip(step.results, result, strict=False):
                            registers[register] = value
                if tracing and step.parts:
                    self._loops.trace(step, registers, full)
            elif step.kind is StepKind.BARRIER:
                return block, at_step + 1
            else:
                self._step(step, full, partial)
        return None

    def _step(self, step: Step, full: Mask | None, partial: Mask | None) -> None:
        """Execute a step that is of another kind, is predicated, or is in a partly executed block.

        `full` are the active threads (None: all), `partial` the same if the registers of others are
        kept.
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
        if step.parts[:1] == ("setp",) and self._loops.tracing:
            self._loops.trace(step, self.registers, full)
        for register, value in zip(step.results, self._results(step, active), strict=False):
            old = self.registers[register]
            if partial is not None and value is not None and old is not None and old.dtype == value.dtype:
                self.registers[register] = np.where(partial, value, old)
            else:
                self.registers[register] = value

    def _results(self, step: Step, active: Mask | None) -> Sequence[Value]:
        """Execute a step in the active threads (None: all) and return its results."""
        access = step.access
        if step.kind is StepKind.TENSOR_COPY:
            self._tensor_copy(step, active)
            return ()
        if access is None:
            return self._computed(step)
        note = self._count(access, active)
        if note:
            self.run.assumptions.setdefault(step.index, note)
        if access.data:
            self._store(access, active)
        elif access.source is not None:
            self._copied(access, access.source, active)
        return self._loaded(step, access, active) if step.results else ()

    def _computed(self, step: Step) -> Sequence[Value]:
        sources = [self.registers[register] for register in step.sources]
        try:
            if step.kind is StepKind.LANES:
                return _warp_operation(step.parts, sources, self.threads, self.steps.warp)
            result = step.function(*sources)
        except Exception:  # noqa: BLE001 - an unknown value, or an instruction that is not interpreted
            return [None] * len(step.results)
        return [result] if len(step.results) == 1 else result

    def _loaded(self, step: Step, access: Access, active: Mask | None) -> Sequence[Value]:
        """Return the values of a load: those of the launch, those that were stored to shared memory, or data.

        Equal addresses give equal data, others likely not. It is as large as an index of a row can be.
        """
        address = self.registers[access.address]
        kind = step.parts[-1] if step.parts else ""
        if address is None or kind[:1] not in ("b", "s", "u") or step.parts[0] not in ("ld", "atom"):
            return [None] * len(step.results)
        size = access.width // max(1, len(step.results))
        values = []
        for element in range(len(step.results)):
            element_address = address.astype(np.int64) + access.offset + element * size
            stored = self._stored(access, element_address, size, kind, active)
            if stored is None:
                stored = self._integers(access, element_address, size)
            if stored is None:
                self.run.assumptions.setdefault(step.index, "a value depends on data: taken as random")
                self.run.random.add(step.index)
                mixed = ((element_address // max(1, size)) * _MIXER >> 24) & _MOST_DATA
                stored = (mixed % self.arguments.rows).astype(storage(access.register))
            values.append(stored)
        return values

    def _integers(self, access: Access, address: Array, size: int) -> Value:
        """Return the integers of a tensor whose values the launch has; None for another one."""
        tensor = self.arguments.tensor(int(address.flat[0])) if access.space is Space.GLOBAL else None
        values = tensor.integers(address, size) if tensor is not None else None
        if values is None:
            return None
        uniform = address.shape[1] == 1 or bool((address == address[:, :1]).all())
        number = self._number[id(access)]
        self.run.known[number] = uniform and self.run.known.get(number, True)
        return values.astype(storage(access.register))

    def _copied(self, access: Access, source: Access, active: Mask | None) -> None:
        """Keep integers that the launch has, and that are copied to shared memory."""
        address, target = self.registers[source.address], self.registers[access.address]
        if self._memory is None or address is None or target is None:
            return
        tensor = self.arguments.tensor(int(address.flat[0]) + source.offset)
        if tensor is None or tensor.values is None:
            return
        size, first = tensor.size, address.astype(np.int64) + source.offset
        values = [tensor.integers(first + offset, size) for offset in range(0, access.width, size)]
        mask = None if active is None else np.broadcast_to(active, self.all.shape)
        self._memory.store(target.astype(np.int64) + access.offset, values, size, mask)

    def _stored(self, access: Access, address: Array, size: int, kind: str, active: Mask | None) -> Value:
        if self._memory is None or access.space is not Space.SHARED or size not in (1, 2, 4, 8):
            return None
        element = f"{'i' if kind[0] == 's' else 'u'}{size}"
        return self._memory.load(address, element, storage(access.register), active)

    def _store(self, access: Access, active: Mask | None) -> None:
        """Keep what is stored to shared memory, if it is loaded to compute addresses or conditions."""
        address = self.registers[access.address]
        if self._memory is None or address is None or access.space is not Space.SHARED:
            return
        values = [self.registers[register] for register in access.data]
        size = access.width // max(1, len(values))
        if values and size in (1, 2, 4, 8):
            mask = None if active is None else np.broadcast_to(active, self.all.shape)
            self._memory.store(address.astype(np.int64) + access.offset, values, size, mask)

    def _tensor_copy(self, step: Step, active: Mask | None) -> None:
        copy = step.copy
        if copy is None:
            return
        number = self._copy_number[id(copy)]
        executing = self.all if active is None else np.broadcast_to(active, self.all.shape)
        self.run.copies[number] += executing.sum(axis=1)
        address = tensor_address(copy, self.registers, self.arguments)
        tensor = copied_tensor(copy, self.registers, self.arguments)
        if address is None or tensor is None or not executing[0].any():
            return
        self.run.copied[number] = tensor
        # Each warp's elected thread copies a block of its own.
        starts = np.broadcast_to(address, (len(address), self.threads))[:1, executing[0]]
        blocks = (starts[:, :, None] + block_offsets(tensor)).reshape(1, -1)
        self._requests.touch(len(self.steps.accesses) + number, blocks, None)

    def _leave(self, block: int, mask: Mask) -> list[tuple[int, Mask]]:
        """Return the blocks that the threads of `mask` go to after a block, each with its threads."""
        ending: Exit = self.steps.exits[block]
        if not ending.known:
            self.run.stopped = "an indirect branch"
            return []
        if ending.condition == NONE:
            return [(ending.taken, mask)] if ending.taken != NONE else []
        condition = self.registers[ending.condition]
        if ending.table:
            return self._indirect(ending, condition, mask)
        deciding = self.steps.deciding.get(block, frozenset()) & self.run.random
        self.run.deciding |= deciding
        if condition is None or (deciding and self._skips(block, ending)):
            takes_branch = self._unknown_branch(block, ending)
            following = ending.taken if takes_branch else ending.otherwise
            return [(following, mask)] if following != NONE else []
        condition = ~condition if ending.negated else condition
        if condition.size == 1:
            following = ending.taken if condition.flat[0] else ending.otherwise
            return [(following, mask)] if following != NONE else []
        taken_by, left = mask & condition, mask & ~condition
        branches = []
        for following, threads in ((ending.taken, taken_by), (ending.otherwise, left)):
            if following != NONE and threads.any():
                branches.append((following, threads))
        return branches

    def _indirect(self, ending: Exit, index: Value, mask: Mask) -> list[tuple[int, Mask]]:
        if index is None:
            self.run.stopped = "an indirect branch that depends on data"
            return []
        branches = []
        for number, following in enumerate(ending.table):
            threads = mask & (index == number)
            if threads.any():
                branches.append((following, threads))
        return branches

    def _skips(self, block: int, ending: Exit) -> bool:
        """Check whether a branch goes forward either way: no loop depends on it."""
        position = self._position.get(block, 0)
        targets = [target for target in (ending.taken, ending.otherwise) if target != NONE]
        return all(self._position.get(target, 0) > position for target in targets)

    def _is_end(self, block: int) -> bool:
        """Check whether nothing follows: no block, or one that only returns or jumps ahead to one."""
        if block == NONE:
            return True
        taken, otherwise = self.steps.exits[block][:2]
        if self.steps.blocks[block] or otherwise != taken:
            return False
        return taken == NONE or (self._skips(block, self.steps.exits[block]) and self._is_end(taken))

    def _unknown_branch(self, block: int, ending: Exit) -> bool:
        """Decide a branch that depends on data: take none back, otherwise enter what the branch skips."""
        if self._is_end(ending.otherwise) and not self._is_end(ending.taken) and self._skips(block, ending):
            return True
        last = self.program.tree.graph.blocks[block].end - 1
        position = self._position.get(block, 0)
        back = self._position.get(ending.taken, 0) <= position
        leaves = ending.otherwise != NONE and self._position.get(ending.otherwise, 0) <= position
        self.run.assumptions[last] = (
            "a loop's end depends on data: taken to run once"
            if back or leaves
            else "a branch depends on data: taken to enter the code that it can skip"
        )
        return leaves and not back


def _add(places: dict[_Place, Mask], place: _Place, mask: Mask) -> None:
    """Add threads to those at a place."""
    places[place] = places[place] | mask if place in places else mask
