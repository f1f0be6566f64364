"""Axis info: how contiguous, divisible and constant the values of a tensor are along each dimension.

Implements Triton's AxisInfoAnalysis (lib/Analysis/AxisInfo.cpp) and its rule for each operation.
Axis info of every value of a TTIR module: a forward data-flow analysis, with fixed points for loops.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import gcd
from typing import NamedTuple

from irscope.diff.def_use import Definition, definitions
from irscope.languages.document import Document, Operation
from irscope.model.records import frozen

_TENSOR = re.compile(r"tensor<((?:\d{1,9}x)+)")
_POINTEE = re.compile(r"ptr<(?:(!)|[a-z]{1,2}(\d{1,3}))")


class Axis(NamedTuple):
    """One dimension of a tensor, or a scalar.

    Runs of `contiguity` elements count up by one; the first of each run, or each element if there are no
    runs, is a multiple of `divisibility` (bytes for pointers); runs of `constancy` elements are equal.
    """

    size: int
    contiguity: int = 1
    divisibility: int = 1
    constancy: int = 1


@frozen
class AxisInfo:
    """The dimensions of a value (one for a scalar).

    `constant` is the value if all elements have the same known value.
    """

    axes: tuple[Axis, ...]
    constant: int | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the size of each dimension."""
        return tuple(axis.size for axis in self.axes)

    def join(self, other: AxisInfo) -> AxisInfo:
        """Return the info that holds for either of two values."""
        if self.shape != other.shape:
            return unknown(self.shape)
        return self.with_other(other, _joined, self.constant if self.constant == other.constant else None)

    def with_other(
        self, other: AxisInfo, rule: Callable[[Axis, Axis], Axis], constant: int | None = None
    ) -> AxisInfo:
        """Combine two values of one shape, dimension by dimension."""
        return AxisInfo(tuple(map(rule, self.axes, other.axes)), constant)


def _joined(x: Axis, y: Axis) -> Axis:
    return Axis(x.size, *map(gcd, x[1:], y[1:]))


def unknown(shape: tuple[int, ...]) -> AxisInfo:
    """Return the info of a value if only its shape is known."""
    return AxisInfo(tuple(map(Axis, shape)))


def scalar(divisibility: int) -> AxisInfo:
    """Return the info of a scalar with this divisibility."""
    return AxisInfo((Axis(1, divisibility=divisibility),))


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


# The divisibility of 0, and the maximum that is distinguished.
_MOST = 1 << 62
_CONSTANT = re.compile(r"arith\.constant (?:dense<)?(-?\d{1,20}\b(?!\.)|true|false)")
# The integer attributes of an operation.
NUMBERS = {name: re.compile(rf"\b{name} = (-?\d{{1,18}}) : ") for name in ("start", "end", "axis")}
_HINT = re.compile(r"tt\.(contiguity|divisibility|constancy) = dense<\[?([\d, ]{1,99})\]?>")
_PREDICATE = re.compile(r"arith\.cmpi (\w+),")


def transfer(opcode: str, text: str, operands: Sequence[AxisInfo | None]) -> AxisInfo:
    """Return the info of the result of an operation. `text` is the operation with its types."""
    shape = shape_of(text)
    result = None
    match operands:
        case [] if opcode in _SOURCES:
            result = _SOURCES[opcode](text, shape)
        case [AxisInfo() as source] if opcode in _UNARY:
            result = _UNARY[opcode](text, shape, source)
        case [AxisInfo() as a, AxisInfo() as b] if opcode in _BINARY and a.shape == b.shape == shape:
            result = _BINARY[opcode](text, a, b)
    return _with_hints(text, result or unknown(shape))


def _with_hints(text: str, info: AxisInfo) -> AxisInfo:
    """Apply the attributes that `tl.multiple_of`, `tl.max_contiguous` and `tl.max_constancy` leave."""
    for name, numbers in _HINT.findall(text) if "tt." in text else ():
        values = [int(number) for number in numbers.split(",") if number.strip()]
        hints = values * len(info.axes) if len(values) == 1 else values
        if len(hints) == len(info.axes):
            axes = (
                axis._replace(**{name: max(getattr(axis, name), hint)})
                for axis, hint in zip(info.axes, hints, strict=True)
            )
            info = AxisInfo(tuple(axes), info.constant)
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


def _constant(text: str, shape: tuple[int, ...]) -> AxisInfo | None:
    value = integer_constant(text)
    if value is None:
        return None
    return AxisInfo(tuple(Axis(size, 1, _power_of_two(value), size) for size in shape), value)


