"""Classifies the instructions of an assembly text in one pass over the lines, without parsing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InstructionKind:
    """The effect of an instruction.

    `kind` is "global load", "global store", "shared load", "shared store", "local load", "local store",
    "matrix", "async copy" or "ldmatrix". `name` is a matrix instruction's kind and shape, or how an
    async copy is made. `width` is the bytes that one instruction moves per thread (0: none).
    """

    kind: str
    name: str = ""
    width: int = 0


@dataclass(frozen=True)
class Scan:
    """How many instructions a text has, and the lines (index from 0) of those that do something."""

    instructions: int
    lines: Mapping[InstructionKind, list[int]]


@dataclass(frozen=True)
class InstructionSet:
    """How to recognize instructions in an assembly text.

    `pattern` matches the start of a line that holds an instruction; its first group is the opcode.
    `kinds` says what the instruction with this opcode on this line does: none,
    one or two effects.
    """

    pattern: re.Pattern[str]
    kinds: Callable[[str, str], tuple[InstructionKind, ...]]


def scan(text: str, instruction_set: InstructionSet) -> Scan:
    """The instructions of `text` by kind, from one pass over its lines."""
    match_line, kinds_of = instruction_set.pattern.match, instruction_set.kinds
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
