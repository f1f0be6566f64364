"""Classifies the instructions of an assembly text in one pass over the lines, without parsing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from irscope.model.records import frozen, frozen_with_dict


# Compared and hashed often: not a FrozenValue, which is slower at that.
@frozen
class InstructionKind:
    """The effect of an instruction.

    `kind` is "global load", "global store", "global atomic", the same for "shared", "scalar load" (one of
    global memory for a whole wave), "local load", "local store", "tensor memory load", "tensor memory
    store", "matrix" or "async copy". `name` is the
    instruction where its kind has several: a matrix instruction's kind and shape, how an async copy is
    made, `ldmatrix` among shared loads, the operation and type of an atomic. `width` is the bytes that one
    instruction moves per thread (0: none, or not in the opcode). `scope` and `order` are those of an
    atomic: "cta", "cluster", "gpu" or "sys", and "relaxed", "acquire", "release" or "acq_rel"; "" if the
    instruction does not say.
    """

    kind: str
    name: str = ""
    width: int = 0
    scope: str = ""
    order: str = ""

    def text(self, width: str = "{} B") -> str:
        """Return `ldmatrix 16 B`, `red.add.f32 4 B gpu relaxed`; `width` formats the number of bytes."""
        parts = [self.name, width.format(self.width) if self.width else "", self.scope, self.order]
        return " ".join(part for part in parts if part) or width.format(0)


@frozen_with_dict
class Scan:
    """How many instructions a text has, and the lines (index from 0) of those that do something."""

    instructions: int
    lines: Mapping[InstructionKind, list[int]]


# Opcode and line -> the effects of the instruction.
KindsOf = Callable[[str, str], tuple[InstructionKind, ...]]


@frozen_with_dict
class InstructionSet:
    """How to recognize instructions in an assembly text.

    `pattern` matches the start of a line that holds an instruction; its first group is the opcode.
    `kinds` says what the instruction with this opcode on this line does: none,
    one or two effects. If that depends on the rest of the text, `new_reader` makes such a function for each
    text.
    """

    pattern: re.Pattern[str]
    kinds: KindsOf
    new_reader: Callable[[str], KindsOf] | None = None


def scan(text: str, instruction_set: InstructionSet) -> Scan:
    """Classify the instructions of `text` by kind, in one pass over its lines."""
    match_line = instruction_set.pattern.match
    kinds_of = instruction_set.new_reader(text) if instruction_set.new_reader else instruction_set.kinds
    instructions = 0
    lines: dict[InstructionKind, list[int]] = {}
    for index, line in enumerate(text.split("\n")):
        match = match_line(line)
        if match is None:
            continue
        instructions += 1
        for kind in kinds_of(match[1], line):
            lines.setdefault(kind, []).append(index)
    return Scan(instructions, lines)