def _range(text: str, shape: tuple[int, ...]) -> AxisInfo | None:
    match = NUMBERS["start"].search(text)
    if match is None or len(shape) != 1:
        return None
    return AxisInfo((Axis(shape[0], shape[0], _power_of_two(int(match[1]))),))


def _same(_: str, shape: tuple[int, ...], source: AxisInfo) -> AxisInfo | None:
    return source if source.shape == shape else None


def _splat(_: str, shape: tuple[int, ...], source: AxisInfo) -> AxisInfo:
    divisibility = source.axes[0].divisibility
    return AxisInfo(tuple(Axis(size, 1, divisibility, size) for size in shape), source.constant)


def _expand(text: str, shape: tuple[int, ...], source: AxisInfo) -> AxisInfo | None:
    match = NUMBERS["axis"].search(text)
    position = int(match[1]) if match else -1
    if not 0 <= position < len(shape) or len(shape) != len(source.axes) + 1:
        return None
    divisors = [1 if axis.contiguity > 1 else axis.divisibility for axis in source.axes]
    divisor = gcd(*divisors) if source.constant is None else _power_of_two(source.constant)
    added = Axis(shape[position], divisibility=divisor)
    return AxisInfo((*source.axes[:position], added, *source.axes[position:]), source.constant)


def _broadcast(_: str, shape: tuple[int, ...], source: AxisInfo) -> AxisInfo | None:
    if len(shape) != len(source.axes):
        return None
    axes = (
        Axis(size, 1, axis.divisibility, size) if axis.size == 1 else axis._replace(size=size)
        for axis, size in zip(source.axes, shape, strict=True)
    )
    return AxisInfo(tuple(axes), source.constant)


def _add(text: str, a: AxisInfo, b: AxisInfo, sign: int = 1) -> AxisInfo:
    unit = pointee_bytes(text) if text.startswith("tt.addptr") else 1

    def sums(x: Axis, y: Axis) -> Axis:
        runs = gcd(x.contiguity, y.constancy)
        if sign > 0:
            runs = max(runs, gcd(x.constancy, y.contiguity))
        return Axis(x.size, runs, gcd(x.divisibility, y.divisibility * unit), gcd(x.constancy, y.constancy))

    if a.constant is None or b.constant is None:
        return a.with_other(b, sums)
    return a.with_other(b, sums, _bounded(a.constant + sign * b.constant * unit))


def _subtract(text: str, a: AxisInfo, b: AxisInfo) -> AxisInfo:
    return _add(text, a, b, -1)


def _multiply(_: str, a: AxisInfo, b: AxisInfo) -> AxisInfo:
    """Multiply: by anything but 1, runs break, and only the first element of a run is divisible."""

    def products(x: Axis, y: Axis) -> Axis:
        runs = x.contiguity if b.constant == 1 else y.contiguity if a.constant == 1 else 1
        left = 1 if x.contiguity > 1 and b.constant != 1 else x.divisibility
        right = 1 if y.contiguity > 1 and a.constant != 1 else y.divisibility
        return Axis(x.size, runs, min(left * right, _MOST), gcd(x.constancy, y.constancy))

    if a.constant is None or b.constant is None:
        return a.with_other(b, products)
    return a.with_other(b, products, _bounded(a.constant * b.constant))


def _common(x: Axis, y: Axis) -> int:
    """Return how many elements of a run a divisor that is equal along the whole axis treats alike."""
    whole = x.contiguity > 1 and y.constancy == x.size
    return gcd(x.contiguity, x.divisibility, y.divisibility) if whole else 1


