"""The values that the machine computes with.

    %m = arith.cmpi slt, %i, %n : tensor<64x32xi32, #blocked>
    -> RuntimeValue(data of shape (1, 32), int64, known)

An axis along which all elements are equal has the length 1 in `data`, as after `tt.splat` and `tt.broadcast`.
A pointer is an address in bytes: the n-th argument of the kernel points to (n + 1) * ARGUMENT_SPACING.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irscope.interpreting.stage_program import Op, Type, UnansweredError

Array = NDArray[Any]

# The distance in bytes between what two arguments point to.
ARGUMENT_SPACING = 1 << 44

_NARROW = {8: np.int8, 16: np.int16, 32: np.int32}
_WIDTH = re.compile(r"[iu](\d{1,3})")


@dataclass(slots=True)
class RuntimeValue:
    """A scalar or a tensor.

    `known` data are integers (int64) or addresses; other data are the domain's own, 64 bits per element.
    `note` is what a domain remembers of how the value was computed.
    """

    data: Array
    type: Type
    known: bool = True
    note: object = None

    @property
    def full(self) -> Array:
        """Return the data with every element of the type's shape (a view)."""
        return np.broadcast_to(self.data, self.type.shape)

    @property
    def number(self) -> int:
        """Return the value of a known scalar."""
        return int(self.data.reshape(-1)[0])


@dataclass(slots=True)
class BufferState:
    """Whether the elements of an allocation are known; None before the first write to its memory.

    `latest` has what was written to tensor memory last, by address and shape: the buffer, and the tensor.
    """

    known: bool | None = None
    latest: dict[tuple[int, tuple[int, ...]], tuple[Buffer, RuntimeValue]] = field(default_factory=dict)


@dataclass(slots=True)
class Buffer:
    """A view of an allocation in shared or tensor memory: writing to `data` writes to the allocation."""

    data: Array
    type: Type
    cell: BufferState


@dataclass(slots=True)
class Descriptor:
    """A tensor descriptor (TMA): `shape` and `strides` are in elements, `base` is an address."""

    base: RuntimeValue
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block: tuple[int, ...]
    element: str


@dataclass(slots=True)
class Barrier:
    """An mbarrier: a phase ends when `pending` arrivals and `bytes` have come."""

    count: int = 1
    pending: int = 1
    bytes: int = 0
    phase: int = 0

    def arrive(self, count: int = 1) -> None:
        """Take arrivals off; begin the next phase if nothing is pending."""
        self.pending -= count
        self.end_phase()

    def end_phase(self) -> None:
        """Begin the next phase if all arrivals and bytes have come."""
        if self.pending <= 0 and self.bytes <= 0:
            self.phase += 1
            self.pending = self.count


Item = RuntimeValue | Buffer | Descriptor | None
# What an operation gives, or a block hands over at its end.
Results = list[Item]


@cache
def width(element: str) -> int:
    """Return the bits of an integer type; 64 for `index` and pointers."""
    match = _WIDTH.fullmatch(element)
    return int(match[1]) if match else 64


@cache
def is_integer(element: str) -> bool:
    """Return True for an integer type, `index`, or a pointer."""
    return bool(_WIDTH.fullmatch(element)) or element == "index" or element.startswith("!tt.ptr")


@cache
def size_in_bytes(element: str) -> int:
    """Return the size of an element in memory."""
    if element.startswith("!"):
        return 8
    digits = re.search(r"\d+", element)
    return max(1, int(digits[0]) // 8) if digits else 4


def wrapped(data: Array, element: str) -> Array:
    """Return integers as two's complement numbers of their type, `i1` as 0 and 1."""
    bits = width(element)
    if bits == 1:
        return data & 1
    narrow = _NARROW.get(bits)
    return data if narrow is None else data.astype(narrow).astype(np.int64)


def unsigned(data: Array, element: str) -> NDArray[np.uint64]:
    """Return integers of a type as numbers without a sign."""
    bits = width(element)
    plain = data.astype(np.int64).view(np.uint64)
    return plain if bits >= 64 else plain & np.uint64((1 << bits) - 1)


def reshaped(data: Array, old: Sequence[int], new: Sequence[int]) -> Array:
    """Return the data of a tensor in another shape; if all elements are equal, every axis has length 1."""
    if data.size == 1:
        return data.reshape((1,) * len(new))
    return np.broadcast_to(data, tuple(old)).reshape(tuple(new))


def tensor(item: Item, step: Op) -> RuntimeValue:
    """Return an operand that is a scalar or a tensor. Raises UnansweredError if it is neither."""
    if not isinstance(item, RuntimeValue):
        raise UnansweredError(f"{step.opcode} of what is no tensor", step)
    return item


def known_number(item: Item, what: str, step: Op) -> int:
    """Return a known integer. Raise UnansweredError if it depends on data."""
    if not isinstance(item, RuntimeValue) or not item.known:
        raise UnansweredError(f"{what} depends on data", step)
    return item.number


def tensor_in(text: str) -> tuple[tuple[int, ...], str]:
    """Return the shape and the element in a descriptor's type: `!tt.tensordesc<tensor<64x32xf16, #a>>`."""
    match = re.search(r"tensordesc<(?:tensor<)?((?:\d+x)+)(\w+)", text)
    if match is None:
        return (), ""
    return tuple(int(size) for size in match[1].split("x") if size), match[2]


def float_constant(text: str, element: str) -> float:
    """Return a float as MLIR prints it: `1.000000e+00`, or the bits `0xFF800000`."""
    if not text.startswith("0x"):
        return float(text)
    bits = int(text, 16)
    if element == "f32":
        return float(np.array(bits, np.uint32).view(np.float32))
    if element == "f64":
        return float(np.array(bits, np.uint64).view(np.float64))
    if element == "f16":
        return float(np.array(bits, np.uint16).view(np.float16))
    if element == "bf16":
        return float(np.array(bits << 16, np.uint32).view(np.float32))
    raise UnansweredError(f"irscope cannot read a constant of {element}")
