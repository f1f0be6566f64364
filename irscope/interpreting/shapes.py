"""The operations that move the elements of tensors and compute nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import numpy as np

from irscope.interpreting.answers import UnansweredError
from irscope.interpreting.machine import Handler, Machine, Results
from irscope.interpreting.program import Program, Step, Type
from irscope.interpreting.values import Array, Item, Value, reshaped
from irscope.layouts.linear import LinearLayout


def _value(item: Item, step: Step) -> Value:
    if not isinstance(item, Value):
        raise UnansweredError(f"{step.opcode} of what is no tensor", step)
    return item


def _splat(machine: Machine, step: Step, operands: Sequence[Item]) -> Results:
    type_, value = step.types[0], _value(operands[0], step)
    rank = len(type_.shape)
    return [machine.domain.moved(value, type_, lambda data: data.reshape((1,) * rank), True)]


def _broadcast(machine: Machine, step: Step, operands: Sequence[Item]) -> Results:
    return [machine.domain.moved(_value(operands[0], step), step.types[0], None, True)]


def _expand_dims(machine: Machine, step: Step, operands: Sequence[Item]) -> Results:
    axis = step.number("axis")
    value = _value(operands[0], step)
    return [machine.domain.moved(value, step.types[0], lambda data: np.expand_dims(data, axis), True)]


def _make_range(machine: Machine, step: Step, operands: Sequence[Item]) -> Results:
    return [Value(np.arange(step.number("start"), step.number("end"), dtype=np.int64), step.types[0])]


def _trans(machine: Machine, step: Step, operands: Sequence[Item]) -> Results:
    order = step.numbers("order")
    value = _value(operands[0], step)
    return [machine.domain.moved(value, step.types[0], lambda data: data.transpose(order), True)]


def _reshape(machine: Machine, step: Step, operands: Sequence[Item]) -> Results:
    value, type_ = _value(operands[0], step), step.types[0]
    old, new = value.type.shape, type_.shape
    if "allow_reorder" in step.text and value.data.size > 1:
        order = _by_position(machine.program, (value.type,), type_)

        def reordered(data: Array) -> Array:
            return np.broadcast_to(data, old).reshape(-1)[order].reshape(new)

        return [machine.domain.moved(value, type_, reordered, True)]
    return [machine.domain.moved(value, type_, lambda data: reshaped(data, old, new), True)]


def _convert_layout(machine: Machine, step: Step, operands: Sequence[Item]) -> Results:
    value, type_ = _value(operands[0], step), step.types[0]
    return [machine.domain.moved(value, type_, None, stays_in_thread(machine, value.type, type_))]


def stays_in_thread(machine: Machine, old: Type, new: Type) -> bool:
    """Return True if a conversion between two layouts moves no element to another thread."""
    if old.encoding == new.encoding:
        return True
    try:
        before, after = machine.program.layout(old), machine.program.layout(new)
    except UnansweredError:
        return False
    return all(before.bases.get(name, ()) == after.bases.get(name, ()) for name in ("lane", "warp", "block"))


def _join(machine: Machine, step: Step, operands: Sequence[Item]) -> Results:
    one, other = (_value(item, step) for item in operands)
    both = [np.stack(np.broadcast_arrays(one.data, other.data), -1)]
    return [_combined(machine, step, (one, other), lambda: both[0])]


def _combined(machine: Machine, step: Step, values: Sequence[Value], data: object) -> Value:
    known = all(value.known for value in values)
    if not known and any(value.known for value in values):
        raise UnansweredError(f"{step.opcode} of known and unknown tensors", step)
    merged = machine.domain.moved(values[0], step.types[0], lambda _: data(), True)  # type: ignore[operator]
    return Value(merged.data, step.types[0], known)


def _split(machine: Machine, step: Step, operands: Sequence[Item]) -> Results:
    value = _value(operands[0], step)
    halves: Results = []
    for number, type_ in enumerate(step.types):
        halves.append(
            machine.domain.moved(
                value, type_, lambda data, n=number: data[..., min(n, data.shape[-1] - 1)], True
            )
        )
    return halves


def _cat(machine: Machine, step: Step, operands: Sequence[Item]) -> Results:
    values = [_value(item, step) for item in operands]
    order = _by_position(machine.program, [value.type for value in values], step.types[0])
    flat = np.concatenate([value.full.reshape(-1) for value in values])
    data = flat[order].reshape(step.types[0].shape)
    return [_combined(machine, step, values, lambda: data)]


def _gather(machine: Machine, step: Step, operands: Sequence[Item]) -> Results:
    source, index = (_value(item, step) for item in operands[:2])
    axis = step.number("axis")
    if not index.known:
        return [machine.domain.gather(step, source, index)]
    full = index.full
    return [
        machine.domain.moved(
            source,
            step.types[0],
            lambda data: np.take_along_axis(np.broadcast_to(data, source.type.shape), full, axis),
            False,
        )
    ]


def _by_position(program: Program, sources: Sequence[Type], target: Type) -> Array:
    """Return, per element of `target`, the element of the sources that is in the same register and thread.

    The sources follow each other: the registers of the second after those of the first.
    """
    return _positions(tuple(program.layout(source) for source in sources), program.layout(target))


def _positions(sources: tuple[LinearLayout, ...], target: LinearLayout) -> Array:
    size = int(np.prod(target.shape))
    order = np.zeros(size, np.int64)
    parts = []
    start = 0
    for layout in sources:
        parts.append(start + _grid(layout))
        start += int(np.prod(layout.shape))
    order[_grid(target).reshape(-1)] = np.concatenate(parts).reshape(-1)
    return order


def _grid(layout: LinearLayout) -> Array:
    """Return the row-major index of the element in each [register, lane, warp, block]."""
    grid = np.zeros(1, np.int64)
    strides = [int(np.prod(layout.shape[axis + 1 :])) for axis in range(len(layout.shape))]
    sizes = []
    for name in ("block", "warp", "lane", "register"):
        vectors = layout.bases.get(name, ())
        for vector in vectors:
            step = sum(value * stride for value, stride in zip(vector, strides, strict=True))
            grid = np.concatenate([grid, grid ^ step])
        sizes.append(1 << len(vectors))
    # The last input varied slowest.
    return grid.reshape(sizes[::-1])


SHAPES: Mapping[str, Handler] = {
    "tt.splat": _splat,
    "tt.unsplat": _reshape,
    "tt.broadcast": _broadcast,
    "tt.expand_dims": _expand_dims,
    "tt.make_range": _make_range,
    "tt.trans": _trans,
    "tt.reshape": _reshape,
    "ttg.convert_layout": _convert_layout,
    "tt.join": _join,
    "tt.split": _split,
    "tt.cat": _cat,
    "tt.gather": _gather,
}
