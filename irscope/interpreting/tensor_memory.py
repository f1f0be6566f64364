"""Tensor memory (Blackwell), which holds accumulators, and the products that add to them.

A product is complete as soon as it is issued, as an asynchronous copy is. What was written to a buffer last
is kept as it is, so that a domain can go on with products that are still to be added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from irscope.interpreting.memory import barrier_of, buffer_of, matrix, new_buffer, read, write, zero
from irscope.interpreting.runtime_values import Buffer, Item, Results, RuntimeValue, is_integer, known_number
from irscope.interpreting.stage_program import Op, Type

if TYPE_CHECKING:
    from irscope.interpreting.stage_interpreter import Handler, StageInterpreter


def _alloc(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    buffer = new_buffer(step.types[0])
    for item in operands:
        if isinstance(item, RuntimeValue):
            _put(machine, step, buffer, item)
    return [buffer, *([None] * (len(step.results) - 1))]


def _load(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    value = _get(machine, step, buffer_of(operands[0], step), step.types[0])
    return [value, *([None] * (len(step.results) - 1))]


def _store(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    value, target, predicate = (item for item in operands if item is not None)
    if known_number(predicate, "whether tensor memory is written", step) and isinstance(value, RuntimeValue):
        _put(machine, step, buffer_of(target, step), value)
    return [None] * len(step.results)


def _subslice(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    buffer, type_ = buffer_of(operands[0], step), step.types[0]
    # Triton before 3.7 calls it N.
    start = step.number("offset", step.number("N", 0))
    return [Buffer(buffer.data[..., start : start + type_.shape[-1]], type_, buffer.cell)]


def _product(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    """Add a product: `%a, %b, %accumulator[%token], %adds, %predicate, %barrier[%predicate], ...`."""
    a, b, target, adds, predicate, *barriers = (item for item in operands if item is not None)
    if known_number(predicate, "whether a product is computed", step):
        accumulator = buffer_of(target, step)
        before = zero(machine, _contents(accumulator))
        if known_number(adds, "whether a product adds to its accumulator", step):
            before = _get(machine, step, accumulator, _contents(accumulator))
        left, right = (_factor(machine, step, item) for item in (a, b))
        _put(machine, step, accumulator, machine.domain.dot(step, left, right, before))
        for barrier, arrives in zip(barriers[::2], barriers[1::2], strict=True):
            _commit(machine, step, (barrier, arrives))
    return [None] * len(step.results)


def _commit(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    barrier, *predicate = (item for item in operands if item is not None)
    if all(known_number(item, "whether a barrier is arrived at", step) for item in predicate):
        barrier_of(machine, barrier, step).arrive()
    return []


def _factor(machine: StageInterpreter, step: Op, item: Item) -> RuntimeValue:
    buffer = buffer_of(item, step)
    return (
        _get(machine, step, buffer, _contents(buffer)) if buffer.cell.latest else matrix(machine, item, step)
    )


def _contents(buffer: Buffer) -> Type:
    return Type(buffer.type.element, buffer.type.shape, buffer.type.encoding, "tensor")


def _key(buffer: Buffer) -> tuple[int, tuple[int, ...]]:
    return int(buffer.data.__array_interface__["data"][0]), buffer.data.shape


def _put(machine: StageInterpreter, step: Op, buffer: Buffer, value: RuntimeValue) -> None:
    """Write a tensor to a buffer; buffers of equal shape do not overlap unless they are the same."""
    latest = buffer.cell.latest
    if any(shape != buffer.data.shape for _, shape in latest):
        _settle(machine, step, buffer)
    latest[_key(buffer)] = buffer, value


def _get(machine: StageInterpreter, step: Op, buffer: Buffer, type_: Type) -> RuntimeValue:
    if _key(buffer) in buffer.cell.latest:
        return machine.domain.moved(buffer.cell.latest[_key(buffer)][1], type_, None, False)
    _settle(machine, step, buffer)
    if buffer.cell.known is None:
        # A pipelined loop without iterations reads an accumulator that it then ignores.
        is_float = not is_integer(type_.element)
        return machine.domain.constant(float("nan"), type_) if is_float else zero(machine, type_)
    return read(buffer, type_)


def _settle(machine: StageInterpreter, step: Op, buffer: Buffer) -> None:
    """Write what is kept to the memory of the allocation."""
    for target, value in buffer.cell.latest.values():
        write(machine, step, target, value)
    buffer.cell.latest.clear()


TENSOR_MEMORY: Mapping[str, Handler] = {
    "ttng.tmem_alloc": _alloc,
    "ttng.tmem_load": _load,
    "ttng.tmem_store": _store,
    "ttng.tmem_subslice": _subslice,
    "ttng.tc_gen5_mma": _product,
    "ttng.tc_gen5_commit": _commit,
}
