"""The accesses of global memory that the programs of a launch make: the domain that records them.

    tl.store(out + offsets, x, mask=mask)
    -> RecordedAccess("store", addresses of 64 elements, mask, program (3, 0, 0), line 12, iteration 2, ...)

Only integers and addresses have values; of anything else, the record knows along which axes elements can
differ, and from which loads they come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from irscope.interpreting.domain import Combine, UnnotedDomain
from irscope.interpreting.runtime_values import (
    ARGUMENT_SPACING,
    Array,
    Item,
    RuntimeValue,
    size_in_bytes,
)
from irscope.interpreting.shapes import Owners, owners
from irscope.interpreting.stage_interpreter import KernelLaunch, StageInterpreter
from irscope.interpreting.stage_program import Op, StageProgram, Type, UnansweredError
from irscope.model.records import frozen

LOAD, STORE, ATOMIC = "load", "store", "atomic"
ProgramId = tuple[int, int, int]

# So many elements of results take as long as one operation.
_ELEMENTS_PER_STEP = 40_000
# So many programs of a launch may exceed its budget that many times: two programs that race are needed.
_FEWEST_PROGRAMS = 4

_UNKNOWN = np.zeros((), np.uint64)


@frozen
class LoadedValue:
    """What is remembered of a value that is not known.

    `loads` are the numbers of the accesses that it was computed from; each element depends on all elements,
    or on those of a row, of the loads in `combined`: they were reduced. `bases` are the arguments that they
    loaded from. `base` is the argument that an address points into, `number` the value of a float constant.
    """

    loads: frozenset[int] = frozenset()
    combined: frozenset[int] = frozenset()
    base: int | None = None
    number: float | None = None
    bases: frozenset[int] = frozenset()


_NOTHING_REMEMBERED = LoadedValue()


@dataclass(frozen=True, eq=False)
class RecordedAccess:
    """One load, store or atomic operation of global memory, as one program executed it.

    `number` counts the accesses of the program. `addresses` (bytes, int64) have the rank of `type`; an axis
    of length 1 stands for equal elements, as in `RuntimeValue`; None if they depend on data. `mask` likewise
    (None: every element); `certain` is False if data decide about the mask, or whether the code runs at all.
    `base` is the position of the kernel's argument that they point into, None if it is unknown. `size` is in
    bytes per element. `epoch` counts the barriers before it. `iterations` has the index of each loop around.
    `origin` says from which loads a stored value comes, `uniform` along which axes all stored elements are
    equal. `value` is what is stored if it is a known integer or a float constant. `partition` is that of a
    warp-specialized program.
    """

    kind: str
    step: Op
    program: ProgramId
    number: int
    addresses: Array | None
    mask: Array | None
    certain: bool
    base: int | None
    size: int
    type: Type
    epoch: int
    iterations: tuple[int, ...]
    origin: LoadedValue
    uniform: frozenset[int] = frozenset()
    value: float | None = None
    partition: int = 0

    @property
    def loads(self) -> frozenset[int]:
        """Return the numbers of the loads that what is stored was computed from."""
        return self.origin.loads

    @property
    def updates(self) -> frozenset[int]:
        """Return the arguments from which the loads came that what is stored was computed from."""
        return self.origin.bases

    @property
    def line(self) -> int:
        """Return the line of the kernel's Python (0: unknown)."""
        return self.step.source_line

    @cached_property
    def elements(self) -> NDArray[np.int64]:
        """Return the row-major indices of the elements that the mask does not turn off."""
        count = int(np.prod(self.type.shape, dtype=np.int64))
        if self.mask is None:
            return np.arange(count)
        return np.flatnonzero(np.broadcast_to(self.mask, self.type.shape).reshape(-1))

    @cached_property
    def active(self) -> NDArray[np.int64]:
        """Return the addresses of `elements`. Raises ValueError if they depend on data."""
        if self.addresses is None:
            raise ValueError("the addresses depend on data")
        full = np.broadcast_to(self.addresses, self.type.shape).reshape(-1)
        return full if self.mask is None else full[self.elements]

    @property
    def offset(self) -> NDArray[np.int64]:
        """Return the element of what `base` points to, which may be negative, of each active address."""
        return (self.active - ((self.base or 0) + 1) * ARGUMENT_SPACING) // self.size


