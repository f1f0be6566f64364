"""Executes a stage for one program of a launch.

Control flow, integers, masks and addresses are concrete; a domain supplies the rest. Partitions of a
`ttg.warp_specialize` run in turns: one goes on until it waits for a barrier whose phase has not ended.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from irscope.interpreting.domain import Domain
from irscope.interpreting.integers import integer_result
from irscope.interpreting.memory import MEMORY, barrier_of
from irscope.interpreting.runtime_values import (
    ARGUMENT_SPACING,
    Barrier,
    Descriptor,
    Item,
    Results,
    RuntimeValue,
    float_constant,
    is_integer,
    known_number,
    tensor,
    tensor_in,
    wrapped,
)
from irscope.interpreting.shapes import SHAPES
from irscope.interpreting.stage_program import Op, OpBlock, StageProgram, Type, UnansweredError, loop_element
from irscope.interpreting.tensor_memory import TENSOR_MEMORY

_FLOAT = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|0x[0-9A-Fa-f]+)")

# The address of the scratch memory of a program.
SCRATCH = 1 << 60

# Yields if it waits for a barrier.
Execution = Generator[Op, None, Results]


@dataclass(frozen=True)
class KernelLaunch:
    """The arguments of a kernel by position, as far as they are numbers, and the grid.

    `shared` maps an argument that points into the memory of an earlier one to that, and the bytes between.
    The shape and the strides of a tensor descriptor are the arguments that follow it.
    """

    arguments: Mapping[int, int | float]
    grid: tuple[int, int, int]
    shared: Mapping[int, tuple[int, int]] = field(default_factory=dict)


@dataclass
class ExecutionLimits:
    """How much a program may take: operations, and elements of all their results together."""

    steps: int = 60_000
    elements: int = 400_000_000


@dataclass
class Frame:
    """The values of one function call, or of one partition of it (0: the default one).

    `iterations` has the current index of each loop around what is executed, the outermost first.
    """

    values: dict[str, Item] = field(default_factory=dict)
    iterations: list[int] = field(default_factory=list)
    partition: int = 0


class StageInterpreter:
    """Executes programs of one launch of a stage."""

    def __init__(
        self,
        program: StageProgram,
        domain: Domain,
        launch: KernelLaunch,
        limits: ExecutionLimits | None = None,
    ) -> None:
        self.program = program
        self.domain = domain
        self.launch = launch
        self.limits = limits or ExecutionLimits()
        self.program_id = (0, 0, 0)
        # Barriers by the address of their allocation.
        self.barriers: dict[int, Barrier] = {}
        # What the program wrote to global memory as tensor descriptors, by address.
        self.descriptors: dict[int, Descriptor] = {}
        self.scratch = SCRATCH
        self._handlers: dict[str, Handler] = {**MEMORY, **TENSOR_MEMORY, **SHAPES, **_PLAIN}
        self._control: dict[str, ControlFlow] = {**_CONTROL}
        self.frame = Frame()
        # Is told each operation that has no region, with its operands, before it is executed.
        self.observe: Callable[[Op, Sequence[Item]], None] | None = None
        self._step: Op | None = None
        # What operations without effects were executed on last, with their results, by id.
        self._latest: dict[int, tuple[Sequence[Item], Results]] = {}
        # How many operations were executed of the last program, and how many elements their results had.
        self.steps = self.elements = 0

    def run(self, program_id: tuple[int, int, int]) -> None:
        """Execute one program. Raises UnansweredError."""
        self.program_id = program_id
        self.barriers.clear()
        self.descriptors.clear()
        self.scratch = SCRATCH
        self.steps = self.elements = 0
        self.domain.begin(self.program, program_id)
        try:
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                waiting = next(self.block(self.program.entry, Frame(dict(self._arguments))), None)
        except (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError) as error:
            step = self._step
            raise UnansweredError(f"{step.opcode if step else 'the stage'}: {error}", step) from error
        if waiting is not None:
            raise UnansweredError("the program waits for a barrier that nothing arrives at", waiting)

    @cached_property
    def _arguments(self) -> Mapping[str, Item]:
        """Return the arguments of every program."""
        return {name: self._argument(index, name) for index, name in enumerate(self.program.entry.arguments)}

    def _argument(self, index: int, name: str) -> Item:
        element = self.program.pointees[index]
        home, shift = self.launch.shared.get(index, (index, 0))
        address = np.array((home + 1) * ARGUMENT_SPACING + shift, np.int64)
        if element:
            return RuntimeValue(address, Type(f"!tt.ptr<{element}>"))
        type_, number = self.program.argument_types[index], self.launch.arguments.get(index)
        if type_.kind == "tensordesc" or "tensordesc<" in type_.element:
            # Triton 3.6 and 3.7 have `tensordesc<tensor<64xf32, #a>>`, later ones `tensordesc<64xf32, #a>`.
            block, element = (type_.shape, type_.element) if type_.kind else tensor_in(type_.element)
            rank = len(block)
            sizes = [self.launch.arguments.get(index + 1 + place) for place in range(2 * rank)]
            if any(size is None for size in sizes):
                raise UnansweredError(f"the shape of the tensor descriptor {name} is not known")
            numbers = [int(size or 0) for size in sizes]
            base = RuntimeValue(address, Type(f"!tt.ptr<{element}>"))
            return Descriptor(base, tuple(numbers[:rank]), tuple(numbers[rank:]), block, element)
        if is_integer(type_.element) and number is not None:
            return RuntimeValue(wrapped(np.array(int(number), np.int64), type_.element), type_)
        return self.domain.argument(name, type_, number)

    def block(self, block: OpBlock, frame: Frame) -> Execution:
        """Execute the steps of a block; return the operands of its terminator."""
        values = frame.values
        self.frame = frame
        self.domain.enter(block)
        for step in block.steps:
            self._step = step
            self._count(step)
            opcode = step.opcode
            if opcode in _TERMINATORS:
                return [self.domain.carried(item) if isinstance(item, RuntimeValue) else item
                        for item in (values[name] for name in step.operands)]  # fmt: skip
            if opcode in self._control:
                results = yield from self._control[opcode](self, step, frame)
                self.frame = frame
                self.domain.enter(block)
            elif opcode == "ttng.wait_barrier":
                if self.observe is not None:
                    self.observe(step, [values[name] for name in step.operands])
                yield from self._wait(step, frame)
                self.frame = frame
                self.domain.enter(block)
                results = []
            else:
                results = self._execute(step, [values[name] for name in step.operands])
                for name, item in zip(step.results, results, strict=True):
                    if isinstance(item, RuntimeValue) and not item.known:
                        self.domain.computed(step, name, item)
            for name, item in zip(step.results, results, strict=True):
                values[name] = item
        return []

    def _count(self, step: Op) -> None:
        self.steps += 1
        for type_ in step.types:
            size = 1
            for length in type_.shape:
                size *= length
            self.elements += size
        if self.steps > self.limits.steps or self.elements > self.limits.elements:
            raise UnansweredError("the program runs for too long to be executed here", step)

    def _execute(self, step: Op, operands: Sequence[Item]) -> Results:
        if self.observe is not None:
            self.observe(step, operands)
        latest = self._latest.get(id(step))
        if latest is not None and all(map(operator.is_, operands, latest[0])):
            return latest[1]
        handler = self._handlers.get(step.opcode)
        results = handler(self, step, operands) if handler is not None else self._computed(step, operands)
        if handler is None or step.opcode in _REPEATABLE:
            self._latest[id(step)] = operands, results
        return results

    def _computed(self, step: Op, operands: Sequence[Item]) -> Results:
        numbers = [item for item in operands if isinstance(item, RuntimeValue)]
        if len(numbers) == len(operands) and all(value.known for value in numbers):
            results = integer_result(step, numbers)
            if results is not None:
                return [*results]
        if len(step.results) == 1 and len(numbers) == len(operands) and _is_elementwise(step):
            return [self.domain.compute(step, numbers)]
        raise UnansweredError(f"irscope does not know {step.opcode}", step)

    def _wait(self, step: Op, frame: Frame) -> Generator[Op, None, None]:
        items = [frame.values[name] for name in step.operands]
        parity = items[1]
        if not isinstance(parity, RuntimeValue) or not parity.known:
            raise UnansweredError("a barrier's parity depends on data", step)
        predicate = items[2] if len(items) > 2 else None
        if isinstance(predicate, RuntimeValue) and predicate.known and not predicate.number:
            return
        barrier = barrier_of(self, items[0], step)
        turns = 0
        while barrier.phase % 2 == parity.number % 2:
            turns += 1
            if turns > _MOST_TURNS:
                raise UnansweredError("a barrier's phase never ends", step)
            yield step

    def region(self, block: OpBlock, operands: Sequence[Item]) -> Results:
        """Execute a region that waits for nothing, such as that of a reduction, on operands."""
        frame = self.frame
        frame.values.update(zip(block.arguments, operands, strict=True))
        return _finished(self.block(block, frame))


Handler = Callable[[StageInterpreter, Op, Sequence[Item]], Results]
ControlFlow = Callable[[StageInterpreter, Op, Frame], Execution]

# Operations with a handler, the results of which follow from the operands alone.
_REPEATABLE = frozenset((*SHAPES, "arith.constant", "arith.select", "tt.get_num_programs"))
_TERMINATORS = frozenset(
    ("scf.yield", "tt.return", "tt.reduce.return", "tt.scan.return", "scf.condition", "ttg.warp_yield",
     "ttg.warp_return", "tt.map_elementwise.return", "func.return")
)  # fmt: skip
_MOST_TURNS = 100_000


def _finished(execution: Execution) -> Results:
    try:
        step = next(execution)
    except StopIteration as stop:
        results: Results = stop.value
        return results
    raise UnansweredError("a barrier is waited for in a region", step)


def _for(machine: StageInterpreter, step: Op, frame: Frame) -> Execution:
    carried: Results = [frame.values[name] for name in step.operands[3:]]
    body = step.regions[0]
    domain = machine.domain
    bounds = [frame.values[name] for name in step.operands[:3]]
    if not _are_known(bounds) and domain.undecided(step, True):
        return (yield from _some_iterations(machine, step, frame, bounds[0], carried))
    low, high, stride = (known_number(item, "the length of a loop", step) for item in bounds)
    carried = [domain.carried(item) if isinstance(item, RuntimeValue) else item for item in carried]
    if stride <= 0:
        raise UnansweredError("a loop does not advance", step)
    element = loop_element(step)
    times = range(low, high, stride)
    frame.iterations.append(low)
    for number in times:
        frame.iterations[-1] = number
        index = RuntimeValue(np.array(number, np.int64), Type(element))
        frame.values.update(zip(body.arguments, [index, *carried], strict=True))
        carried = yield from machine.block(body, frame)
    frame.iterations.pop()
    domain.repeated(step, times, [item for item in carried if isinstance(item, RuntimeValue)])
    return carried


def _are_known(items: Sequence[Item]) -> bool:
    return all(isinstance(item, RuntimeValue) and item.known for item in items)


def _some_iterations(
    machine: StageInterpreter, step: Op, frame: Frame, low: Item, carried: Results
) -> Execution:
    """Execute the first two iterations of a loop whose length depends on data; hide what they hand over."""
    domain, body = machine.domain, step.regions[0]
    stride = frame.values[step.operands[2]]
    known = _are_known([low, stride])
    results = carried
    for number in range(2 if known else 1):
        index = tensor(low, step)
        if known:
            data = np.array(index.number + number * tensor(stride, step).number, np.int64)
            index = RuntimeValue(data, index.type)
        frame.iterations.append(number)
        frame.values.update(zip(body.arguments, [index, *results], strict=True))
        results = yield from machine.block(body, frame)
        frame.iterations.pop()
    domain.undecided(step, False)
    return _hidden_changes(domain, carried, results)


def _hidden_changes(domain: Domain, before: Results, after: Results) -> Results:
    """Return what a loop hands over after an unknown number of iterations."""
    pairs = zip(before, after, strict=True)
    return [new if new is old or not isinstance(new, RuntimeValue) else domain.hidden(new)
            for old, new in pairs]  # fmt: skip


def _while(machine: StageInterpreter, step: Op, frame: Frame) -> Execution:
    before, after = step.regions
    carried: Results = [frame.values[name] for name in step.operands]
    first: Results | None = None
    frame.iterations.append(0)
    while True:
        frame.values.update(zip(before.arguments, carried, strict=True))
        condition, *results = yield from machine.block(before, frame)
        if first is not None:
            frame.iterations.pop()
            machine.domain.undecided(step, False)
            return _hidden_changes(machine.domain, first, results)
        if not _are_known([condition]) and machine.domain.undecided(step, True):
            first = results
        elif not known_number(condition, "whether a loop goes on", step):
            frame.iterations.pop()
            return results
        frame.iterations[-1] += 1
        frame.values.update(zip(after.arguments, results, strict=True))
        carried = yield from machine.block(after, frame)


def _if(machine: StageInterpreter, step: Op, frame: Frame) -> Execution:
    condition = frame.values[step.operands[0]]
    if isinstance(condition, RuntimeValue) and condition.known:
        number = 0 if condition.number else 1
        if number < len(step.regions):
            return (yield from machine.block(step.regions[number], frame))
        return []
    has_effects = any(region.has_effects for region in step.regions)
    if not isinstance(condition, RuntimeValue) or (has_effects and not machine.domain.undecided(step, True)):
        raise UnansweredError("a branch depends on data", step)
    branches: list[Results] = []
    for region in step.regions:
        results = yield from machine.block(region, frame)
        branches.append(results)
    if has_effects:
        machine.domain.undecided(step, False)
    chosen: Results = []
    for one, other in zip(*branches, strict=True):
        if one is other:
            chosen.append(one)
        elif isinstance(one, RuntimeValue) and isinstance(other, RuntimeValue):
            chosen.append(machine.domain.select(step, condition, one, other))
        else:
            raise UnansweredError("a branch depends on data", step)
    return chosen


def _call(machine: StageInterpreter, step: Op, frame: Frame) -> Execution:
    match = re.search(r"@\"?([\w$.-]+)", step.text)
    body = machine.program.functions.get(match[1]) if match else None
    if body is None:
        raise UnansweredError("a function of the stage is not there", step)
    operands = [frame.values[name] for name in step.operands]
    values = dict(zip(body.arguments, operands, strict=True))
    called = Frame(values, [*frame.iterations], frame.partition)
    return (yield from machine.block(body, called))


def _warp_specialize(machine: StageInterpreter, step: Op, frame: Frame) -> Execution:
    """Run the default region and the partitions in turns until all have ended."""
    operands = [frame.values[name] for name in step.operands]
    default, *partitions = step.regions
    results: Results = []
    running: list[Execution] = [machine.block(default, frame)]
    for number, partition in enumerate(partitions, 1):
        values = dict(frame.values)
        values.update(zip(partition.arguments, operands, strict=False))
        running.append(machine.block(partition, Frame(values, [*frame.iterations], number)))
    first = running[0]
    turns = 0
    yield from ()
    while running:
        before = machine.steps
        for execution in tuple(running):
            try:
                waiting = next(execution)
            except StopIteration as stop:  # noqa: PERF203 - a partition ends once
                running.remove(execution)
                if execution is first:
                    results = stop.value
        turns = 0 if machine.steps > before else turns + 1
        if running and turns > len(partitions) + 1:
            raise UnansweredError("the partitions wait for each other", waiting)
    return results


_CONTROL: Mapping[str, ControlFlow] = {
    "scf.for": _for,
    "scf.while": _while,
    "scf.if": _if,
    "tt.call": _call,
    "ttg.warp_specialize": _warp_specialize,
}


def _constant(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    type_ = step.types[0]
    text = re.sub(r"^\s*\{[^}]*\}", "", step.text)
    text = (text.rpartition(" : ")[0] or text).strip()
    body = text.removeprefix("dense<").removesuffix(">") if text.startswith("dense<") else text
    shape = (1,) * len(type_.shape)
    if body in ("true", "false"):
        return [RuntimeValue(np.full(shape, int(body == "true"), np.int64), type_)]
    match = _FLOAT.fullmatch(body)
    if match is None:
        raise UnansweredError(f"irscope cannot read the constant {body[:40]}", step)
    if is_integer(type_.element):
        number = int(body, 16) if body.startswith("0x") else int(body)
        return [RuntimeValue(wrapped(np.full(shape, number, np.int64), type_.element), type_)]
    return [machine.domain.constant(float_constant(body, type_.element), type_)]


def _program_id(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    axis = "xyz".index(step.text.split()[0])
    numbers = machine.program_id if step.opcode == "tt.get_program_id" else machine.launch.grid
    return [RuntimeValue(np.array(numbers[axis], np.int64), step.types[0])]


def _select(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    condition, one, other = operands
    if not (
        isinstance(condition, RuntimeValue)
        and isinstance(one, RuntimeValue)
        and isinstance(other, RuntimeValue)
    ):
        # A buffer or a token that is chosen.
        return [one if known_number(condition, "the choice of a buffer", step) else other]
    if condition.known and one.known and other.known:
        return [RuntimeValue(np.where(condition.data != 0, one.data, other.data), step.types[0])]
    return [machine.domain.select(step, condition, one, other)]


def _nothing(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    return [None] * len(step.results)


def _poison(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    type_ = step.types[0]
    return [RuntimeValue(np.zeros((1,) * len(type_.shape), np.int64), type_)] if type_.element else [None]


def _warp_id(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    return [RuntimeValue(np.array(0, np.int64), step.types[0])]


_PLAIN: Mapping[str, Handler] = {
    "arith.constant": _constant,
    "tt.get_program_id": _program_id,
    "tt.get_num_programs": _program_id,
    "arith.select": _select,
    "ub.poison": _poison,
    "ttg.warp_id": _warp_id,
    "nvgpu.cluster_id": _warp_id,
    **dict.fromkeys(
        ("llvm.intr.assume", "tt.assert", "tt.print", "rocdl.s.setprio", "rocdl.sched.barrier", "gpu.barrier",
         "ttg.local_barrier", "ttg.barrier", "ttng.fence_async_shared", "ttng.fence",
         "ttg.async_commit_group", "ttg.async_wait", "ttg.local_dealloc", "ttng.async_tma_store_wait",
         "ttng.tensormap_fenceproxy_acquire", "ttng.inval_barrier", "ttng.cluster_arrive",
         "ttng.cluster_wait"),
        _nothing,
    ),
}  # fmt: skip


def _is_elementwise(step: Op) -> bool:
    return step.opcode.startswith(("arith.", "math.")) or step.opcode in (
        "tt.fp_to_fp", "tt.bitcast", "tt.extern_elementwise", "tt.elementwise_inline_asm", "tt.clampf",
        "tt.precise_sqrt", "tt.precise_divf", "tt.approx_divf", "tt.mulhiui", "tt.int_to_ptr",
        "tt.ptr_to_int", "ttg.fp4_to_fp",
    )  # fmt: skip
