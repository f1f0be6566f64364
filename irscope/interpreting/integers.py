"""The operations on known integers, as MLIR's `arith` defines them, and on addresses.

An address is a pointer plus offsets, also in AMD's form of an access, `%pointer[%offsets]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from irscope.interpreting.runtime_values import (
    Array,
    Buffer,
    Item,
    Results,
    RuntimeValue,
    size_in_bytes,
    unsigned,
    width,
    wrapped,
)
from irscope.interpreting.stage_program import Op, UnansweredError

if TYPE_CHECKING:
    from irscope.interpreting.stage_interpreter import Handler, StageInterpreter

_Binary = Callable[[Array, Array], Array]


def _divide(a: Array, b: Array) -> Array:
    """Divide toward zero; a division by 0, which is undefined, gives 0."""
    safe = np.where(b == 0, 1, b)
    quotient = np.abs(a) // np.abs(safe)
    return np.where(b == 0, 0, np.where((a < 0) == (safe < 0), quotient, -quotient))


def _remainder(a: Array, b: Array) -> Array:
    return np.where(b == 0, 0, a - _divide(a, b) * b)


def _floor(a: Array, b: Array) -> Array:
    return np.where(b == 0, 0, a // np.where(b == 0, 1, b))


def _power(a: Array, b: Array) -> Array:
    return np.power(a, np.maximum(b, 0))


_SIGNED: Mapping[str, _Binary] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.divsi": _divide,
    "arith.remsi": _remainder,
    "arith.floordivsi": _floor,
    "arith.ceildivsi": lambda a, b: -_floor(-a, b),
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.shli": lambda a, b: np.where(b < 64, a << np.minimum(b, 63), 0),
    "arith.shrsi": lambda a, b: a >> np.minimum(b, 63),
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "math.ipowi": _power,
}
_UNSIGNED: Mapping[str, _Binary] = {
    "arith.divui": _floor,
    "arith.remui": lambda a, b: np.where(b == 0, 0, a % np.where(b == 0, 1, b)),
    "arith.ceildivui": lambda a, b: _floor(a + b - 1, b),
    "arith.shrui": lambda a, b: np.where(b < 64, a >> np.minimum(b, 63), 0),
    "arith.maxui": np.maximum,
    "arith.minui": np.minimum,
}
_COMPARISONS: Mapping[str, tuple[_Binary, bool]] = {
    "eq": (np.equal, False),
    "ne": (np.not_equal, False),
    "slt": (np.less, False),
    "sle": (np.less_equal, False),
    "sgt": (np.greater, False),
    "sge": (np.greater_equal, False),
    "ult": (np.less, True),
    "ule": (np.less_equal, True),
    "ugt": (np.greater, True),
    "uge": (np.greater_equal, True),
}


def integer_result(step: Op, operands: Sequence[RuntimeValue]) -> list[RuntimeValue] | None:
    """Return the results of an operation on known integers; None if it is no such operation."""
    opcode, data = step.opcode, [operand.data for operand in operands]
    element = operands[0].type.element if operands else ""
    type_ = step.types[0] if step.types else None
    if type_ is None:
        return None
    result: Array
    if opcode in _SIGNED:
        result = wrapped(_SIGNED[opcode](data[0], data[1]), type_.element)
    elif opcode in _UNSIGNED:
        result = _UNSIGNED[opcode](unsigned(data[0], element), unsigned(data[1], element))
        result = wrapped(result.view(np.int64) if result.dtype == np.uint64 else result, type_.element)
    elif opcode == "arith.cmpi":
        compare, is_unsigned = _COMPARISONS[step.text.split(",")[0].strip()]
        pair = [unsigned(item, element) for item in data] if is_unsigned else data
        result = compare(pair[0], pair[1]).astype(np.int64)
    elif opcode in ("arith.extsi", "arith.index_cast", "arith.trunci"):
        # A true `i1` is -1 as a signed number.
        source = -data[0] if opcode == "arith.extsi" and element == "i1" else data[0]
        result = wrapped(source, type_.element)
    elif opcode in ("arith.extui", "arith.index_castui"):
        result = unsigned(data[0], element).view(np.int64)
    elif opcode in ("tt.int_to_ptr", "tt.ptr_to_int"):
        result = data[0]
    elif opcode in ("arith.mului_extended", "arith.mulsi_extended", "tt.mulhiui"):
        return _extended(step, operands)
    elif opcode == "math.absi":
        result = np.abs(data[0])
    elif opcode == "math.ctpop":
        result = np.bitwise_count(unsigned(data[0], element)).astype(np.int64)
    else:
        return None
    return [RuntimeValue(result, type_)]


def _extended(step: Op, operands: Sequence[RuntimeValue]) -> list[RuntimeValue] | None:
    """Return the low and the high half of a product."""
    element = operands[0].type.element
    bits = width(element)
    if bits == 64:
        return [
            RuntimeValue(half, type_) for half, type_ in zip(_wide(step, operands), step.types, strict=False)
        ]
    signed = step.opcode == "arith.mulsi_extended"
    a, b = (item.data if signed else unsigned(item.data, element).view(np.int64) for item in operands[:2])
    if bits == 32 and not signed:
        product = a.astype(np.uint64) * b.astype(np.uint64)
        halves = [product.view(np.int64), (product >> np.uint64(32)).view(np.int64)]
    else:
        halves = [a * b, (a * b) >> bits]
    halves = [wrapped(half, element) for half in halves]
    if step.opcode == "tt.mulhiui":
        halves = halves[1:]
    return [RuntimeValue(half, type_) for half, type_ in zip(halves, step.types, strict=False)]


def _wide(step: Op, operands: Sequence[RuntimeValue]) -> list[Array]:
    """Return the halves of a product of 64-bit numbers, computed with halves of 32 bits."""
    a, b = (item.data.view(np.uint64) for item in operands[:2])
    mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    low_a, high_a, low_b, high_b = a & mask, a >> shift, b & mask, b >> shift
    middle = high_a * low_b + ((low_a * low_b) >> shift)
    high = high_a * high_b + (middle >> shift) + ((low_a * high_b + (middle & mask)) >> shift)
    halves = [(a * b).view(np.int64), high.view(np.int64)]
    return halves[1:] if step.opcode == "tt.mulhiui" else halves


def addptr(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
    """Return a pointer that is moved by a number of elements."""
    pointer, offset = operands
    if not (isinstance(pointer, RuntimeValue) and isinstance(offset, RuntimeValue)):
        raise UnansweredError("an address that is no number", step)
    match = re.match(r"!tt\.ptr<(.+?)(?:, \d+)?>$", pointer.type.element)
    size = size_in_bytes(match[1] if match else "i8")
    type_ = step.types[0]
    if pointer.known and offset.known:
        return [RuntimeValue(pointer.data + offset.data * size, type_)]
    return [machine.domain.compute(step, [pointer, offset])]


def at_offsets(handler: Handler, place: int = 0) -> Handler:
    """Return the handler of AMD's form of an access; `place` is that of the pointer among the operands."""

    def access(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
        pointer, offsets = operands[place : place + 2]
        if "stride" in step.text or not (
            isinstance(pointer, RuntimeValue) and isinstance(offsets, RuntimeValue)
        ):
            raise UnansweredError(f"{step.opcode} of this form", step)
        type_ = replace(offsets.type, element=pointer.type.element)
        addition = replace(step, opcode="tt.addptr", text="", types=(type_,))
        rest = [*operands[:place], *operands[place + 2 :]]
        rest.sort(key=lambda item: not isinstance(item, Buffer))
        return handler(machine, step, [*addptr(machine, addition, [pointer, offsets]), *rest])

    return access