class AccessDomain(UnnotedDomain):
    """Records the accesses of global memory. `accesses` has those of all programs that were executed.

    `barriers` are the lines (indices) of the stage at which the final code has a barrier of the block.
    `waits` are the programs that wait in a loop until memory changes, `false_assumptions` maps what a kernel
    told the compiler to assume, by line, to the first program in which it is false.
    """

    def __init__(self, barriers: Collection[int] = ()) -> None:
        self.accesses: list[RecordedAccess] = []
        self.waits: set[ProgramId] = set()
        self.false_assumptions: dict[int, ProgramId] = {}
        self.machine: StageInterpreter | None = None
        self._barriers = frozenset(barriers)
        self._program_id: ProgramId = (0, 0, 0)
        # By partition: the barriers so far, and whether the operation before ends with one.
        self._epochs: Counter[int] = Counter()
        self._pending: set[int] = set()
        self._number = 0
        self._undecided = 0

    def observe(self, step: Op, operands: Sequence[Item]) -> None:
        """Count the barriers of the block; that of an atomic operation comes after it."""
        partition = self.machine.frame.partition if self.machine else 0
        if partition in self._pending:
            self._pending.remove(partition)
            self._epochs[partition] += 1
        if step.opcode == "llvm.intr.assume" and not self._undecided:
            condition = operands[0]
            if isinstance(condition, RuntimeValue) and condition.known and not condition.data.any():
                self.false_assumptions.setdefault(step.source_line, self._program_id)
        if step.line in self._barriers:
            if "atomic" in step.opcode:
                self._pending.add(partition)
            else:
                self._epochs[partition] += 1

    # What the machine asks.

    def begin(self, program: StageProgram, program_id: ProgramId) -> None:
        """Begin the execution of a program of the launch."""
        self._program_id = program_id
        self._epochs.clear()
        self._pending.clear()
        self._number = self._undecided = 0

    def undecided(self, step: Op, begins: bool) -> bool:
        """Follow code of which data decide whether it runs: its accesses are not certain."""
        self._undecided += 1 if begins else -1
        if step.opcode == "scf.while":
            self.waits.add(self._program_id)
        return True

    def constant(self, number: float, type_: Type) -> RuntimeValue:
        """Return a float constant."""
        data = np.broadcast_to(_UNKNOWN, (1,) * len(type_.shape))
        return RuntimeValue(data, type_, False, LoadedValue(number=number))

    def argument(self, name: str, type_: Type, number: float | None) -> RuntimeValue:
        """Return an argument that is no pointer and no known integer."""
        return RuntimeValue(_UNKNOWN, type_, False, LoadedValue(number=number))

    def hidden(self, value: RuntimeValue) -> RuntimeValue:
        """Return a value as one that is not known."""
        return _unknown(value.type, [value], value.data.shape)

    def moved(
        self, value: RuntimeValue, type_: Type, change: Callable[[Array], Array] | None, in_thread: bool
    ) -> RuntimeValue:
        """Return a value whose elements change their places."""
        data = change(value.data) if change else value.data
        return RuntimeValue(data, type_, value.known, value.note)

    def select(
        self, step: Op, condition: RuntimeValue, one: RuntimeValue, other: RuntimeValue
    ) -> RuntimeValue:
        """Return `one` where the condition holds, else `other`; known if the condition is one for all."""
        type_ = step.types[0] if len(step.types) == 1 else one.type
        if condition.known and bool(np.all(condition.data)):
            return replace(one, type=type_)
        if condition.known and not bool(np.any(condition.data)):
            return replace(other, type=type_)
        return _unknown(type_, [condition, one, other])

    def compute(self, step: Op, operands: Sequence[RuntimeValue]) -> RuntimeValue:
        """Return the result of an element-wise operation: not known, unless a factor or a mask is 0."""
        type_ = step.types[0]
        if step.opcode in ("arith.andi", "arith.muli"):
            for operand in operands:
                if operand.known and not np.any(operand.data):
                    return RuntimeValue(np.zeros((1,) * len(type_.shape), np.int64), type_)
        return _unknown(type_, operands)

    def load(
        self,
        step: Op,
        address: RuntimeValue,
        mask: RuntimeValue | None,
        other: RuntimeValue | None,
        type_: Type,
    ) -> RuntimeValue:
        """Record a load; what it reads is not known."""
        number = self._add(LOAD, step, address, mask, type_)
        operands = [address, *(value for value in (mask, other) if value is not None)]
        return replace(_unknown(type_, operands), note=_loaded(number, address))

    def store(self, step: Op, address: RuntimeValue, value: RuntimeValue, mask: RuntimeValue | None) -> None:
        """Record a store."""
        self._add(STORE, step, address, mask, value.type, [value])

    def atomic(
        self, step: Op, address: RuntimeValue, values: Sequence[RuntimeValue], mask: RuntimeValue | None
    ) -> RuntimeValue | None:
        """Record an atomic operation; what it finds is not known."""
        number = self._add(ATOMIC, step, address, mask, values[0].type, values)
        if not step.results:
            return None
        return replace(_unknown(step.types[0], [address, *values]), note=_loaded(number, address))

    def reduce(self, step: Op, operands: Sequence[RuntimeValue], combine: Combine) -> list[RuntimeValue]:
        """Return the results of `tt.reduce`, known if all operands are."""
        axis = step.number("axis")
        if all(operand.known for operand in operands):
            parts = [_first(operand, axis) for operand in operands]
            while len(parts[0].data) > 1:
                half = len(parts[0].data) // 2
                parts = combine([_taken(part, chosen) for chosen in (slice(half), slice(half, None))
                                 for part in parts])  # fmt: skip
            results = [part.data[0] for part in parts]
            return [RuntimeValue(data.reshape(_dropped(operand, axis)), type_)
                    for data, operand, type_ in zip(results, operands, step.types, strict=True)]  # fmt: skip
        return [_combined(type_, operands, _dropped(_widest(operands), axis)) for type_ in step.types]

    def scan(self, step: Op, operands: Sequence[RuntimeValue], combine: Combine) -> list[RuntimeValue]:
        """Return the results of `tt.scan`, which are not known."""
        return [_combined(type_, operands) for type_ in step.types]

    def histogram(self, step: Op, value: RuntimeValue, mask: RuntimeValue | None) -> RuntimeValue:
        """Return the result of `tt.histogram`, which is not known."""
        return _combined(step.types[0], [value])

    def gather(self, step: Op, source: RuntimeValue, index: RuntimeValue) -> RuntimeValue:
        """Return elements of `source`, which are not known."""
        return _combined(step.types[0], [source, index])

    def dot(self, step: Op, a: RuntimeValue, b: RuntimeValue, accumulator: RuntimeValue) -> RuntimeValue:
        """Return a product of matrices, which is not known."""
        return _combined(accumulator.type, [a, b, accumulator])

    # The record.

    def _add(
        self,
        kind: str,
        step: Op,
        address: RuntimeValue,
        mask: RuntimeValue | None,
        element_type: Type,
        values: Sequence[RuntimeValue] = (),
    ) -> int:
        """Add an access; return its number."""
        self._number += 1
        frame = self.machine.frame if self.machine else None
        last = values[-1] if values else None
        is_known = mask is None or mask.known
        self.accesses.append(
            RecordedAccess(
                kind,
                step,
                self._program_id,
                self._number,
                address.data if address.known else None,
                mask.data != 0 if mask is not None and mask.known else None,
                is_known and not self._undecided,
                base_of(address),
                size_in_bytes(element_type.element),
                replace(address.type, element=element_type.element),
                self._epochs[frame.partition if frame else 0],
                tuple(frame.iterations) if frame else (),
                _origin(values),
                _equal_axes(last) if last is not None else frozenset(),
                _number_of(last) if last is not None else None,
                frame.partition if frame else 0,
            )
        )
        return self._number


