"""The operations that move the elements of tensors and compute nothing; the threads that own elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from irscope.interpreting.runtime_values import Array, Item, Results, RuntimeValue, reshaped, tensor
from irscope.interpreting.stage_program import Op, StageProgram, Type, UnansweredError
from irscope.layouts.linear import LinearLayout

if TYPE_CHECKING:
    from irscope.interpreting.stage_interpreter import Handler, StageInterpreter


def _splat(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    type_, value = step.types[0], tensor(operands[0], step)
    rank = len(type_.shape)
    return [machine.domain.moved(value, type_, lambda data: data.reshape((1,) * rank), True)]


def _broadcast(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    return [machine.domain.moved(tensor(operands[0], step), step.types[0], None, True)]


def _expand_dims(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    axis = step.number("axis")
    value = tensor(operands[0], step)
    return [machine.domain.moved(value, step.types[0], lambda data: np.expand_dims(data, axis), True)]


def _make_range(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    return [RuntimeValue(np.arange(step.number("start"), step.number("end"), dtype=np.int64), step.types[0])]


def _trans(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    order = step.numbers("order")
    value = tensor(operands[0], step)
    return [machine.domain.moved(value, step.types[0], lambda data: data.transpose(order), True)]


def _reshape(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    value, type_ = tensor(operands[0], step), step.types[0]
    old, new = value.type.shape, type_.shape
    if "allow_reorder" in step.text and value.data.size > 1:
        order = _by_position(machine.program, (value.type,), type_)

        def reordered(data: Array) -> Array:
            return np.broadcast_to(data, old).reshape(-1)[order].reshape(new)

        return [machine.domain.moved(value, type_, reordered, True)]
    return [machine.domain.moved(value, type_, lambda data: reshaped(data, old, new), True)]


def _convert_layout(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    value, type_ = tensor(operands[0], step), step.types[0]
    return [machine.domain.moved(value, type_, None, stays_in_thread(machine, value.type, type_))]


def stays_in_thread(machine: StageInterpreter, old: Type, new: Type) -> bool:
    """Return True if a conversion between two layouts moves no element to another thread."""
    if old.encoding == new.encoding:
        return True
    try:
        before, after = machine.program.layout(old), machine.program.layout(new)
    except UnansweredError:
        return False
    return all(before.bases.get(name, ()) == after.bases.get(name, ()) for name in ("lane", "warp", "block"))


def _join(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    one, other = (tensor(item, step) for item in operands)
    values = _alike(machine, (one, other))
    data = np.stack(np.broadcast_arrays(*(value.data for value in values)), -1)
    return [RuntimeValue(data, step.types[0], values[0].known)]


def _alike(machine: StageInterpreter, values: Sequence[RuntimeValue]) -> list[RuntimeValue]:
    """Return tensors that are all known, or all hidden."""
    if all(value.known for value in values):
        return [*values]
    return [machine.domain.hidden(value) for value in values]


def _split(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    value = tensor(operands[0], step)
    return [
        machine.domain.moved(value, type_, partial(_half, number), True)
        for number, type_ in enumerate(step.types)
    ]


def _half(number: int, data: Array) -> Array:
    half: Array = data[..., min(number, data.shape[-1] - 1)]
    return half


def _cat(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    values = _alike(machine, [tensor(item, step) for item in operands])
    order = _by_position(machine.program, [value.type for value in values], step.types[0])
    flat = np.concatenate([value.full.reshape(-1) for value in values])
    return [RuntimeValue(flat[order].reshape(step.types[0].shape), step.types[0], values[0].known)]


def _gather(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    source, index = (tensor(item, step) for item in operands[:2])
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


def _by_position(program: StageProgram, sources: Sequence[Type], target: Type) -> Array:
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
        parts.append(start + element_grid(layout))
        start += int(np.prod(layout.shape))
    order[element_grid(target).reshape(-1)] = np.concatenate(parts).reshape(-1)
    return order


def element_grid(layout: LinearLayout) -> Array:
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


@dataclass(frozen=True)
class Owners:
    """The threads that hold each element of a tensor, by row-major index: the first and the last of them.

    A store is made by the first thread alone, as Triton's lowering does; all of them load.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    lanes: int

    @property
    def count(self) -> int:
        """Return the number of threads that make a store."""
        return len(np.unique(self.first))


def owners(program: StageProgram, type_: Type, warps: int, lanes: int) -> Owners:
    """Return the owners of the elements of a tensor, or of a scalar, which every thread has.

    Raises UnansweredError if the layout is not supported.
    """
    if not type_.shape:
        return Owners(np.zeros(1, np.int64), np.full(1, warps * lanes - 1), lanes)
    return owners_by_layout(program.layout(type_))


def owners_by_layout(layout: LinearLayout) -> Owners:
    """Return the owners of the elements of a tensor in a layout."""
    grid = element_grid(layout)
    lanes = grid.shape[1]
    threads = grid.size // grid.shape[0]
    threads_of = np.arange(threads).reshape(grid.shape[:0:-1]).T
    held = np.broadcast_to(threads_of, grid.shape)
    size = int(np.prod(layout.shape))
    first, last = np.full(size, threads, np.int64), np.zeros(size, np.int64)
    np.minimum.at(first, grid.reshape(-1), held.reshape(-1))
    np.maximum.at(last, grid.reshape(-1), held.reshape(-1))
    return Owners(first, last, lanes)


SHAPES: Mapping[str, Handler] = {
    "tt.splat": _splat,
    "tt.unsplat": _reshape,
    "tt.broadcast": _broadcast,
    "tt.expand_dims": _expand_dims,
    "tt.make_range": _make_range,
    "tt.trans": _trans,
    "tt.reshape": _reshape,
    "ttg.convert_layout": _convert_layout,
    "amdg.in_thread_transpose": _convert_layout,
    "tt.join": _join,
    "tt.split": _split,
    "tt.cat": _cat,
    "tt.gather": _gather,
}
