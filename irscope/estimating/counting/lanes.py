"""Integer instructions of PTX on many threads at once.

A value is a NumPy array of shape (programs, threads); either is 1 if all programs, or all threads, have the
same. Registers of 16, 32 and 64 bits are int16, int32 and int64, predicates bool. Arithmetic wraps as in the
hardware. None is an unknown value (it depends on data, or on an instruction that is not interpreted); what
is computed from it is unknown too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Value = Array | None
# Returns the result, or a tuple of them.
Operation = Callable[..., Any]

_SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_COMPARISONS: dict[str, Operation] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
_COMBINATIONS: dict[str, Operation] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


@lru_cache(maxsize=256)
def bits_of(kind: str) -> int:
    """Return the bits of a type: 32 of "s32", 1 of "pred"; 0 if it is not an integer type."""
    if kind == "pred":
        return 1
    return int(kind[1:]) if kind[:1] in "busx" and kind[1:].isdigit() and int(kind[1:]) in _SIGNED else 0


def storage(kind: str) -> type:
    """Return the NumPy type of a register of this PTX type."""
    return np.bool_ if kind == "pred" else _SIGNED[max(16, bits_of(kind))]


def signed(value: Array, bits: int) -> Array:
    """Return the low bits of a register as a signed number."""
    return value if value.itemsize * 8 == bits else value.astype(_SIGNED[bits])


def unsigned(value: Array, bits: int) -> Array:
    """Return the low bits of a register as an unsigned number."""
    as_unsigned = value.view(_UNSIGNED[value.itemsize * 8])
    return as_unsigned if value.itemsize * 8 == bits else as_unsigned.astype(_UNSIGNED[bits])


def _typed(value: Array, kind: str) -> Array:
    bits = bits_of(kind)
    return unsigned(value, bits) if kind[0] in "ub" and kind != "pred" else signed(value, bits)


def _stored(value: Array, bits: int) -> Array:
    """Return a number as a register of `bits` (at least 16)."""
    kind = _SIGNED[max(16, bits)]
    if value.dtype == kind:
        return value
    if value.itemsize == np.dtype(kind).itemsize and value.dtype != np.bool_:
        return value.view(kind)
    return value.astype(kind)


@lru_cache(maxsize=4096)
def operation(parts: tuple[str, ...]) -> Operation | None:
    """Return the function that computes the results of an opcode, or None if it is not interpreted."""
    name, kind = parts[0], parts[-1]
    if not bits_of(kind):
        return None
    if function := _PLAIN.get(name):
        return function
    if function := _TYPED.get(name):
        return partial(function, kind=kind, bits=bits_of(kind))
    maker = _MAKERS.get(name)
    return maker(parts) if maker else None


def unchanged(value: Array) -> Array:
    """Return the operand itself, as a move does."""
    return value


def unpacked(value: Array, bits: int, wanted: Sequence[int]) -> Any:
    """Return some of the parts of a register, each of `bits`: one, or a tuple of them."""
    kind = np.dtype(f"i{bits // 8}").type
    parts = tuple((value >> (index * bits)).astype(kind) for index in wanted)
    return parts[0] if len(parts) == 1 else parts


def packed(*values: Array, bits: int, part_bits: int) -> Array:
    """Return a register of `bits` from parts, the lowest first."""
    kind = np.dtype(f"i{bits // 8}").type
    result: Array = np.zeros((1, 1), kind)
    mask = kind((1 << part_bits) - 1)
    for index, value in enumerate(values):
        result = result | ((value.astype(kind) & mask) << kind(index * part_bits))
    return result


def _and(parts: tuple[str, ...]) -> Operation:
    """Compile a bitwise AND; an unknown predicate is taken to hold, so that the other one decides."""
    if parts[-1] != "pred":
        return np.bitwise_and
    return lambda a, b: b if a is None else a if b is None else np.bitwise_and(a, b)


def _multiply(parts: tuple[str, ...]) -> Operation:
    kind, bits = parts[-1], bits_of(parts[-1])
    if "hi" in parts:
        return partial(_multiply_high, kind=kind, bits=bits)
    if "wide" not in parts:
        return np.multiply
    if kind[0] == "s":
        return partial(np.multiply, dtype=_SIGNED[2 * bits])
    as_unsigned, wide = _UNSIGNED[2 * bits], _SIGNED[2 * bits]
    return lambda a, b: np.multiply(unsigned(a, bits), unsigned(b, bits), dtype=as_unsigned).view(wide)


def _multiply_high(a: Array, b: Array, kind: str, bits: int) -> Any:
    if bits < 64:
        product = _typed(a, kind).astype(np.int64) * _typed(b, kind).astype(np.int64)
        return _stored(product >> bits, bits)
    low, shift = np.uint64((1 << 32) - 1), np.uint64(32)
    x, y = a.view(np.uint64), b.view(np.uint64)
    cross = (x >> shift) * (y & low) + (((x & low) * (y & low)) >> shift)
    middle = (x & low) * (y >> shift) + (cross & low)
    result = ((x >> shift) * (y >> shift) + (cross >> shift) + (middle >> shift)).view(np.int64)
    if kind[0] != "s":
        return result
    return result - np.where(a < 0, b, 0) - np.where(b < 0, a, 0)


def _multiply_add(parts: tuple[str, ...]) -> Operation:
    product = _multiply(parts)
    return lambda a, b, c: product(a, b) + c


def _divide(a: Array, b: Array, kind: str, bits: int) -> Any:
    if kind[0] != "s":
        return _stored(unsigned(a, bits) // unsigned(b, bits), bits)
    down = a // b
    return down + ((down * b != a) & ((a < 0) != (b < 0)))


def _remainder(a: Array, b: Array, kind: str, bits: int) -> Any:
    return np.fmod(a, b) if kind[0] == "s" else _stored(unsigned(a, bits) % unsigned(b, bits), bits)


def _minimum(a: Array, b: Array, kind: str, bits: int) -> Array:
    return _stored(np.minimum(_typed(a, kind), _typed(b, kind)), bits)


def _maximum(a: Array, b: Array, kind: str, bits: int) -> Array:
    return _stored(np.maximum(_typed(a, kind), _typed(b, kind)), bits)


def _shift_left(a: Array, by: Array, kind: str, bits: int) -> Any:
    if by.size == 1 and 0 <= by.flat[0] < bits:
        return np.left_shift(a, by.astype(a.dtype))
    amount = unsigned(by, 32)
    return np.where(amount < bits, a << np.minimum(amount, bits - 1).astype(a.dtype), a.dtype.type(0))


def _shift_right(a: Array, by: Array, kind: str, bits: int) -> Any:
    typed = _typed(a, kind)
    if by.size == 1 and 0 <= by.flat[0] < bits:
        return _stored(np.right_shift(typed, by.astype(typed.dtype)), bits)
    amount = unsigned(by, 32)
    shifted = typed >> np.minimum(amount, bits - 1).astype(typed.dtype)
    if kind[0] != "s":
        shifted = np.where(amount < bits, shifted, typed.dtype.type(0))
    return _stored(shifted, bits)


def _both(high: Array, low: Array) -> Any:
    """Return two registers of 32 bits as one of 64."""
    return (unsigned(high, 32).astype(np.uint64) << np.uint64(32)) | unsigned(low, 32).astype(np.uint64)


def _funnel(parts: tuple[str, ...]) -> Operation:
    def shift(low: Array, high: Array, by: Array) -> Any:
        amount = unsigned(by, 32).astype(np.uint64)
        amount = amount & np.uint64(31) if "wrap" in parts else np.minimum(amount, np.uint64(32))
        both = _both(high, low)
        moved = (both << amount) >> np.uint64(32) if "l" in parts else both >> amount
        return moved.astype(np.uint32).view(np.int32)

    return shift


def _extract(a: Array, position: Array, length: Array, kind: str, bits: int) -> Array:
    """Compute `bfe`: bits from a position on."""
    wide = _typed(a, kind).astype(np.int64) if bits < 64 else a
    count = length.astype(np.int64) & 255
    moved = wide >> (position.astype(np.int64) & 255)
    field = moved & ((np.int64(1) << np.minimum(count, 62)) - 1)
    if kind[0] == "s":
        sign = np.int64(1) << np.maximum(np.minimum(count, 62) - 1, 0)
        field = np.where(count > 0, (field ^ sign) - sign, 0)
    return _stored(field, bits)


def _insert(a: Array, b: Array, position: Array, length: Array, kind: str, bits: int) -> Array:
    """Compute `bfi`: the low bits of one number over bits of another."""
    low_bit = np.minimum(position.astype(np.int64) & 255, 62)
    mask = ((np.int64(1) << np.minimum(length.astype(np.int64) & 255, 62)) - 1) << low_bit
    return _stored((b.astype(np.int64) & ~mask) | ((a.astype(np.int64) << low_bit) & mask), bits)


def _permute(a: Array, b: Array, selector: Array) -> Any:
    """Compute `prmt`: bytes of two registers by a selector."""
    both, chosen = _both(b, a), unsigned(selector, 32).astype(np.uint64)
    result = np.zeros((1, 1), np.uint64)
    for byte_number in range(4):
        nibble = (chosen >> np.uint64(4 * byte_number)) & np.uint64(15)
        byte = (both >> ((nibble & np.uint64(7)) * np.uint64(8))) & np.uint64(255)
        sign = np.where(byte & np.uint64(128), np.uint64(255), np.uint64(0))
        byte = np.where(nibble & np.uint64(8), sign, byte)
        result = result | (byte << np.uint64(8 * byte_number))
    return result.astype(np.uint32).view(np.int32)


def _lookup(a: Array, b: Array, c: Array, table: Array) -> Array:
    """Compute `lop3`: any function of three bits, whose table is the fourth operand."""
    result: Array = np.zeros((1, 1), np.int32)
    number = int(table.flat[0])
    for entry in range(8):
        if number >> entry & 1:
            terms = (a if entry & 4 else ~a) & (b if entry & 2 else ~b) & (c if entry & 1 else ~c)
            result = result | terms
    return result


def _chosen(a: Array, b: Array, condition: Array) -> Array:
    if a is None or b is None or condition is None:
        raise TypeError("unknown")
    return np.where(condition, a, b)


def _compare(parts: tuple[str, ...]) -> Operation:
    """Compile `setp.lt.s32` and `setp.ne.and.b32`."""
    kind, compare = parts[-1], _COMPARISONS[parts[1]]
    combine = _COMBINATIONS.get(parts[2])
    if combine is None:
        return lambda a, b: compare(_typed(a, kind), _typed(b, kind))
    return lambda a, b, other: combine(compare(_typed(a, kind), _typed(b, kind)), other)


def _convert(parts: tuple[str, ...]) -> Operation:
    """Compile `cvt.s64.s32`: from the last type to the one before it."""
    source, target = parts[-1], parts[-2]
    bits, from_bits = bits_of(target), bits_of(source)
    if not bits or not from_bits:
        raise KeyError(target)

    def convert(value: Array) -> Any:
        typed = signed(value, from_bits) if source[0] == "s" else unsigned(value, from_bits)
        if "sat" in parts:
            low, high = (
                (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if target[0] == "s" else (0, (1 << bits) - 1)
            )
            return _stored(np.clip(typed.astype(np.int64), low, min(high, (1 << 63) - 1)), bits)
        narrowed = typed.astype(_SIGNED[bits] if target[0] == "s" else _UNSIGNED[bits])
        return narrowed.astype(np.int16) if bits < 16 else _stored(narrowed, bits)

    return convert


def _bits_of_value(value: Array, bits: int) -> Any:
    """Return the bits of a register along a new last axis, the lowest first."""
    as_unsigned = unsigned(value, bits).astype(np.uint64)
    return (as_unsigned[..., None] >> np.arange(bits, dtype=np.uint64)) & np.uint64(1)


def _count_bits(value: Array, kind: str, bits: int) -> Any:
    return _bits_of_value(value, bits).sum(axis=-1).astype(np.int32)


def _leading_zeros(value: Array, kind: str, bits: int) -> Any:
    heights = _bits_of_value(value, bits) * np.arange(1, bits + 1, dtype=np.uint64)
    return np.int32(bits) - heights.max(axis=-1).astype(np.int32)


# Operations whose result has the low bits of the operands' result, signed or not.
_PLAIN: dict[str, Operation] = {
    "mov": unchanged, "cvta": unchanged, "add": np.add, "sub": np.subtract, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "not": np.invert, "neg": np.negative, "abs": np.abs, "prmt": _permute,
    "lop3": _lookup, "selp": _chosen,
}  # fmt: skip
# Operations that depend on the type, and no other part of the opcode.
_TYPED: dict[str, Operation] = {
    "div": _divide, "rem": _remainder, "min": _minimum, "max": _maximum, "shl": _shift_left,
    "shr": _shift_right, "bfe": _extract, "bfi": _insert, "popc": _count_bits, "clz": _leading_zeros,
}  # fmt: skip
# Operations that other parts of the opcode decide.
_MAKERS: dict[str, Callable[[tuple[str, ...]], Operation]] = {
    "and": _and, "mul": _multiply, "mul24": _multiply, "mad": _multiply_add, "shf": _funnel,
    "setp": _compare, "cvt": _convert,
}  # fmt: skip
