"""Global memory, buffers in shared memory, barriers, tensor descriptors, reductions and products.

An asynchronous copy is complete as soon as it is issued: a program without races reads the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from irscope.interpreting.domain import Combine
from irscope.interpreting.integers import addptr, at_offsets
from irscope.interpreting.runtime_values import (
    Array,
    Barrier,
    Buffer,
    BufferState,
    Descriptor,
    Item,
    Results,
    RuntimeValue,
    known_number,
    size_in_bytes,
    tensor,
    tensor_in,
)
from irscope.interpreting.stage_program import Op, Type, UnansweredError

if TYPE_CHECKING:
    from irscope.interpreting.stage_interpreter import Handler, StageInterpreter


def buffer_of(item: Item, step: Op) -> Buffer:
    """Return an operand that is a buffer. Raises UnansweredError if it is none."""
    if not isinstance(item, Buffer):
        raise UnansweredError(f"{step.opcode} of what is no buffer", step)
    return item


def _pointee(value: RuntimeValue) -> str:
    return value.type.element.removeprefix("!tt.ptr<").removesuffix(">").partition(",")[0]


# Global memory.


def _load(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    values = [tensor(item, step) for item in operands if item is not None]
    address = values[0]
    type_ = Type(_pointee(address), address.type.shape, address.type.encoding, address.type.kind)
    mask = values[1] if len(values) > 1 else None
    other = values[2] if len(values) > 2 else None
    return [machine.domain.load(step, address, mask, other, type_)]


def _store(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    values = [tensor(item, step) for item in operands if item is not None]
    machine.domain.store(step, values[0], values[1], values[2] if len(values) > 2 else None)
    return []


def _atomic(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    values = [tensor(item, step) for item in operands if item is not None]
    count = 3 if step.opcode == "tt.atomic_cas" else 2
    mask = values[count] if len(values) > count else None
    result = machine.domain.atomic(step, values[0], values[1:count], mask)
    return [result] if step.results else []


# Buffers.


def new_buffer(type_: Type) -> Buffer:
    """Return an allocation in shared or tensor memory."""
    data = np.zeros(type_.shape, np.int64)
    return Buffer(data, type_, BufferState())


def _local_alloc(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    type_ = step.types[0]
    buffer = new_buffer(type_)
    sources = [item for item in operands if isinstance(item, RuntimeValue)]
    if sources:
        write(machine, step, buffer, sources[0])
    return [buffer, *([None] * (len(step.results) - 1))]


def write(machine: StageInterpreter, step: Op, buffer: Buffer, value: RuntimeValue) -> None:
    """Write a tensor to a buffer. Raises UnansweredError."""
    plain = value if value.known else machine.domain.hidden(value)
    if buffer.cell.known is None:
        buffer.cell.known = plain.known
    if buffer.cell.known and not plain.known:
        raise UnansweredError("a buffer holds known and unknown elements", step)
    if plain.known and not buffer.cell.known:
        plain = machine.domain.hidden(plain)
    data = np.broadcast_to(plain.data, value.type.shape)
    buffer.data[...] = data.reshape(buffer.data.shape).view(np.int64)


def read(buffer: Buffer, type_: Type) -> RuntimeValue:
    """Return what is in a buffer."""
    data = buffer.data.reshape(type_.shape)
    known = buffer.cell.known is not False
    return RuntimeValue(data.copy() if known else data.copy().view(np.uint64), type_, known)


def _local_load(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    return [read(buffer_of(operands[0], step), step.types[0]), *([None] * (len(step.results) - 1))]


def _local_store(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    write(machine, step, buffer_of(operands[1], step), tensor(operands[0], step))
    return []


def _memdesc_index(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    buffer = buffer_of(operands[0], step)
    index = (
        known_number(operands[1], "the number of a buffer", step)
        if len(operands) > 1
        else step.number("index")
    )
    if not 0 <= index < buffer.data.shape[0]:
        raise UnansweredError("a buffer's number is out of bounds", step)
    data = (
        buffer.data[index]
        if buffer.data.ndim > 1 or not step.types[0].shape
        else buffer.data[index : index + 1]
    )
    return [Buffer(data, step.types[0], buffer.cell)]


def _memdesc_subslice(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    buffer, type_ = buffer_of(operands[0], step), step.types[0]
    text = step.text[step.text.find("[") + 1 : step.text.find("]")]
    if len(operands) > 1:
        starts = [known_number(item, "the place in a buffer", step) for item in operands[1:]]
    else:
        starts = [int(item) for item in text.split(",") if item.strip()] or [step.number("N", 0)]
    starts = [0] * (buffer.data.ndim - len(starts)) + starts
    shape = (1,) * (buffer.data.ndim - len(type_.shape)) + type_.shape
    view = buffer.data[tuple(slice(start, start + size) for start, size in zip(starts, shape, strict=True))]
    if len(type_.shape) < view.ndim:
        view = view[(0,) * (view.ndim - len(type_.shape))]
    return [Buffer(view, type_, buffer.cell)]


def _memdesc_trans(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    buffer = buffer_of(operands[0], step)
    return [Buffer(buffer.data.transpose(step.numbers("order")), step.types[0], buffer.cell)]


def _memdesc_reshape(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    buffer, type_ = buffer_of(operands[0], step), step.types[0]
    view = buffer.data.view()
    try:
        view.shape = type_.shape
    except AttributeError as error:
        raise UnansweredError("a reshaped view of a transposed buffer", step) from error
    return [Buffer(view, type_, buffer.cell)]


def _memdesc_reinterpret(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    buffer, type_ = buffer_of(operands[0], step), step.types[0]
    if buffer.type.element == type_.element and buffer.data.size == int(np.prod(type_.shape)):
        return _memdesc_reshape(machine, step, operands)
    raise UnansweredError("a buffer that is read as another type", step)


def _async_copy(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    address, buffer = tensor(operands[0], step), buffer_of(operands[1], step)
    rest = [tensor(item, step) for item in operands[2:]]
    mask = rest.pop(0) if " mask " in step.text else None
    other = rest.pop(0) if " other " in step.text else None
    type_ = Type(_pointee(address), address.type.shape, address.type.encoding, address.type.kind)
    if mask is not None and other is None:
        other = zero(machine, type_)
    write(machine, step, buffer, machine.domain.load(step, address, mask, other, type_))
    return [None]


# Barriers.


def barrier_of(machine: StageInterpreter, item: Item, step: Op) -> Barrier:
    """Return the barrier in a buffer."""
    buffer = buffer_of(item, step)
    address = int(buffer.data.__array_interface__["data"][0])
    if address not in machine.barriers:
        machine.barriers[address] = Barrier()
    return machine.barriers[address]


def _init_barrier(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    count = step.number("count", 0)
    if not count:
        digits = [item for item in step.text.replace(",", " ").split() if item.isdecimal()]
        count = int(digits[0]) if digits else 1
    buffer = buffer_of(operands[0], step)
    address = int(buffer.data.__array_interface__["data"][0])
    machine.barriers[address] = Barrier(count, count)
    return []


def _predicate(items: Sequence[Item]) -> bool:
    last = items[-1] if items else None
    if not (isinstance(last, RuntimeValue) and last.type.element == "i1"):
        return True
    return not last.known or bool(last.number)


def _barrier_expect(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    if _predicate(operands[1:]):
        barrier = barrier_of(machine, operands[0], step)
        text = step.text.split(":")[0]
        sizes = [item for item in text.replace(",", " ").split() if item.isdecimal()]
        barrier.bytes += int(sizes[0]) if sizes else step.number("size", 0)
        barrier.arrive()
    return []


def _arrive_barrier(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    if _predicate(operands[1:]):
        text = step.text.split(":")[0]
        counts = [item for item in text.replace(",", " ").split() if item.isdecimal()]
        barrier_of(machine, operands[0], step).arrive(int(counts[0]) if counts else 1)
    return []


def _arrive_after_copies(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    # Copies are complete at once; without `noIncrement` the barrier does not count this arrival.
    if step.flag("noIncrement"):
        barrier_of(machine, operands[0], step).arrive()
    return []


# Tensor descriptors.


def _make_descriptor(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    base = tensor(operands[0], step)
    numbers = [known_number(item, "the shape of a tensor descriptor", step) for item in operands[1:]]
    rank = len(numbers) // 2
    type_ = step.types[0]
    block = type_.shape or tensor_in(step.text)[0]
    return [Descriptor(base, tuple(numbers[:rank]), tuple(numbers[rank:]), block, _pointee(base))]


def _tensormap_create(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    """Remember the descriptor that is written to an address; sizes and strides are innermost first."""
    target, base = tensor(operands[0], step), tensor(operands[1], step)
    numbers = [known_number(item, "a tensor descriptor", step) for item in operands[2:]]
    rank = (len(numbers) + 1) // 4
    block, sizes = numbers[:rank], numbers[rank : 2 * rank]
    size = size_in_bytes(_pointee(base))
    strides = [1, *(stride // size for stride in numbers[2 * rank : 3 * rank - 1])]
    descriptor = Descriptor(
        base, tuple(sizes[::-1]), tuple(strides[::-1]), tuple(block[::-1]), _pointee(base)
    )
    machine.descriptors[target.number] = descriptor
    return []


def _reinterpret_descriptor(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    item = operands[0]
    if isinstance(item, Descriptor):
        return [item]
    descriptor = machine.descriptors.get(tensor(item, step).number)
    if descriptor is None:
        raise UnansweredError("a tensor descriptor that the program did not make", step)
    block = tensor_in(step.text.rpartition(" to ")[2])[0] or descriptor.block
    return [Descriptor(descriptor.base, descriptor.shape, descriptor.strides, block, descriptor.element)]


def _scratch(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    machine.scratch += 1 << 20
    return [RuntimeValue(np.array(machine.scratch, np.int64), step.types[0])]


def _tile(
    step: Op, operands: Sequence[Item], descriptor: Descriptor, shape: tuple[int, ...]
) -> tuple[RuntimeValue, RuntimeValue]:
    """Return the addresses of the tile that the operands `%desc[%i, %j]` name, and which are inside."""
    rank = len(descriptor.shape)
    starts = [known_number(item, "the place of a tile", step) for item in operands[1 : rank + 1]]
    block = (1,) * (rank - len(shape)) + shape
    offset: Array = np.zeros((1,) * rank, np.int64)
    inside: Array = np.ones((1,) * rank, np.int64)
    for axis, (start, length, size, stride) in enumerate(
        zip(starts, block, descriptor.shape, descriptor.strides, strict=True)
    ):
        index = (start + np.arange(length)).reshape([length if a == axis else 1 for a in range(rank)])
        offset = offset + index * stride
        inside = inside & ((index >= 0) & (index < size))
    data = descriptor.base.data + offset * size_in_bytes(descriptor.element)
    inside = np.broadcast_to(inside, block)
    if rank != len(shape):
        data, inside = np.broadcast_to(data, block).reshape(shape), inside.reshape(shape)
    type_ = Type(f"!tt.ptr<{descriptor.element}>", shape, "", "tensor")
    return RuntimeValue(data, type_), RuntimeValue(inside.astype(np.int64), Type("i1", shape, "", "tensor"))


def _descriptor(item: Item, step: Op) -> Descriptor:
    if not isinstance(item, Descriptor):
        raise UnansweredError("a tensor descriptor whose contents are not known", step)
    return item


def zero(machine: StageInterpreter, type_: Type) -> RuntimeValue:
    """Return zeros of a type."""
    if type_.element.startswith("i"):
        return RuntimeValue(np.zeros((1,) * len(type_.shape), np.int64), type_)
    return machine.domain.constant(0.0, type_)


def _tma_load(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    """Copy a tile to a buffer and count its bytes: `%desc[%i, %j] %buffer, %barrier, %predicate`."""
    descriptor = _descriptor(operands[0], step)
    rank = len(descriptor.shape)
    buffers = [item for item in operands[rank + 1 :] if isinstance(item, Buffer)]
    if not _predicate(operands[rank + 1 :]):
        return []
    buffer = next(item for item in buffers if item.type.element != "i64" or item.data.size > 1)
    barrier = next(item for item in buffers if item is not buffer)
    type_ = Type(descriptor.element, buffer.type.shape, "", "tensor")
    address, inside = _tile(step, operands, descriptor, buffer.type.shape)
    write(machine, step, buffer, machine.domain.load(step, address, inside, zero(machine, type_), type_))
    counted = barrier_of(machine, barrier, step)
    counted.bytes -= buffer.data.size * size_in_bytes(descriptor.element)
    counted.end_phase()
    return []


def _tma_store(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    descriptor = _descriptor(operands[0], step)
    rank = len(descriptor.shape)
    buffer = buffer_of(operands[rank + 1], step)
    address, inside = _tile(step, operands, descriptor, buffer.type.shape)
    value = read(buffer, Type(descriptor.element, buffer.type.shape, "", "tensor"))
    if "reduce" in step.opcode:
        machine.domain.atomic(step, address, [value], inside)
    else:
        machine.domain.store(step, address, value, inside)
    return [None] * len(step.results)


def _descriptor_load(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    descriptor = _descriptor(operands[0], step)
    type_ = step.types[0]
    address, inside = _tile(step, operands, descriptor, type_.shape)
    return [machine.domain.load(step, address, inside, zero(machine, type_), type_)]


def _descriptor_store(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    descriptor = _descriptor(operands[0], step)
    rank = len(descriptor.shape)
    value = tensor(operands[rank + 1], step)
    address, inside = _tile(step, operands, descriptor, value.type.shape)
    machine.domain.store(step, address, value, inside)
    return []


# Reductions and products.


def _combine(machine: StageInterpreter, step: Op) -> Combine:
    region = step.regions[0]

    def combine(operands: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        return [tensor(item, step) for item in machine.region(region, operands)]

    return combine


def _reduce(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    values = [tensor(item, step) for item in operands]
    return [*machine.domain.reduce(step, values, _combine(machine, step))]


def _scan(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    values = [tensor(item, step) for item in operands]
    return [*machine.domain.scan(step, values, _combine(machine, step))]


def matrix(machine: StageInterpreter, item: Item, step: Op) -> RuntimeValue:
    """Return a factor of a product: a tensor, or what is in a buffer."""
    if isinstance(item, Buffer):
        shape, element = item.type.shape, item.type.element
        return read(item, Type(element, shape, item.type.encoding, "tensor"))
    return tensor(item, step)


def _dot(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    a, b = (matrix(machine, item, step) for item in operands[:2])
    accumulator = tensor(operands[2], step)
    if len(operands) > 3 and step.opcode == "ttng.warp_group_dot":
        use = known_number(operands[3], "whether a product adds to its accumulator", step)
        if not use:
            accumulator = zero(machine, accumulator.type)
    return [machine.domain.dot(step, a, b, accumulator)]


def _histogram(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    values = [tensor(item, step) for item in operands]
    return [machine.domain.histogram(step, values[0], values[1] if len(values) > 1 else None)]


def _dot_wait(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    return [*operands[: len(step.results)]]


MEMORY: Mapping[str, Handler] = {
    "tt.addptr": addptr,
    "tt.load": _load,
    "tt.store": _store,
    "tt.atomic_rmw": _atomic,
    "tt.atomic_cas": _atomic,
    "ttg.local_alloc": _local_alloc,
    "ttg.local_load": _local_load,
    "ttg.local_store": _local_store,
    "ttg.memdesc_index": _memdesc_index,
    "ttg.memdesc_subview": _memdesc_subslice,
    "ttg.memdesc_subslice": _memdesc_subslice,
    "ttg.memdesc_trans": _memdesc_trans,
    "ttg.memdesc_reshape": _memdesc_reshape,
    "ttg.memdesc_reinterpret": _memdesc_reinterpret,
    "ttg.async_copy_global_to_local": _async_copy,
    "ttng.init_barrier": _init_barrier,
    "ttng.barrier_expect": _barrier_expect,
    "ttng.arrive_barrier": _arrive_barrier,
    "ttng.async_copy_mbarrier_arrive": _arrive_after_copies,
    "amdg.buffer_load": at_offsets(_load),
    "amdg.buffer_store": at_offsets(_store, 1),
    "amdg.buffer_atomic_rmw": at_offsets(_atomic, 1),
    "amdg.buffer_load_to_local": at_offsets(_async_copy),
    "tt.make_tensor_descriptor": _make_descriptor,
    "ttng.tensormap_create": _tensormap_create,
    "ttng.reinterpret_tensor_descriptor": _reinterpret_descriptor,
    "ttg.global_scratch_alloc": _scratch,
    "ttng.async_tma_copy_global_to_local": _tma_load,
    "ttng.async_tma_copy_local_to_global": _tma_store,
    "ttng.async_tma_reduce": _tma_store,
    "tt.descriptor_load": _descriptor_load,
    "tt.descriptor_store": _descriptor_store,
    "tt.reduce": _reduce,
    "tt.scan": _scan,
    "tt.histogram": _histogram,
    "tt.dot": _dot,
    "ttng.warp_group_dot": _dot,
    "ttng.warp_group_dot_wait": _dot_wait,
}
