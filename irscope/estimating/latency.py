"""The latency of one program: replays its machine instructions in order, as the compiler scheduled them.

    LDG R4 (sets scoreboard 2) ; 12 instructions ; FADD R5, R4 (waits for scoreboard 2) -> waits for the load

The control bits of each instruction say how many cycles pass before the next one and for which scoreboards it
waits, so nothing about registers need be known. Results arrive after the latency of their unit; asynchronous
copies and warp-group matrix instructions are waited for by group. All warps of the program run in step and
share units: the schedulers, the tensor cores, shared memory, special functions, the way from L2. A loop is
replayed a few times and then repeated at the pace of its last passes.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from irscope.estimating.machine_code import (
    AMD_UNITS,
    NO_SCOREBOARD,
    OPCODES,
    MachineInstructions,
    MachineLoop,
    MachineRuns,
    loops_of,
    partition_loops,
)
from irscope.interpreting.events.event_order import LoopStep
from irscope.model import UserError

# Cycles on Hopper: W. Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via
# Microbenchmarking" (2024): shared memory 29; special functions and warp shuffles as on Volta and Ampere
# (Z. Jia et al., 2018, table 4.1; H. Abdelkhalik et al., "Demystifying the Nvidia Ampere Architecture").
# AMD's, of LDS and the scalar cache, are assumed: none was measured.
LATENCIES = {
    "LDS": 29, "LDSM": 33, "STS": 20, "STSM": 20, "SHFL": 24, "MUFU": 22, "LDC": 30, "S2R": 25, "S2UR": 25,
    "F2I": 20, "I2F": 20, "F2F": 20, "DFMA": 48, "DADD": 48, "DMUL": 48, "DMMA": 40, "STG": 20, "STL": 20,
    "LDL": 33, "RED": 20, "R2UR": 12, "ATOMS": 60, "LDSACCESS": 64, "LDSSHUFFLE": 64, "SCALARLOAD": 120,
}  # fmt: skip
_NAMES = OPCODES | AMD_UNITS
_SPECIAL = frozenset(("MUFU", "F2I", "I2F", "F2F"))
_OTHER = 15
_SHARED_ISSUE = 20  # until the operands of an access are read
TENSOR_COPY = 170  # more than a load: the TMA unit generates the addresses
# Bytes per cycle that a multiprocessor takes from the TMA unit (nominal; Z. Jia et al., 2018).
PORT = 64.0
# From the last multiply-add of a warp-group product until a wait for it ends (fitted to loops measured on an
# H200, tests/truth/timelines: in attention with heads of 128, each instruction waits for the one before), and
# from the last warp's arrival at a barrier until all go on.
PRODUCT_DRAIN, BARRIER = 60.0, 20.0
_WARM, _INNER, PASSES = 6, 3, 24  # passes that are replayed
# Comparisons, minima, selections, logic, integer sums and conversions have 64 lanes of a multiprocessor, as
# integer products have (CUDA C++ Programming Guide, "Arithmetic Instructions", 8.0 and 9.0): a warp occupies
# them for two cycles. Which pipe an opcode has was read off the cycles that ptxas leaves between two of them.
_HALF_RATE = 2
_PIPES = dict.fromkeys((0x002, *range(0x007, 0x01D), 0x03E), 0) | dict.fromkeys(
    (0x024, 0x025, 0x027, 0x036), 1
)
# The limits of a replay. Each level of nesting triples the steps, so that a crafted cubin would never end. Of
# 167 real kernels, the largest, with 24,000 instructions, takes 22,000 steps; none has more than two levels.
_MOST_STEPS, _MOST_LEVELS = 1_000_000, 32
_LOAD, _COPY, _COMMIT, _WAIT, _TMA, _SYNC, _GMMA, _GMMA_WAIT, _HMMA, _ATOM, _BARRIER = range(1, 12)
# AMD: memory instructions that a counter counts, in order, and LDS and scalar ones, which another one counts.
_COUNTED_LOAD, _COUNTED_STORE, _COUNTED_ATOMIC, _LDS, _LDS_WAIT = range(12, 17)
_ROLES = {
    "LDG": _LOAD, "LDGSTS": _COPY, "LDGDEPBAR": _COMMIT, "DEPBAR": _WAIT, "UTMALDG": _TMA, "SYNCS": _SYNC,
    "HGMMA": _GMMA, "QGMMA": _GMMA, "IGMMA": _GMMA, "WARPGROUP": _GMMA_WAIT, "HMMA": _HMMA, "IMMA": _HMMA,
    "QMMA": _HMMA, "ATOMG": _ATOM, "ATOM": _ATOM, "BAR": _BARRIER,
    "VLOAD": _COUNTED_LOAD, "SCRATCHLOAD": _COUNTED_LOAD,
    "VSTORE": _COUNTED_STORE, "SCRATCHSTORE": _COUNTED_STORE, "VATOMIC": _COUNTED_ATOMIC, "VECTORWAIT": _WAIT,
    "LDSACCESS": _LDS, "LDSSHUFFLE": _LDS, "SCALARLOAD": _LDS, "LDSWAIT": _LDS_WAIT, "MATRIX": _GMMA,
    "PRODUCTWAIT": _GMMA_WAIT,
}  # fmt: skip


@dataclass
class ReplayInput:
    """The inputs of a replay besides the machine code.

    By instruction, for all `warps` of the program: `matrix_cycles` is how long a matrix instruction occupies
    the tensor cores, `transfers` how long a load occupies the way from L2, `wavefronts` how long an access
    occupies shared memory. A wait for a memory barrier is for `copies_per_wait` tensor copies; a group has
    `products_per_group` matrix instructions.
    """

    matrix_cycles: Mapping[int, float]
    warps: int = 4
    transfers: Mapping[int, float] = field(default_factory=dict)
    wavefronts: Mapping[int, float] = field(default_factory=dict)
    copies_per_wait: int = 2
    products_per_group: int = 1


@dataclass
class _Units:
    """When the units are free that all warps share."""

    tensor: float = 0.0
    way: float = 0.0
    shared: float = 0.0
    special: float = 0.0
    # The schedulers and the two pipes of half their rate, if the groups of warps do not run in step.
    issue: float = 0.0
    pipes: list[float] = field(default_factory=lambda: [0.0, 0.0])


@dataclass
class _State:
    time: float = 0.0
    units: _Units = field(default_factory=_Units)
    boards: list[float] = field(default_factory=lambda: [0.0] * 8)
    copying: float = 0.0
    groups: deque[float] = field(default_factory=deque)
    tensor_copies: deque[float] = field(default_factory=deque)
    products: deque[float] = field(default_factory=deque)

    def shift(self, by: float) -> None:
        self.time += by
        self.units.tensor += by
        self.units.way += by
        self.units.shared += by
        self.units.special += by
        self.copying += by
        self.boards = [time + by for time in self.boards]
        for queue in (self.groups, self.tensor_copies, self.products):
            for index, time in enumerate(queue):
                queue[index] = time + by


class Replay:
    """The latency of one program of a kernel, for any latency of global memory.

    Raises UserError if the loops are too many or too deep to replay.
    """

    # From the last multiply-add of a warp-group product until a wait for it ends.
    _drain = 0.0

    def __init__(self, code: MachineInstructions, runs: MachineRuns, given: ReplayInput) -> None:
        names = [_NAMES.get(opcode, "") for opcode in code.opcode.tolist()]
        self._roles = [_ROLES.get(name, 0) for name in names]
        self._latency = [LATENCIES.get(name, _OTHER) for name in names]
        slots = -(-given.warps // 4)
        self._stall = [max(slots, stall) for stall in code.stall.tolist()]
        # A quarter of a multiprocessor computes four special functions per cycle.
        self._special = [8 * slots if name in _SPECIAL else 0 for name in names]
        self._groups = code.groups.tolist()
        self._sets, self._reads = code.sets.tolist(), code.reads.tolist()
        self._waits = [[b for b in range(6) if mask >> b & 1] for mask in code.waits.tolist()]
        self._skipped = (runs.times < 0.3).tolist()
        # Code after the end is rarely run: ptxas moves what polls a barrier once more, or a slow path, there.
        longest = max(runs.loops, key=lambda loop: loop.passes * (loop.end - loop.start), default=None)
        exits = [
            index
            for index, name in enumerate(names)
            if name in ("EXIT", "END") and not code.predicated[index]
        ]
        after = [index for index in exits if longest is None or index > longest.end]
        self._end = after[0] + 1 if after else len(names)
        self._loops, self._given = runs.loops, given
        self._check_levels()
        self._starts = {loop.start: index for index, loop in enumerate(runs.loops)}
        self._straight = self._straight_code()

    def _check_levels(self) -> None:
        levels: list[int] = []
        for loop in self._loops:
            levels.append(levels[loop.parent] + 1 if loop.parent >= 0 else 1)
        if max(levels, default=0) > _MOST_LEVELS:
            raise UserError(f"no estimate: its machine code nests more than {_MOST_LEVELS} loops")

    def _straight_code(self) -> list[tuple[int, int]]:
        """Map each instruction to the end and the cycles of the straight code that starts there.

        Straight code neither waits nor is waited for. It ends where a loop starts or ends, too. (0, 0)
        if the instruction itself does more.
        """
        edges = {self._end, *self._starts, *(loop.end + 1 for loop in self._loops)}
        stretches = [(0, 0)] * len(self._roles)
        columns = zip(self._waits, self._roles, self._special, self._sets, self._reads, strict=True)
        alone = [
            not (waits or role or special) and sets == reads == NO_SCOREBOARD
            for waits, role, special, sets, reads in columns
        ]
        for index in reversed(range(len(stretches))):
            if not self._skipped[index] and (not alone[index] or index in self._given.wavefronts):
                continue
            cycles = 0 if self._skipped[index] else self._stall[index]
            following = (
                stretches[index + 1] if index + 1 < len(stretches) and index + 1 not in edges else (0, 0)
            )
            stretches[index] = following[0] or index + 1, cycles + following[1]
        return stretches

    def cycles(self, memory: float, atomic: float) -> float:
        """Return the latency in cycles, if loads are answered after `memory` and atomics after `atomic`.

        Raises UserError if that takes too many steps.
        """
        state = _State()
        self._memory, self._atomic = memory, atomic
        self._steps_left = _MOST_STEPS
        self._run(0, self._end, -1, state)
        return state.time

    def _spend(self, steps: int) -> None:
        self._steps_left -= steps
        if self._steps_left < 0:
            raise UserError(f"no estimate: replaying its loops takes more than {_MOST_STEPS:,} steps")

    def _run(self, start: int, end: int, inside: int, state: _State) -> None:
        position, starts, straight = start, self._starts, self._straight
        while position < end:
            self._spend(1)
            loop = starts.get(position)
            if loop is not None and loop != inside:
                self._loop(loop, state)
                position = self._loops[loop].end + 1
                continue
            after, cycles = straight[position]
            if after:
                state.time += cycles
                position = after
                continue
            self._step(position, state)
            position += 1

    def _loop(self, index: int, state: _State) -> None:
        loop = self._loops[index]
        entries = self._loops[loop.parent].passes if loop.parent >= 0 else 1.0
        passes = loop.passes / entries if entries > 0 else 0.0
        warm = _INNER if loop.parent >= 0 or loop.children else _WARM
        times = [state.time]
        for _ in range(min(warm, round(passes))):
            self._run(loop.start, loop.end + 1, index, state)
            times.append(state.time)
        left = passes - (len(times) - 1)
        if left > 0 and len(times) > 2:
            # The mean of two passes: pipelines with two buffers may alternate.
            state.shift(left * (times[-1] - times[-3]) / 2)
            self._spend(len(state.groups) + len(state.tensor_copies) + len(state.products))

    def _step(self, at: int, state: _State) -> None:
        time, boards = state.time, state.boards
        for board in self._waits[at]:
            time = max(time, boards[board])
        role, latency = self._roles[at], float(self._latency[at])
        if role >= _COUNTED_LOAD:
            time = self._counted(at, role, time, latency, state)
        elif role:
            time, latency = self._asynchronous(at, role, time, latency, state)
        elif self._special[at]:
            state.units.special = max(state.units.special, time) + self._special[at]
            latency += state.units.special - time - self._special[at] / 2
        elif at in self._given.wavefronts:
            state.units.shared = max(state.units.shared, time) + self._given.wavefronts[at]
            latency += state.units.shared - time
        if self._sets[at] != NO_SCOREBOARD:
            boards[self._sets[at]] = max(boards[self._sets[at]], time + latency)
        if self._reads[at] != NO_SCOREBOARD:
            boards[self._reads[at]] = max(boards[self._reads[at]], time + _SHARED_ISSUE)
        state.time = time + self._stall[at]

    def _asynchronous(
        self, at: int, role: int, time: float, latency: float, state: _State
    ) -> tuple[float, float]:
        """Return the cycle in which the instruction issues, and its latency."""
        if role in (_LOAD, _COPY, _TMA):
            state.units.way = max(state.units.way, time) + self._given.transfers.get(at, 0.0)
        if role == _LOAD:
            return time, state.units.way - time + self._memory
        if role == _ATOM:
            return time, self._atomic
        if role == _COPY:
            state.copying = state.units.way + self._memory
        elif role == _COMMIT:
            state.groups.append(state.copying)
        elif role == _TMA:
            state.tensor_copies.append(state.units.way + self._memory + TENSOR_COPY)
        elif role == _SYNC and self._groups[at] >= 0:
            for _ in range(min(self._given.copies_per_wait, len(state.tensor_copies))):
                time = max(time, state.tensor_copies.popleft())
        elif role == _WAIT and self._groups[at] >= 0:
            time = _wait(state.groups, self._groups[at], time)
        elif role == _GMMA:
            state.units.tensor = max(state.units.tensor, time) + self._given.matrix_cycles.get(at, 0.0)
            state.products.append(state.units.tensor + self._drain)
        elif role == _GMMA_WAIT and self._groups[at] >= 0:
            most = self._groups[at] * self._given.products_per_group
            time = _wait(state.products, most, time)
        elif role == _HMMA:
            time = max(time, state.units.tensor)
            state.units.tensor = time + self._given.matrix_cycles.get(at, 0.0)
        return time, latency

    def _counted(self, at: int, role: int, time: float, latency: float, state: _State) -> float:
        """Return the cycle in which an instruction of AMD issues that is counted, or waits for a count."""
        if role == _COUNTED_LOAD:
            state.units.way = max(state.units.way, time) + self._given.transfers.get(at, 0.0)
            state.groups.append(state.units.way + self._memory)
        elif role == _COUNTED_STORE:
            state.groups.append(time)
        elif role == _COUNTED_ATOMIC:
            state.groups.append(time + self._atomic)
        elif role == _LDS:
            state.units.shared = max(state.units.shared, time) + self._given.wavefronts.get(at, 0.0)
            state.tensor_copies.append(state.units.shared + latency)
        elif self._groups[at] >= 0:
            time = _wait(state.tensor_copies, self._groups[at], time)
        return time


@dataclass(eq=False)
class _WarpGroup:
    """Four warps that run in step, one on each scheduler; those of a partition run the same loop."""

    first: bool
    state: _State
    loop: MachineLoop
    position: int = 0
    issued: float = 0.0  # when it last issued an instruction
    arrived: bool = False  # at a barrier of its partition
    ends: list[float] = field(default_factory=list)  # those of its passes


class GroupReplay(Replay):
    """The pace of a loop of a program whose groups of four warps go on by themselves, and share all units.

    The inputs are those of one group. Groups wait for each other at barriers; the first of them issues the
    copies of the TMA unit.
    """

    _drain = PRODUCT_DRAIN

    def __init__(self, code: MachineInstructions, runs: MachineRuns, given: ReplayInput) -> None:
        super().__init__(code, runs, given)
        self._pipes = [_PIPES.get(opcode, -1) for opcode in code.opcode.tolist()]

    def pace(self, loop: MachineLoop, passes: int, memory: float, count: int) -> float:
        """Return the cycles of a pass of `loop`, in the second half of so many passes by `count` groups.

        What is around the loop is replayed once. Raises UserError if that takes too many steps.
        """
        units = _Units()
        groups = [_WarpGroup(not number, _State(units=units), loop) for number in range(count)]
        return self.pace_of(groups, passes, memory)

    def pace_of(self, groups: list[_WarpGroup], passes: int, memory: float) -> float:
        """Return the cycles of a pass of the first group, in the second half of so many passes."""
        self._memory = self._atomic = memory
        self._steps_left = _MOST_STEPS
        running, self._together = list(groups), groups
        while running:
            self._spend(1)
            ready = [group for group in running if not (group.arrived or self._is_blocked(group))]
            if not ready:
                raise UserError("no estimate: its partitions wait for each other")
            group = min(ready, key=lambda item: (item.state.time, item.issued))
            at = group.position
            if self._is_early(at, group):
                continue
            self._issue(at, group)
            group.position += 1
            if at == group.loop.end:
                group.ends.append(group.state.time)
                group.position = group.loop.start
            ended = len(group.ends) == passes or group.position >= self._end
            if ended:
                running.remove(group)
            if ended or group.arrived:
                self._release([other for other in running if other.loop is group.loop])
        ends, half = groups[0].ends, passes // 2
        return (ends[-1] - ends[half - 1]) / (passes - half)

    def _is_blocked(self, group: _WarpGroup) -> bool:
        """Return True if nothing is known yet of the copies for which a group waits."""
        at, first = group.position, self._together[0]
        if (
            self._roles[at] != _SYNC
            or self._groups[at] < 0
            or first.arrived
            or len(first.ends) > len(group.ends)
        ):
            return False
        return group is not first and len(group.state.tensor_copies) < self._given.copies_per_wait

    def _is_early(self, at: int, group: _WarpGroup) -> bool:
        """Let a group wait until its next instruction can issue; return False if that is now."""
        state, pipe = group.state, self._pipes[at]
        ready = max([state.units.issue, *map(state.boards.__getitem__, self._waits[at])])
        if pipe >= 0:
            ready = max(ready, state.units.pipes[pipe])
        early = ready > state.time
        state.time = max(state.time, ready)
        return early

    def _issue(self, at: int, group: _WarpGroup) -> None:
        state, role = group.state, self._roles[at]
        group.issued = state.time
        state.units.issue = state.time + 1
        if self._pipes[at] >= 0:
            state.units.pipes[self._pipes[at]] = state.time + _HALF_RATE
        if role == _TMA and not group.first:
            state.time += self._stall[at]
            return
        self._step(at, state)
        if role == _TMA:
            self._copied(at, group)
        group.arrived = role == _BARRIER

    def _copied(self, at: int, group: _WarpGroup) -> None:
        for other in self._together[1:]:
            other.state.tensor_copies.append(group.state.tensor_copies[-1])

    def _release(self, groups: Sequence[_WarpGroup]) -> None:
        """Let the groups of a partition go on if all of them wait for each other."""
        if groups and all(group.arrived for group in groups):
            time = max(group.state.time for group in groups) + BARRIER
            for group in groups:
                group.state.time, group.arrived = time, False


class PartitionReplay(GroupReplay):
    """The pace of partitions with loops of their own, of which each waits for what others have done."""

    def __init__(
        self,
        code: MachineInstructions,
        runs: MachineRuns,
        given: ReplayInput,
        needs: Mapping[int, Sequence[tuple[int, int]]],
    ) -> None:
        """`needs` are the instructions for which each wait waits, and of how many passes ago."""
        super().__init__(code, runs, given)
        self._needs = needs
        # When each instruction that is waited for ended, pass by pass.
        self._ended: dict[int, list[float]] = defaultdict(list)

    def _needed(self, group: _WarpGroup) -> list[tuple[list[float], int]]:
        passed = len(group.ends)
        needs = self._needs.get(group.position, ())
        return [(self._ended[at], passed - ago) for at, ago in needs if passed >= ago]

    def _is_blocked(self, group: _WarpGroup) -> bool:
        return any(len(ends) <= number for ends, number in self._needed(group))

    def _issue(self, at: int, group: _WarpGroup) -> None:
        group.state.tensor_copies.extend(ends[number] for ends, number in self._needed(group))
        super()._issue(at, group)
        if self._roles[at] == _SYNC and group.first:
            self._ended[at].append(group.issued)

    def _copied(self, at: int, group: _WarpGroup) -> None:
        self._ended[at].append(group.state.tensor_copies.pop())


def partitions_pace(
    code: MachineInstructions,
    partitions: Sequence[tuple[int, Sequence[LoopStep]]],
    products: Mapping[int, float],
    memory: float,
) -> float:
    """Return the cycles of a pass of partitions, whose warps and steps are given, side by side.

    Products occupy the tensor cores for so many cycles per group. Raises UserError if there is no replay.
    """
    runs = MachineRuns(*loops_of(code), np.ones(len(code)))
    loops = [*partition_loops(code, runs, partitions)]
    inside = [at for loop, _ in loops for at in range(loop.start, loop.end + 1)]
    waits = sum(_NAMES.get(code.opcode[at]) == "WARPGROUP" and code.groups[at] >= 0 for at in inside)
    transfers: dict[int, float] = {}
    needs: dict[int, list[tuple[int, int]]] = {}
    units, groups = _Units(), []
    for (warps, steps), (loop, places) in zip(partitions, loops, strict=True):
        for at, step in zip(places, steps, strict=True):
            transfers[at] = step.size / PORT
            needs[at] = [(loops[other][1][number], ago) for other, number, ago in step.needs]
        own = range(max(1, warps // 4))
        groups += [_WarpGroup(not number, _State(units=units), loop, loop.start) for number in own]
    each = sum(at in products for at in inside) // max(1, waits)
    replay_input = ReplayInput(products, 4, transfers, {}, len(needs), max(1, each))
    return PartitionReplay(code, runs, replay_input, needs).pace_of(groups, PASSES, memory)


def _wait(queue: deque[float], most: int, time: float) -> float:
    """Wait until at most `most` of the queue are in flight; return the cycle in which that is so."""
    while len(queue) > most:
        time = max(time, queue.popleft())
    return time
