"""Hashes of expressions, 64 bits per element, computed for whole arrays.

add(x, y) = add(y, x), but add(add(x, y), z) differs from add(x, add(y, z)), as for floats
largest(x, y) is also associative: the order of a maximum does not matter
"""

from __future__ import annotations

import zlib
from functools import cache

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

_SHIFTS = (np.uint64(31), np.uint64(29))
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SPREAD = np.uint64(0xD1B54A32D192ED03)
# A bijection and its inverse, under which a maximum is a sum.
_FOLD = np.uint64(32)
_ODD = np.uint64(0xBF58476D1CE4E5B9)
_ODD_INVERSE = np.uint64(pow(0xBF58476D1CE4E5B9, -1, 1 << 64))
_ORDERED = np.uint64(0x2545F4914F6CDD1D)


@cache
def word(text: str) -> np.uint64:
    """Return the number that stands for an operation."""
    data = text.encode()
    result: np.uint64 = np.uint64(zlib.crc32(data) << 32 | zlib.crc32(data[::-1] + b"#"))
    return result


def mix(data: Hashes) -> Hashes:
    """Return a hash of each element."""
    mixed: Hashes = data ^ (data >> _SHIFTS[0])
    mixed *= _FACTOR
    mixed ^= mixed >> _SHIFTS[1]
    mixed *= _SPREAD
    mixed ^= mixed >> _SHIFTS[0]
    return mixed


def unary(name: str, a: Hashes) -> Hashes:
    """Return the hash of an operation on `a`."""
    return mix(a + word(name))


def ordered(name: str, a: Hashes, b: Hashes) -> Hashes:
    """Return the hash of an operation whose operands must not change places."""
    return mix(a * _ORDERED + (b ^ word(name)))


def symmetric(name: str, a: Hashes, b: Hashes) -> Hashes:
    """Return the hash of an operation whose operands may change places."""
    return mix((a + b) * _ORDERED + word(name) + mix(a ^ b))


def several(name: str, *operands: Hashes) -> Hashes:
    """Return the hash of an operation on operands in this order."""
    result = operands[0] + word(name)
    for operand in operands[1:]:
        result = mix(result) * _ORDERED + operand
    return mix(result)


def folded(name: str, a: Hashes) -> Hashes:
    """Return the elements in the form in which an operation without an order is a sum."""
    b = a ^ word(name)
    result: Hashes = (b ^ (b >> _FOLD)) * _ODD
    return result


def unfolded(name: str, total: Hashes) -> Hashes:
    """Return the inverse of `folded`."""
    b = total * _ODD_INVERSE
    result: Hashes = (b ^ (b >> _FOLD)) ^ word(name)
    return result


def unordered(name: str, a: Hashes, b: Hashes) -> Hashes:
    """Return the hash of an operation whose operands may be grouped and ordered in any way."""
    return np.where(a == b, a, unfolded(name, folded(name, a) + folded(name, b)))


def constants(numbers: NDArray[np.float64]) -> Hashes:
    """Return the hashes of float constants by their values; all NaNs are one."""
    numbers = np.where(np.isnan(numbers), np.nan, numbers)
    return mix(numbers.view(np.uint64) + word("constant"))


def are_zero(data: Hashes) -> NDArray[np.bool_]:
    """Return which elements are zero, of any sign."""
    positive, negative = (data == ZERO) | (data == SIGNED_ZERO), (data == ~ZERO) | (data == ~SIGNED_ZERO)
    zeros: NDArray[np.bool_] = positive | negative
    return zeros


def constant(number: float) -> np.uint64:
    """Return the hash of one float constant."""
    result: np.uint64 = constants(np.array([number], np.float64))[0]
    return result


ZERO, ONE = constant(0.0), constant(1.0)
# Zero times a number: its sign is that of the number, so it is not always the same bits as ZERO.
SIGNED_ZERO = word("a zero with the sign of a number")
INFINITY, MINUS_INFINITY, NAN = constant(float("inf")), constant(float("-inf")), constant(float("nan"))
