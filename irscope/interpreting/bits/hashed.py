"""A value as a hash per element, and what is remembered of how the hash came about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from irscope.interpreting.bits.hashes import Hashes
from irscope.interpreting.bits.products import Chain
from irscope.interpreting.runtime_values import Array, RuntimeValue
from irscope.interpreting.stage_program import Type
from irscope.model.records import frozen


@frozen
class HashNote:
    """How a hash came about.

    `plain`: no element is a constant such as zero. `exact`: every element has so few significant bits that
    the product of two is exact in f32. `product`: the factors, and the block of code, of a product that a sum
    in the same thread can take without rounding it. `chain`: products of matrices that are still to be added.
    """

    plain: bool = False
    exact: bool = False
    product: tuple[Hashes, Hashes, int] | None = None
    chain: Chain | None = None


ANY = HashNote()
PLAIN = HashNote(plain=True)


def note_of(value: RuntimeValue) -> HashNote:
    """Return what is remembered of a value; of a known integer, nothing."""
    return value.note if isinstance(value.note, HashNote) else ANY


def stripped(value: RuntimeValue) -> HashNote | None:
    """Return the note of a value without products that are still to be added."""
    return None if value.known else replace(note_of(value), product=None, chain=None)


def rounded(value: RuntimeValue) -> RuntimeValue:
    """Return a value whose product is rounded, as when it goes to another thread."""
    return RuntimeValue(value.data, value.type, value.known, stripped(value) or ANY)


def expanded(data: Array, like: Array) -> Array:
    """Return factors in the shape of their product."""
    return np.broadcast_to(data, like.shape) if data.shape != like.shape else data


def first_axis(data: Array, shape: Sequence[int], axis: int) -> Array:
    """Return all elements of a tensor with one axis as the first."""
    return np.moveaxis(np.broadcast_to(data, tuple(shape)), axis, 0)


def along(value: RuntimeValue, data: Hashes, axis: int) -> RuntimeValue:
    """Return a tensor, whose hashes are `data`, with all its elements along an axis as the first axis."""
    note = note_of(value)
    shape = [data.shape[i] if i != axis else value.type.shape[i] for i in range(data.ndim)]
    product = None
    if note.product is not None:
        a, b, block = note.product
        factors = [first_axis(expanded(factor, data), shape, axis) for factor in (a, b)]
        product = (factors[0], factors[1], block)
    moved = first_axis(data, shape, axis)
    rest = (*value.type.shape[:axis], *value.type.shape[axis + 1 :])
    type_ = Type(value.type.element, (value.type.shape[axis], *rest))
    if value.known:
        return RuntimeValue(moved.view(np.int64), type_, True, ANY)
    return RuntimeValue(moved, type_, False, HashNote(note.plain, note.exact, product))


def taken(value: RuntimeValue, index: Array | tuple[slice, ...], same_thread: bool = True) -> RuntimeValue:
    """Return the elements at `index`; `same_thread`: the thread that computed them keeps them."""
    note = note_of(value)
    product = None
    if same_thread and note.product is not None:
        a, b, block = note.product
        product = (a[index], b[index], block)
    return RuntimeValue(value.data[index], value.type, value.known, HashNote(note.plain, note.exact, product))


def part(value: RuntimeValue, axis: int, chosen: slice, keep: bool = False) -> RuntimeValue:
    """Return some of the elements along an axis, after they went to another thread (`keep`: they did not)."""
    return taken(value, (slice(None),) * axis + (chosen,), keep)


def joined(one: RuntimeValue, other: RuntimeValue) -> RuntimeValue:
    """Return two tensors one after another along the first axis."""
    shape = np.broadcast_shapes(one.data.shape[1:], other.data.shape[1:])
    parts = [np.broadcast_to(item.data, (item.data.shape[0], *shape)) for item in (one, other)]
    note = HashNote(note_of(one).plain and note_of(other).plain)
    return RuntimeValue(np.concatenate(parts), one.type, one.known and other.known, note)
