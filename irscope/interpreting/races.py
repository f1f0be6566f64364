"""Races in global memory: two threads, or two programs, of which one writes what the other accesses.

    tl.store(buf + i, x); tl.load(buf + (i + 512) % 1024)
    -> Race("threads", the store by thread 128, the load by thread 0, element 512 of buf)

What counts as a barrier: `ttg.barrier`, and what the LLVM IR has one for, such as a reduction across warps.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from irscope.interpreting.access_record import (
    ATOMIC,
    LOAD,
    STORE,
    AccessRecord,
    ProgramId,
    RecordedAccess,
    recorded,
)
from irscope.interpreting.runtime_values import ARGUMENT_SPACING
from irscope.interpreting.shapes import Owners
from irscope.interpreting.stage_interpreter import KernelLaunch
from irscope.interpreting.stage_program import Op, StageProgram, UnansweredError
from irscope.languages.document import Document

Numbers = NDArray[np.int64]

# Kinds of `Race`: between threads of a program, between elements of one store, between programs, and between
# a thread that releases a lock and others that still store what it guards.
THREADS, ELEMENTS, PROGRAMS, RELEASE = "threads", "elements", "programs", "release"

# Operations that are no barrier, whatever is at their location: they only compute or access memory.
_NO_BARRIERS: tuple[str, ...] = (
    "arith.", "math.", "scf.", "tt.load", "tt.store", "tt.splat", "tt.addptr", "tt.broadcast",
    "tt.make_range", "tt.expand_dims", "tt.get_", "tt.return", "tt.func", "tt.call",
    "ttg.async_copy", "amdg.buffer_load", "amdg.buffer_store", "ttg.memdesc", "ttg.async_commit",
)  # fmt: skip
# So many elements of accesses between two barriers, or of one argument, are compared.
_MOST_ELEMENTS = 6_000_000


@dataclass(frozen=True)
class RaceSide:
    """One side of a race: an element (row-major) of what an access moves, and a thread that has it."""

    access: RecordedAccess
    element: int
    thread: int

    @property
    def index(self) -> tuple[int, ...]:
        """Return the index of the element in the tensor that is moved."""
        shape = self.access.type.shape
        return tuple(map(int, np.unravel_index(self.element, shape))) if shape else ()


@dataclass(frozen=True)
class Race:
    """Two accesses of the same memory that nothing orders, at least one of which writes.

    `first` comes first in the program, or in the order of the programs. `offset` is the element of the
    argument, `count` how many of its elements the two lines race for. `undecided` says why it may be none.
    """

    kind: str
    first: RaceSide
    second: RaceSide
    offset: int
    count: int
    lanes: int
    undecided: str = ""

    @property
    def base(self) -> int:
        """Return the position of the argument."""
        return self.first.access.base or 0

    @property
    def in_warp(self) -> bool:
        """Return True if both threads belong to one warp."""
        return self.first.thread // self.lanes == self.second.thread // self.lanes


@dataclass
class Races:
    """What was found in a record. `unknown` maps lines whose addresses depend on data to their operation."""

    races: list[Race] = field(default_factory=list)
    unknown: dict[int, Op] = field(default_factory=dict)
    skipped: bool = False
    # By program: the most threads that make a store of what was computed from the load of this number, and,
    # by the negative number of a store, how many make it.
    used: dict[ProgramId, dict[int, int]] = field(default_factory=dict)


def barrier_lines(stage: Document, final: Document | None) -> frozenset[int]:
    """Return the lines of a stage whose operations have a barrier of the block in the LLVM IR.

    An operation and the barrier that it was lowered to, or that was put before it, have the same location.
    Without LLVM IR, every operation that can have one counts.
    """
    locations = None if final is None else {
        operation.location for operation in final.operations if _is_barrier(operation.opcode)
    }  # fmt: skip
    return frozenset(
        operation.line
        for operation in stage.operations
        if not operation.opcode.startswith(_NO_BARRIERS)
        and (locations is None or operation.location in locations)
    )


def written_barriers(stage: Document) -> frozenset[int]:
    """Return the lines of the barriers of a stage itself, such as `tl.debug_barrier`."""
    opcodes = ("ttg.barrier", "gpu.barrier")
    return frozenset(operation.line for operation in stage.operations if operation.opcode in opcodes)


def _is_barrier(opcode: str) -> bool:
    """Return True for a call of LLVM IR that waits for the warps of the block, or of a partition of it."""
    return "llvm.nvvm.barrier" in opcode or "s.barrier" in opcode


@dataclass(frozen=True)
class _Entries:
    """Elements of accesses, sorted by address: which access each belongs to, and who makes it."""

    accesses: Sequence[RecordedAccess]
    address: Numbers
    access: Numbers
    element: Numbers
    first: Numbers
    last: Numbers

    @cached_property
    def kinds(self) -> NDArray[np.int8]:
        """Return 0 for loads, 1 for stores, 2 for atomics."""
        order = (LOAD, STORE, ATOMIC)
        kinds = np.array([order.index(access.kind) for access in self.accesses], np.int8)
        return kinds[self.access]

    def pairs(self, writers: NDArray[np.bool_]) -> Iterator[tuple[Numbers, Numbers]]:
        """Yield each element with the write before it and the write after it at its address."""
        index = np.arange(len(self.address))
        before = np.maximum.accumulate(np.where(writers, index, -1))
        before = np.concatenate([[-1], before[:-1]])
        after = np.minimum.accumulate(np.where(writers, index, len(index))[::-1])[::-1]
        after = np.concatenate([after[1:], [len(index)]])
        for other in (before, after):
            chosen = (other >= 0) & (other < len(index))
            mine, others = index[chosen], other[chosen]
            same = self.address[mine] == self.address[others]
            yield mine[same], others[same]


def _sorted_entries(
    accesses: Sequence[RecordedAccess], makers: Sequence[tuple[Numbers, Numbers]]
) -> _Entries:
    """Return the elements of accesses by address; `makers` has the first and last maker of each element."""
    unit = min(access.size for access in accesses)
    addresses, numbers, elements, firsts, lasts = [], [], [], [], []
    for number, (access, (first, last)) in enumerate(zip(accesses, makers, strict=True)):
        # An element that is larger than others of the same memory counts once per unit.
        for part in range(0, access.size, unit):
            addresses.append((access.active + part) // unit)
            numbers.append(np.full(len(access.elements), number))
            elements.append(access.elements)
            firsts.append(first)
            lasts.append(last)
    address = np.concatenate(addresses)
    order = np.argsort(address, kind="stable")
    columns = (np.concatenate(column)[order] for column in (numbers, elements, firsts, lasts))
    return _Entries(accesses, address[order], *columns)


def races(record: AccessRecord) -> Races:
    """Return the races between the programs of a record, and between the threads of each."""
    result = Races()
    known: dict[int, list[RecordedAccess]] = {}
    for access in record.accesses:
        used = result.used.setdefault(access.program, {})
        if access.loads:
            used[-access.number] = _thread_count(record, access)
        for load in access.loads:
            used[load] = max(used.get(load, 0), used[-access.number])
        if access.addresses is None or access.base is None:
            result.unknown.setdefault(access.step.line, access.step)
        elif access.base < ARGUMENTS and len(access.elements):
            known.setdefault(access.base, []).append(access)
    for accesses in known.values():
        if all(access.kind == LOAD for access in accesses):
            continue
        groups: dict[tuple[ProgramId, int, int], list[RecordedAccess]] = {}
        for access in accesses:
            groups.setdefault((access.program, access.partition, access.epoch), []).append(access)
        for group in groups.values():
            result.races += _between_threads(record, group, result)
        result.races += _between_programs(record, accesses, result)
    result.races = _one_per_lines(result.races)
    return result


def _thread_count(record: AccessRecord, access: RecordedAccess) -> int:
    """Return how many threads make a store; 0 if it is unknown."""
    try:
        return record.owners(access.type).count
    except UnansweredError:
        return 0


# Scratch memory, which only the compiler uses, comes after what arguments point to.
ARGUMENTS = 1 << 12


def _one_per_lines(found: Sequence[Race]) -> list[Race]:
    """Return one race for each kind and pair of operations: one that is decided, and between warps."""
    best: dict[tuple[object, ...], Race] = {}
    for race in found:
        lines = sorted((race.first.access.step.line, race.second.access.step.line))
        key = (race.kind, *lines)
        held = best.get(key)
        if held is None or (bool(race.undecided), race.in_warp) < (bool(held.undecided), held.in_warp):
            best[key] = race
    return list(best.values())


# Threads of a program.


def _between_threads(record: AccessRecord, accesses: list[RecordedAccess], result: Races) -> Iterator[Race]:
    """Yield races between accesses of one program without a barrier between them."""
    writes = [access for access in accesses if access.kind == STORE]
    if not writes:
        return
    low, high = min(int(a.active.min()) for a in writes), max(int(a.active.max()) for a in writes)
    near = [a for a in accesses if int(a.active.max()) >= low and int(a.active.min()) <= high]
    if sum(len(access.elements) for access in near) > _MOST_ELEMENTS:
        result.skipped = True
        return
    held: list[Owners] = []
    try:
        held = [record.owners(access.type) for access in near]
    except UnansweredError:
        result.skipped = True
        return
    makers = []
    for access, owners in zip(near, held, strict=True):
        first, last = owners.first[access.elements], owners.last[access.elements]
        makers.append((first, last if access.kind == LOAD else first))
    entries = _sorted_entries(near, makers)
    lanes = held[0].lanes
    used = result.used[near[0].program]
    for mine, others in entries.pairs(entries.kinds == 1):
        differ = (entries.first[mine] != entries.first[others]) | (
            entries.last[mine] != entries.first[others]
        )
        differ &= entries.kinds[mine] != 2
        yield from _thread_races(entries, mine[differ], others[differ], lanes, used)


def _thread_races(
    entries: _Entries, mine: Numbers, others: Numbers, lanes: int, used: Mapping[int, int]
) -> Iterator[Race]:
    """Yield a race for each pair of accesses among pairs of elements whose threads differ.

    `used` is as in `Races`.
    """
    for number, other, chosen in _by_access(entries, mine, others):
        one, two = entries.accesses[number], entries.accesses[other]
        a, b = mine[chosen], others[chosen]
        if one is two:
            if _differ(one, entries.element[a], entries.element[b]):
                yield _race(ELEMENTS, entries, a, b, lanes)
            continue
        if one.number > two.number:
            one, two, a, b = two, one, b, a
        if one.kind == LOAD and two.kind == STORE:
            # A thread has what it loaded before it stores what it computed from that.
            keep = np.full(len(a), one.number not in two.origin.combined)
            if one.number in two.loads and one.type.shape == two.type.shape:
                keep &= entries.element[a] != entries.element[b]
            if used.get(one.number, 0) > used.get(-two.number, 0):
                # Threads that do not store here loaded the same for what they store, and may load it later.
                keep |= entries.first[a] != entries.last[a]
            a, b = a[keep], b[keep]
            if not len(a):
                continue
        yield _race(THREADS, entries, a, b, lanes)


def _by_access(entries: _Entries, mine: Numbers, others: Numbers) -> Iterator[tuple[int, int, Numbers]]:
    """Yield each pair of accesses with the places of its elements in `mine` and `others`."""
    count = len(entries.accesses)
    keys = entries.access[mine] * count + entries.access[others]
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    for places in np.split(order, starts[1:]) if len(starts) else ():
        key = int(keys[places[0]])
        yield key // count, key % count, places


def _differ(access: RecordedAccess, one: Numbers, other: Numbers) -> bool:
    """Return True if elements of one store may differ: they differ in an axis along which values do."""
    if access.kind != STORE or access.value is not None:
        return False
    shape = access.type.shape
    a, b = np.unravel_index(one, shape), np.unravel_index(other, shape)
    varying = [axis for axis in range(len(shape)) if axis not in access.uniform]
    return any(bool(np.any(a[axis] != b[axis])) for axis in varying)


def _race(kind: str, entries: _Entries, a: Numbers, b: Numbers, lanes: int, undecided: str = "") -> Race:
    """Return the race between elements, with two of different warps as the example if there are any."""
    threads = (
        entries.first[a],
        np.where(entries.first[b] != entries.first[a], entries.first[b], entries.last[b]),
    )
    # The first thread that has an element may be the one that wrote it, the last one is another.
    same = threads[0] == threads[1]
    mine = np.where(same, entries.last[a], threads[0])
    apart = np.flatnonzero(mine // lanes != threads[1] // lanes)
    place = int(apart[0]) if len(apart) else 0
    one, two = (
        entries.accesses[int(entries.access[a[place]])],
        entries.accesses[int(entries.access[b[place]])],
    )
    sides = (
        RaceSide(one, int(entries.element[a[place]]), int(mine[place])),
        RaceSide(two, int(entries.element[b[place]]), int(threads[1][place])),
    )
    count = len(np.unique(entries.address[a]))
    unit = min(access.size for access in entries.accesses)
    start = ((one.base or 0) + 1) * ARGUMENT_SPACING
    offset = (int(entries.address[a[place]]) * unit - start) // one.size
    return Race(kind, *sides, offset, count, lanes, undecided)


# Programs.


def _between_programs(record: AccessRecord, accesses: list[RecordedAccess], result: Races) -> Iterator[Race]:
    """Yield races between programs, which nothing but atomic operations can order."""
    programs = {program: number for number, program in enumerate(dict.fromkeys(a.program for a in accesses))}
    if len(programs) < 2:
        return
    if sum(len(access.elements) for access in accesses) > _MOST_ELEMENTS:
        result.skipped = True
        return
    makers = []
    for access in accesses:
        maker = np.full(len(access.elements), programs[access.program])
        makers.append((maker, maker))
    entries = _sorted_entries(accesses, makers)
    synchronization = Synchronization(record)
    for mine, others in entries.pairs(entries.kinds == 1):
        differ = entries.first[mine] != entries.first[others]
        for number, other, chosen in _by_access(entries, mine[differ], others[differ]):
            one, two = entries.accesses[number], entries.accesses[other]
            if _is_same_value(one, two):
                continue
            a, b = mine[differ][chosen], others[differ][chosen]
            if one.program > two.program:
                one, two, a, b = two, one, b, a
            reason = synchronization.between(one, two)
            if reason:
                yield from _early_releases(record, entries, synchronization, (one, two))
            if not (one.certain and two.certain):
                reason = reason or "data decide whether both programs do it"
            yield _race(PROGRAMS, entries, a, b, 1, reason)


def _early_releases(
    record: AccessRecord,
    entries: _Entries,
    synchronization: Synchronization,
    sides: tuple[RecordedAccess, RecordedAccess],
) -> Iterator[Race]:
    """Yield stores of what a lock guards that other threads may make after one thread has released it."""
    for access in sides:
        release = synchronization.release(access)
        if access.kind != STORE or release is None or release.epoch != access.epoch:
            continue
        if not access.type.shape or release.type.shape or release.partition != access.partition:
            continue
        try:
            owners = record.owners(access.type)
        except UnansweredError:
            continue
        threads = owners.first[access.elements]
        last = int(np.argmax(threads))
        if int(threads[last]) >= owners.lanes:
            side = RaceSide(access, int(access.elements[last]), int(threads[last]))
            offset = int(access.offset[last])
            yield Race(RELEASE, side, RaceSide(release, 0, 0), offset, len(threads), owners.lanes)


def _is_same_value(one: RecordedAccess, two: RecordedAccess) -> bool:
    """Return True if two stores surely write the same constant."""
    return one.kind == two.kind == STORE and one.value is not None and one.value == two.value


class Synchronization:
    """The atomic operations by which programs may wait for each other."""

    def __init__(self, record: AccessRecord) -> None:
        self._record = record
        self._atomics: dict[ProgramId, list[RecordedAccess]] = {}
        for access in record.accesses:
            if access.kind == ATOMIC:
                self._atomics.setdefault(access.program, []).append(access)

    @cached_property
    def _assembly(self) -> bool:
        """Return True if the kernel has inline assembly that may synchronize."""
        text = self._record.program.document.text
        words = ("ld.acquire", "st.release", "membar", "fence.", "atom.", "red.", "griddepcontrol")
        return "elementwise_inline_asm" in text and any(word in text for word in words)

    def between(self, one: RecordedAccess, two: RecordedAccess) -> str:
        """Return why two accesses of different programs may be ordered; "" if nothing orders them."""
        if self._record.waits or self._assembly:
            return "a program waits for another one"
        handed_over = [self._released(a) and self._acquired(b) for a, b in ((one, two), (two, one))]
        if any(handed_over):
            return "atomic operations may order the programs"
        return ""

    def release(self, access: RecordedAccess) -> RecordedAccess | None:
        """Return the first atomic operation of the program after an access; None if there is none."""
        later = (a for a in self._atomics.get(access.program, ()) if a.number > access.number)
        return next(later, None)

    def _released(self, access: RecordedAccess) -> bool:
        return self.release(access) is not None

    def _acquired(self, access: RecordedAccess) -> bool:
        used = self._record.program.used
        return any(
            atomic.number < access.number and used.intersection(atomic.step.results)
            for atomic in self._atomics.get(access.program, ())
        )


@dataclass(frozen=True)
class LaunchRaces:
    """The races of a launch, of whose `programs` so many were `executed`.

    `unanswered` says why one could not be executed to its end, `unknown` has the operations whose addresses
    depend on data, `skipped` is True if there were too many accesses to compare.
    """

    races: Sequence[Race]
    record: AccessRecord
    executed: int
    programs: int
    unanswered: UnansweredError | None
    unknown: Sequence[Op]
    skipped: bool


def launch_races(
    program: StageProgram, launch: KernelLaunch, barriers: Collection[int], budget: int = 10_000
) -> LaunchRaces:
    """Execute programs of a launch, in the order of `first_programs`, and return their races. Never raises.

    As many are executed as the budget allows, which is as in `recorded`.
    """
    total = math.prod(launch.grid)
    record = recorded(program, launch, first_programs(launch.grid), barriers, budget)
    result = races(record)
    unanswered = next(iter(record.unanswered.values()), None)
    unknown = tuple(result.unknown.values())
    return LaunchRaces(result.races, record, len(record.executed), total, unanswered, unknown, result.skipped)


def first_programs(grid: tuple[int, int, int]) -> Iterator[ProgramId]:
    """Yield the programs of a grid: those at its start and end along each axis, then the others in order."""
    ends = [sorted({n for n in (0, 1, size - 2, size - 1) if 0 <= n < size}) for size in grid]
    first = [(x, y, z) for z in ends[2] for y in ends[1] for x in ends[0]]
    first.sort(key=lambda program: sum(n > 1 for n in program))
    yield from first
    seen = set(first)
    for z, y, x in itertools.product(*map(range, grid[::-1])):
        if (x, y, z) not in seen:
            yield x, y, z
