"""Addresses: a pointer plus offsets, also in AMD's form of an access, `%pointer[%offsets]`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from irscope.interpreting.runtime_values import Buffer, Item, Results, RuntimeValue, size_in_bytes
from irscope.interpreting.stage_program import Op, Type
from irscope.interpreting.unanswered import UnansweredError

if TYPE_CHECKING:
    from irscope.interpreting.stage_interpreter import Handler, StageInterpreter


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


def at_offsets(handler: Handler) -> Handler:
    """Return the handler of AMD's form of an access, whose address is `%pointer[%offsets]`."""

    def access(machine: StageInterpreter, step: Op, operands: Sequence[Item]) -> Results:
        values = [item for item in operands if isinstance(item, RuntimeValue)]
        place = next(n for n, value in enumerate(values) if value.type.element.startswith("!tt.ptr"))
        pointer, offsets = values[place : place + 2]
        if "stride" in step.text:
            raise UnansweredError(f"{step.opcode} with a stride", step)
        type_ = Type(pointer.type.element, offsets.type.shape, offsets.type.encoding, offsets.type.kind)
        (address,) = addptr(
            machine, replace(step, opcode="tt.addptr", text="", types=(type_,)), [pointer, offsets]
        )
        buffers = [item for item in operands if isinstance(item, Buffer)]
        return handler(machine, step, [address, *buffers, *values[:place], *values[place + 2 :]])

    return access
