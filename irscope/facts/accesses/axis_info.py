"""Axis info: how contiguous, divisible and constant the values of a tensor are along each dimension.

Implements Triton's AxisInfoAnalysis (lib/Analysis/AxisInfo.cpp) and its rule for each operation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd

from irscope.model.records import FrozenValue

_TENSOR = re.compile(r"tensor<((?:\d{1,9}x)+)")
_POINTEE = re.compile(r"ptr<(?:(!)|[a-z]{1,2}(\d{1,3}))")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AxisInfo(FrozenValue):
    """One entry per dimension (one for a scalar).

    Runs of `contiguity` elements count up by one; the first of each run, or each element if there are no
    runs, is a multiple of `divisibility` (bytes for pointers); runs of `constancy` elements are equal.
    `constant` is the value if all elements have the same known value.
    """

    shape: tuple[int, ...]
    contiguity: tuple[int, ...]
    divisibility: tuple[int, ...]
    constancy: tuple[int, ...]
    constant: int | None = None

    def hinted(self, name: str, given: Sequence[int]) -> AxisInfo:
        """Add the "contiguity", "divisibility" or "constancy" that the author of the kernel asserts."""
        properties = {
            "contiguity": self.contiguity,
            "divisibility": self.divisibility,
            "constancy": self.constancy,
        }
        properties[name] = tuple(map(max, properties[name], given))
        return AxisInfo(self.shape, constant=self.constant, **properties)

    def join(self, other: AxisInfo) -> AxisInfo:
        """Return the info that holds for either of two values."""
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
    """Return the info of a value if only its shape is known."""
    ones = (1,) * len(shape)
    return AxisInfo(shape, ones, ones, ones)


def scalar(divisibility: int) -> AxisInfo:
    """Return the info of a scalar with this divisibility."""
    return AxisInfo((1,), (1,), (divisibility,), (1,))


def shape_of(text: str) -> tuple[int, ...]:
    """Return the shape of the last tensor type in an operation's text, or (1,) if there are none."""
    shapes = shapes_of(text[text.rfind(" -> ") + 1 :])
    return shapes[-1] if shapes else (1,)


def shapes_of(text: str) -> list[tuple[int, ...]]:
    """Return the shapes of all tensor types in a text."""
    return [tuple(map(int, shape[:-1].split("x"))) for shape in _TENSOR.findall(text)]