def base_of(address: RuntimeValue) -> int | None:
    """Return the position of the argument that addresses point into, or near; None if it is unknown."""
    if not address.known:
        return address.note.base if isinstance(address.note, LoadedValue) else None
    first = int(address.data.flat[0]) if address.data.size else 0
    return (first + ARGUMENT_SPACING // 2) // ARGUMENT_SPACING - 1


def _loaded(number: int, address: RuntimeValue) -> LoadedValue:
    base = base_of(address)
    return LoadedValue(frozenset([number]), bases=frozenset() if base is None else frozenset([base]))


def _unknown(
    type_: Type, operands: Sequence[RuntimeValue], shape: Sequence[int] | None = None
) -> RuntimeValue:
    """Return a value that is not known, with elements that may differ where those of an operand do."""
    rank = len(type_.shape)
    if shape is None:
        shapes = [value.data.shape for value in operands if value.data.ndim == rank]
        shape = np.broadcast_shapes((1,) * rank, *shapes)
    return RuntimeValue(np.broadcast_to(_UNKNOWN, tuple(shape)), type_, False, _origin(operands))


def _origin(operands: Iterable[RuntimeValue]) -> LoadedValue:
    loads: frozenset[int] = frozenset()
    combined: frozenset[int] = frozenset()
    bases: frozenset[int] = frozenset()
    base = None
    for operand in operands:
        if isinstance(operand.note, LoadedValue):
            loads |= operand.note.loads
            combined |= operand.note.combined
            bases |= operand.note.bases
        if operand.type.element.startswith("!tt.ptr") and base is None:
            base = base_of(operand)
    return LoadedValue(loads, combined, base, bases=bases)


def _combined(
    type_: Type, operands: Sequence[RuntimeValue], shape: Sequence[int] | None = None
) -> RuntimeValue:
    """Return a value that is not known, each element of which depends on several of the operands."""
    value = _unknown(type_, operands, type_.shape if shape is None else shape)
    origin = _origin(operands)
    return replace(value, note=replace(origin, combined=origin.loads))


def _number_of(value: RuntimeValue) -> float | None:
    """Return the number that all elements of a value are, if it is known."""
    if value.known:
        return float(value.data.flat[0]) if value.data.size == 1 else None
    return value.note.number if isinstance(value.note, LoadedValue) else None


def _equal_axes(value: RuntimeValue) -> frozenset[int]:
    """Return the axes along which all elements of a value are equal."""
    return frozenset(axis for axis, length in enumerate(value.data.shape) if length == 1)


def _widest(operands: Sequence[RuntimeValue]) -> RuntimeValue:
    return max(operands, key=lambda operand: operand.data.size)


def _dropped(value: RuntimeValue, axis: int) -> tuple[int, ...]:
    return (*value.data.shape[:axis], *value.data.shape[axis + 1 :])


def _first(value: RuntimeValue, axis: int) -> RuntimeValue:
    """Return a known tensor with all its elements along an axis as the first axis."""
    shape = list(value.data.shape)
    shape[axis] = value.type.shape[axis]
    data = np.moveaxis(np.broadcast_to(value.data, shape), axis, 0)
    return RuntimeValue(data, Type(value.type.element, value.type.shape))


def _taken(value: RuntimeValue, chosen: slice) -> RuntimeValue:
    return replace(value, data=value.data[chosen])


@dataclass
class AccessRecord:
    """What programs of a launch accessed, program by program.

    `executed` are the programs that were executed to their end, `unanswered` maps others to the reason why
    they were not; `accesses` of such a program are those up to there. `waits` and `false_assumptions` are as
    in `AccessDomain`, `cost` is as the budget of `recorded`.
    """

    program: StageProgram
    launch: KernelLaunch
    accesses: list[RecordedAccess]
    waits: set[ProgramId]
    false_assumptions: dict[int, ProgramId]
    executed: list[ProgramId] = field(default_factory=list)
    cost: int = 0
    unanswered: dict[ProgramId, UnansweredError] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Return True if every program of the launch was executed to its end."""
        x, y, z = self.launch.grid
        return len(self.executed) == x * y * z

    def owners(self, type_: Type) -> Owners:
        """Return the threads that hold the elements of a tensor. Raises UnansweredError."""
        if type_ not in self._owners:
            self._owners[type_] = owners(self.program, type_, *self._threads)
        return self._owners[type_]

    @cached_property
    def _owners(self) -> dict[Type, Owners]:
        return {}

    @cached_property
    def _threads(self) -> tuple[int, int]:
        """Return the number of warps of a program, and of the lanes of a warp."""
        return self.program.number("num-warps", 4), self.program.number("threads-per-warp", 32)


def recorded(
    program: StageProgram,
    launch: KernelLaunch,
    programs: Iterable[ProgramId],
    barriers: Collection[int],
    budget: int,
) -> AccessRecord:
    """Execute programs of a launch and record what they access. Never raises.

    `barriers` are as in `AccessDomain`. Ends before `budget` would be exceeded, in operations; so many
    elements of results as take as long count as one. Ends with the first program that cannot be executed: the
    others would fail at the same operation.
    """
    domain = AccessDomain(barriers)
    record = AccessRecord(program, launch, domain.accesses, domain.waits, domain.false_assumptions)
    try:
        machine = StageInterpreter(program, domain, launch)
    except UnansweredError as error:
        record.unanswered[0, 0, 0] = error
        return record
    domain.machine = machine
    machine.observe = domain.observe
    cost = 0
    for program_id in programs:
        fewest = len(record.executed) < _FEWEST_PROGRAMS
        if cost and record.cost + cost > budget * (_FEWEST_PROGRAMS if fewest else 1):
            break
        try:
            machine.run(program_id)
        except UnansweredError as error:
            record.unanswered[program_id] = error
            break
        record.executed.append(program_id)
        cost = machine.steps + machine.elements // _ELEMENTS_PER_STEP
        record.cost += cost
    return record
