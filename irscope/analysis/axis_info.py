"""Axis info: how contiguous, divisible and constant the values of a tensor are along each dimension.

The facts that Triton's AxisInfoAnalysis derives (lib/Analysis/AxisInfo.cpp); the rules are in axis_rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

_TENSOR = re.compile(r"tensor<((?:\d{1,9}x)+)")
_POINTEE = re.compile(r"ptr<(?:(!)|[a-z]{1,2}(\d{1,3}))")


@dataclass(frozen=True, slots=True)
class AxisInfo:
    """One entry a dimension (one for a scalar).

    Runs of `contiguity` elements count up by one; the first of each run, or each element where there is
    no run, is a multiple of `divisibility` (bytes for pointers); runs of `constancy` elements are
    equal. `constant` is the value where all elements have one that is known.
    """

    shape: tuple[int, ...]
    contiguity: tuple[int, ...]
    divisibility: tuple[int, ...]
    constancy: tuple[int, ...]
    constant: int | None = None

    def hinted(self, name: str, given: Sequence[int]) -> AxisInfo:
        """With what the kernel's author says of "contiguity", "divisibility" or "constancy"."""
        known = {
            "contiguity": self.contiguity,
            "divisibility": self.divisibility,
            "constancy": self.constancy,
        }
        known[name] = tuple(map(max, known[name], given))
        return AxisInfo(self.shape, constant=self.constant, **known)

    def join(self, other: AxisInfo) -> AxisInfo:
        """What is known of a value that is one of two."""
        if self.shape != other.shape:
            return unknown(self.shape)
        return AxisInfo(
            self.shape,
            gcds(self.contiguity, other.contiguity),
            gcds(self.divisibility, other.divisibility),
            gcds(self.constancy, other.constancy),
            self.constant if self.constant == other.constant else None,
        )


def unknown(shape: tuple[int, ...]) -> AxisInfo:
    """Nothing is known but the shape."""
    ones = (1,) * len(shape)
    return AxisInfo(shape, ones, ones, ones)


def scalar(divisibility: int) -> AxisInfo:
    """A scalar that is divisible by so much."""
    return AxisInfo((1,), (1,), (divisibility,), (1,))


def shape_of(text: str) -> tuple[int, ...]:
    """The shape of the last tensor type in an operation's text, (1,) where there is none."""
    shapes = _TENSOR.findall(text[text.rfind(" -> ") + 1 :])
    return tuple(int(size) for size in shapes[-1][:-1].split("x")) if shapes else (1,)


def pointee_bytes(text: str) -> int:
    """The size in bytes of what the first pointer type in `text` points to; 1 if there is none."""
    match = _POINTEE.search(text)
    if match is None:
        return 1
    return 8 if match[1] else max(1, int(match[2]) // 8)


def gcds(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The greatest common divisors, dimension by dimension."""
    return tuple(map(gcd, a, b))