def _divide(_: str, a: AxisInfo, b: AxisInfo) -> AxisInfo:
    if b.constant == 1:
        return a
    divisor = b.constant or 0
    power = divisor > 0 and _power_of_two(divisor) == divisor

    def quotients(x: Axis, y: Axis) -> Axis:
        divisibility = max(1, x.divisibility // divisor) if power and x.contiguity == 1 else 1
        return Axis(x.size, 1, divisibility, max(gcd(x.constancy, y.constancy), _common(x, y)))

    return a.with_other(b, quotients)


def _remainder(_: str, a: AxisInfo, b: AxisInfo) -> AxisInfo:
    return a.with_other(b, lambda x, y: _joined(x, y)._replace(contiguity=_common(x, y)))


def _compare(text: str, a: AxisInfo, b: AxisInfo) -> AxisInfo:
    """Compare: a run and a constant change the result only at or next to a common multiple of both."""
    match = _PREDICATE.match(text)
    predicate = match[1][-2:] if match else ""

    def results(x: Axis, y: Axis) -> Axis:
        same = gcd(x.constancy, y.constancy)
        common = gcd(x.size, x.divisibility, y.divisibility)
        if x.contiguity == y.constancy == x.size and predicate in ("lt", "ge"):
            same = max(same, common)
        if x.constancy == y.contiguity == x.size and predicate in ("gt", "le"):
            same = max(same, common)
        return Axis(x.size, constancy=same)

    return a.with_other(b, results)


def _logic(_: str, a: AxisInfo, b: AxisInfo) -> AxisInfo:
    return a.with_other(b, lambda x, y: Axis(x.size, constancy=gcd(x.constancy, y.constancy)))


def _extreme(_: str, a: AxisInfo, b: AxisInfo) -> AxisInfo:
    return a.with_other(b, lambda x, y: _joined(x, y)._replace(contiguity=1))


# The rules of operations without operands, with one, and with two of the same shape as the result.
_SOURCES: Mapping[str, Callable[[str, tuple[int, ...]], AxisInfo | None]] = {
    "arith.constant": _constant,
    "tt.make_range": _range,
}
_UNARY: Mapping[str, Callable[[str, tuple[int, ...], AxisInfo], AxisInfo | None]] = {
    "tt.splat": _splat,
    "tt.expand_dims": _expand,
    "tt.broadcast": _broadcast,
    **dict.fromkeys(
        (
            "arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui",
            "tt.bitcast", "tt.ptr_to_int", "tt.int_to_ptr",
        ),
        _same,
    ),
}  # fmt: skip
_BINARY: Mapping[str, Callable[[str, AxisInfo, AxisInfo], AxisInfo]] = {
    **dict.fromkeys(("arith.addi", "tt.addptr"), _add),
    "arith.subi": _subtract,
    "arith.muli": _multiply,
    **dict.fromkeys(("arith.divsi", "arith.divui"), _divide),
    **dict.fromkeys(("arith.remsi", "arith.remui"), _remainder),
    "arith.cmpi": _compare,
    **dict.fromkeys(("arith.andi", "arith.ori", "arith.xori"), _logic),
    **dict.fromkeys(("arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui"), _extreme),
}


# The divisibility that the JIT detects in an argument that it specializes: `tt.divisibility = 16`.
ALIGNED = 16
# Each iteration lowers a gcd, so a few are enough; if not, loop-carried values are unknown.
_MAX_ITERATIONS = 10
_DIVISIBILITY = re.compile(r"tt\.divisibility = (\d{1,9})\b")
_TYPE = re.compile(r": (!tt\.ptr|i\d+\b)?")
# Operands before the loop-carried ones in `scf.for %i = %from to %to step %by iter_args(%x = %first, ...)`.
_BOUNDS = 3

_Infos = dict[Definition, AxisInfo]
# The parameters that are taken to be divisible by 16, and the one that is taken to be 1.
_Assumed = tuple[frozenset[Definition], Definition | None]


class ParameterAxis(NamedTuple):
    """A parameter of a function in TTIR: its name, kind and known divisibility."""

    name: str
    pointer: bool
    integer: bool
    divisibility: int


class AxisFlow:
    """The axis info of a TTIR document, as it is or as if more parameters were aligned."""

    def __init__(self, ttir: Document) -> None:
        self.document = ttir
        self.operations = ttir.operations
        self.sources = definitions(ttir)
        self._lines = ttir.lines
        self._known: dict[_Assumed, Mapping[Definition, AxisInfo]] = {}

    @cached_property
    def parameters(self) -> Mapping[Definition, ParameterAxis]:
        """Return the parameters of all functions."""
        by_definition: dict[Definition, ParameterAxis] = {}
        for index, operation in enumerate(self.operations):
            if operation.opcode == "tt.func":
                read = _parameters(operation, self._lines[operation.line])
                by_definition.update(
                    {Definition(index, True, position): parameter for position, parameter in enumerate(read)}
                )
        return by_definition

    def infos(
        self, aligned: frozenset[Definition] = frozenset(), one: Definition | None = None
    ) -> Mapping[Definition, AxisInfo]:
        """Return the axis info by value; values without one are unknown.

        It is as if the parameters `aligned` were divisible by 16, and as if the parameter `one` were 1.
        """
        if (aligned, one) not in self._known:
            self._known[aligned, one] = self._flow(aligned, one)
        return self._known[aligned, one]

    def origins(self, value: Definition, pointer: bool = False) -> frozenset[Definition]:
        """Return the parameters that a value depends on; `pointer`: only those a pointer points into."""
        met, pending = {value}, [value]
        while pending:
            current = pending.pop()
            opcode = self.operations[current.owner].opcode
            if pointer and opcode == "tt.load":
                continue
            before = self._leading_to(current)
            for source in before[:1] if pointer and opcode == "tt.addptr" else before:
                if source is not None and source not in met:
                    met.add(source)
                    pending.append(source)
        return frozenset(met & self.parameters.keys())

    def _leading_to(self, value: Definition) -> tuple[Definition | None, ...]:
        """Return the values that a value is computed from; for a loop-carried value, its initial value."""
        before = tuple(self.sources[value.owner])
        if self.operations[value.owner].opcode != "scf.for":
            return before
        carried = value.position - value.argument
        return before[:_BOUNDS] if carried < 0 else before[_BOUNDS + carried : _BOUNDS + carried + 1]

    def _flow(self, aligned: frozenset[Definition], one: Definition | None) -> Mapping[Definition, AxisInfo]:
        parameter_infos = {
            value: scalar(ALIGNED if value in aligned else parameter.divisibility)
            for value, parameter in self.parameters.items()
        }
        if one is not None:
            parameter_infos[one] = AxisInfo(scalar(1).axes, constant=1)
        carried: _Infos = {}  # loop-carried values, as far as the iterations so far know them
        infos: _Infos = {}
        for number in range(_MAX_ITERATIONS):
            before = dict(carried)
            infos = dict(parameter_infos)
            for index in range(len(self.operations)):
                self._step(index, infos, carried)
            if carried == before:
                break
            if number == _MAX_ITERATIONS - 2:
                carried |= {value: unknown(info.shape) for value, info in carried.items()}
        return infos

    def _step(self, index: int, infos: _Infos, carried: _Infos) -> None:
        operation = self.operations[index]
        operands = [None if source is None else infos.get(source) for source in self.sources[index]]
        if operation.opcode == "scf.for":
            _enter_loop(index, operation, operands, infos, carried)
        elif operation.opcode == "scf.yield" and operation.parent >= 0:
            self._yield(operation.parent, operands, infos, carried)
        elif len(operation.results) == 1 and not operation.opcode.startswith("scf."):
            text = operation.normalized.partition(" = ")[2]
            infos[Definition(index, False, 0)] = transfer(operation.opcode, text, operands)

    def _yield(self, owner: int, operands: list[AxisInfo | None], infos: _Infos, carried: _Infos) -> None:
        """Propagate values to the head and the results of a loop, or to the results of an `scf.if`."""
        opcode = self.operations[owner].opcode
        for number, info in enumerate(operands):
            result = Definition(owner, False, number)
            if opcode == "scf.for":
                argument = Definition(owner, True, number + 1)
                start = carried.get(argument)
                if start is not None:
                    carried[argument] = infos[result] = start.join(info or unknown(start.shape))
            elif opcode == "scf.if":
                yielded = info or unknown((1,))
                infos[result] = infos[result].join(yielded) if result in infos else yielded


def _enter_loop(
    index: int, loop: Operation, operands: list[AxisInfo | None], infos: _Infos, carried: _Infos
) -> None:
    """Initialize the loop's counter and carried values, joined with what earlier iterations found."""
    first, step = (operands[0], operands[2]) if len(operands) >= _BOUNDS else (None, None)
    if loop.arguments and first and step:
        infos[Definition(index, True, 0)] = scalar(first.join(step).axes[0].divisibility)
    for number, info in enumerate(operands[_BOUNDS:], 1):
        argument = Definition(index, True, number)
        if info is not None:
            infos[argument] = carried[argument] = info.join(carried.get(argument, info))


def _parameters(function: Operation, header: str) -> list[ParameterAxis]:
    """Parse the parameters of a `tt.func` from its line: `%n: i32 {tt.divisibility = 16 : i32} ...`."""
    starts = []
    position = 0
    for name in function.arguments:
        position = header.find(f"{name}:", position)
        if position < 0:
            break
        position += len(name)
        starts.append(position)
    parameters = []
    for name, start, end in zip(function.arguments, starts, [*starts[1:], len(header)], strict=False):
        text = header[start:end]
        kind, divisor = _TYPE.match(text), _DIVISIBILITY.search(text)
        word = (kind and kind[1]) or ""
        divisibility = int(divisor[1]) if divisor else 1
        parameters.append(
            ParameterAxis(name.lstrip("%"), word == "!tt.ptr", word.startswith("i"), divisibility)
        )
    return parameters