def pointee_bytes(text: str) -> int:
    """Return the size in bytes of what the first pointer type in `text` points to, or 1."""
    match = _POINTEE.search(text)
    if match is None:
        return 1
    return 8 if match[1] else max(1, int(match[2]) // 8)


def gcds(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """Return the greatest common divisors, dimension by dimension."""
    return tuple(map(gcd, a, b))


# The divisibility of 0, and the maximum that is distinguished.
_MOST = 1 << 62
_CONSTANT = re.compile(r"arith\.constant (?:dense<)?(-?\d{1,20}\b(?!\.)|true|false)")
_NUMBER = {name: re.compile(rf"\b{name} = (-?\d{{1,18}}) : ") for name in ("start", "axis")}
_HINT = re.compile(r"tt\.(contiguity|divisibility|constancy) = dense<\[?([\d, ]{1,99})\]?>")
_PREDICATE = re.compile(r"arith\.cmpi (\w+),")

_Rule = Callable[[str, tuple[int, ...], Sequence[AxisInfo]], AxisInfo | None]


def transfer(opcode: str, text: str, operands: Sequence[AxisInfo | None]) -> AxisInfo:
    """Return the info of the result of an operation. `text` is the operation with its types."""
    shape = shape_of(text)
    rule = _RULES.get(opcode)
    known_operands = [operand for operand in operands if operand is not None]
    result = None
    if rule is not None and len(known_operands) == len(operands):
        result = rule(text, shape, known_operands)
    return _with_hints(text, result or unknown(shape))


def _with_hints(text: str, info: AxisInfo) -> AxisInfo:
    """Apply the attributes that `tl.multiple_of`, `tl.max_contiguous` and `tl.max_constancy` leave."""
    if "tt." not in text:
        return info
    for name, numbers in _HINT.findall(text):
        values = [int(number) for number in numbers.split(",") if number.strip()]
        hint_values = values * len(info.shape) if len(values) == 1 else values
        if len(hint_values) == len(info.shape):
            info = info.hinted(name, hint_values)
    return info


def _power_of_two(value: int) -> int:
    """Return the highest power of two that divides `value`."""
    return value & -value if value else _MOST


def _bounded(constant: int) -> int | None:
    """Return a constant, or None if it exceeds 64 bits: constants must not grow without end."""
    return constant if abs(constant) <= _MOST else None


def integer_constant(text: str) -> int | None:
    """Return the value of an `arith.constant` of integers or booleans, or None for another operation."""
    match = _CONSTANT.match(text)
    if match is None:
        return None
    value = {"true": 1, "false": 0}.get(match[1])
    return int(match[1]) if value is None else value


def _constant(text: str, shape: tuple[int, ...], _: Sequence[AxisInfo]) -> AxisInfo | None:
    value = integer_constant(text)
    if value is None:
        return None
    return AxisInfo(shape, (1,) * len(shape), (_power_of_two(value),) * len(shape), shape, value)


def _range(text: str, shape: tuple[int, ...], _: Sequence[AxisInfo]) -> AxisInfo | None:
    match = _NUMBER["start"].search(text)
    if match is None or len(shape) != 1:
        return None
    return AxisInfo(shape, shape, (_power_of_two(int(match[1])),), (1,))


def _same(_: str, shape: tuple[int, ...], source: AxisInfo) -> AxisInfo | None:
    return source if source.shape == shape else None


def _splat(_: str, shape: tuple[int, ...], source: AxisInfo) -> AxisInfo:
    ones = (1,) * len(shape)
    return AxisInfo(shape, ones, source.divisibility[:1] * len(shape), shape, source.constant)


def _expand(text: str, shape: tuple[int, ...], source: AxisInfo) -> AxisInfo | None:
    match = _NUMBER["axis"].search(text)
    axis = int(match[1]) if match else -1
    if not 0 <= axis < len(shape) or len(shape) != len(source.shape) + 1:
        return None
    divisors = [
        1 if run > 1 else divisor for run, divisor in zip(source.contiguity, source.divisibility, strict=True)
    ]
    divisor = gcd(*divisors) if source.constant is None else _power_of_two(source.constant)

    def inserted(values: tuple[int, ...], new: int) -> tuple[int, ...]:
        return (*values[:axis], new, *values[axis:])

    return AxisInfo(
        shape,
        inserted(source.contiguity, 1),
        inserted(source.divisibility, divisor),
        inserted(source.constancy, 1),
        source.constant,
    )


def _broadcast(_: str, shape: tuple[int, ...], source: AxisInfo) -> AxisInfo | None:
    if len(shape) != len(source.shape):
        return None
    spread = [size == 1 for size in source.shape]
    return AxisInfo(
        shape,
        tuple(1 if new else run for new, run in zip(spread, source.contiguity, strict=True)),
        source.divisibility,
        tuple(size if new else run for new, size, run in zip(spread, shape, source.constancy, strict=True)),
        source.constant,
    )


def _unary(rule: Callable[[str, tuple[int, ...], AxisInfo], AxisInfo | None]) -> _Rule:
    """Make a rule for an operation with one operand of any shape."""

    def checked(text: str, shape: tuple[int, ...], operands: Sequence[AxisInfo]) -> AxisInfo | None:
        return rule(text, shape, operands[0]) if len(operands) == 1 else None

    return checked


def _binary(rule: Callable[[str, AxisInfo, AxisInfo], AxisInfo]) -> _Rule:
    """Make a rule for an operation with two operands of the same shape."""

    def checked(text: str, shape: tuple[int, ...], operands: Sequence[AxisInfo]) -> AxisInfo | None:
        if len(operands) != 2 or any(operand.shape != shape for operand in operands):
            return None
        return rule(text, *operands)

    return checked


def _add(text: str, a: AxisInfo, b: AxisInfo, sign: int = 1) -> AxisInfo:
    unit = pointee_bytes(text) if text.startswith("tt.addptr") else 1
    contiguity = gcds(a.contiguity, b.constancy)
    if sign > 0:
        contiguity = tuple(map(max, contiguity, gcds(a.constancy, b.contiguity)))
    return AxisInfo(
        a.shape,
        contiguity,
        tuple(gcd(x, y * unit) for x, y in zip(a.divisibility, b.divisibility, strict=True)),
        gcds(a.constancy, b.constancy),
        None if a.constant is None or b.constant is None else _bounded(a.constant + sign * b.constant * unit),
    )


def _subtract(text: str, a: AxisInfo, b: AxisInfo) -> AxisInfo:
    return _add(text, a, b, -1)


def _multiply(_: str, a: AxisInfo, b: AxisInfo) -> AxisInfo:
    """Multiply: by anything but 1, runs break, and only the first element of a run is divisible."""
    ones = (1,) * len(a.shape)
    contiguity = a.contiguity if b.constant == 1 else b.contiguity if a.constant == 1 else ones

    def divisors(x: AxisInfo, other: AxisInfo) -> list[int]:
        return [
            1 if run > 1 and other.constant != 1 else divisor
            for run, divisor in zip(x.contiguity, x.divisibility, strict=True)
        ]

    products = (x * y for x, y in zip(divisors(a, b), divisors(b, a), strict=True))
    return AxisInfo(
        a.shape,
        contiguity,
        tuple(min(product, _MOST) for product in products),
        gcds(a.constancy, b.constancy),
        None if a.constant is None or b.constant is None else _bounded(a.constant * b.constant),
    )


def _divide(_: str, a: AxisInfo, b: AxisInfo) -> AxisInfo:
    if b.constant == 1:
        return a
    divisor = b.constant or 0
    power = divisor > 0 and _power_of_two(divisor) == divisor
    equal = [
        max(gcd(same, divisor_run), gcd(run, x, y) if run > 1 and divisor_run == size else 1)
        for run, same, divisor_run, x, y, size in zip(
            a.contiguity, a.constancy, b.constancy, a.divisibility, b.divisibility, a.shape, strict=True
        )
    ]
    divisibility = [
        max(1, x // divisor) if power and run == 1 else 1
        for run, x in zip(a.contiguity, a.divisibility, strict=True)
    ]
    return AxisInfo(a.shape, (1,) * len(a.shape), tuple(divisibility), tuple(equal))


def _remainder(_: str, a: AxisInfo, b: AxisInfo) -> AxisInfo:
    runs = [
        gcd(run, x, y) if run > 1 and divisor_run == size else 1
        for run, divisor_run, x, y, size in zip(
            a.contiguity, b.constancy, a.divisibility, b.divisibility, a.shape, strict=True
        )
    ]
    return AxisInfo(
        a.shape, tuple(runs), gcds(a.divisibility, b.divisibility), gcds(a.constancy, b.constancy)
    )


def _compare(text: str, a: AxisInfo, b: AxisInfo) -> AxisInfo:
    """Compare: a run and a constant change the result only at or next to a common multiple of both."""
    match = _PREDICATE.match(text)
    predicate = match[1][-2:] if match else ""
    constancy = []
    for dim, size in enumerate(a.shape):
        same = gcd(a.constancy[dim], b.constancy[dim])
        common = gcd(a.divisibility[dim], b.divisibility[dim])
        if a.contiguity[dim] == b.constancy[dim] == size and predicate in ("lt", "ge"):
            same = max(same, gcd(size, common))
        if a.constancy[dim] == b.contiguity[dim] == size and predicate in ("gt", "le"):
            same = max(same, gcd(size, common))
        constancy.append(same)
    ones = (1,) * len(a.shape)
    return AxisInfo(a.shape, ones, ones, tuple(constancy))


def _logic(_: str, a: AxisInfo, b: AxisInfo) -> AxisInfo:
    ones = (1,) * len(a.shape)
    return AxisInfo(a.shape, ones, ones, gcds(a.constancy, b.constancy))


def _extreme(_: str, a: AxisInfo, b: AxisInfo) -> AxisInfo:
    ones = (1,) * len(a.shape)
    return AxisInfo(a.shape, ones, gcds(a.divisibility, b.divisibility), gcds(a.constancy, b.constancy))


_ADD, _MULTIPLY, _DIVIDE = _binary(_add), _binary(_multiply), _binary(_divide)
_REMAINDER, _LOGIC, _EXTREME = _binary(_remainder), _binary(_logic), _binary(_extreme)
_RULES: dict[str, _Rule] = {
    "arith.constant": _constant,
    "tt.make_range": _range,
    "tt.splat": _unary(_splat),
    "tt.expand_dims": _unary(_expand),
    "tt.broadcast": _unary(_broadcast),
    "arith.addi": _ADD,
    "tt.addptr": _ADD,
    "arith.subi": _binary(_subtract),
    "arith.muli": _MULTIPLY,
    "arith.divsi": _DIVIDE,
    "arith.divui": _DIVIDE,
    "arith.remsi": _REMAINDER,
    "arith.remui": _REMAINDER,
    "arith.cmpi": _binary(_compare),
    "arith.andi": _LOGIC,
    "arith.ori": _LOGIC,
    "arith.xori": _LOGIC,
    **dict.fromkeys(("arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui"), _EXTREME),
    **dict.fromkeys(
        ("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui"),
        _unary(_same),
    ),
    **dict.fromkeys(("tt.bitcast", "tt.ptr_to_int", "tt.int_to_ptr"), _unary(_same)),
}
