"""Addresses: a pointer plus offsets, also in AMD's form of an access, `%pointer[%offsets]`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from irscope.interpreting.runtime_values import Buffer, Item, Results, RuntimeValue, size_in_bytes
from irscope.interpreting.stage_program import Op
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
