"""The assembly of the imaginary device: a language, and the kinds of its instructions."""

import re
from functools import cache

from irscope.languages.document import Document, Operation
from irscope.languages.language import Language
from irscope.targets.instructions import InstructionKind, InstructionSet

_INSTRUCTION = re.compile(r"^\t([a-z]\w*)")
_MEMORY = re.compile(r"global_(load|store)_(?:dword|b32)(?:x(\d))?")


def parse(text):
    """One operation per instruction; labels and directives are none."""
    operations = []
    for index, line in enumerate(text.split("\n")):
        if match := _INSTRUCTION.match(line):
            operations.append(Operation(index, index + 1, match[1], line.strip(), function=0))
    return Document("exasm", text, operations, ("kernel",))


def strip_debug(lines):
    """The lines: there is no debug information."""
    return iter(lines)


@cache
def lexer():
    """The Pygments lexer."""
    from pygments.lexers.asm import GasLexer

    return GasLexer


LANGUAGE = Language("exasm", parse, lexer, strip_debug, names_are_values=False, comment=";")


def _kinds(opcode, line):
    match = _MEMORY.match(opcode)
    return (InstructionKind(f"global {match[1]}", width=4 * int(match[2] or 1)),) if match else ()


EXASM = InstructionSet(_INSTRUCTION, _kinds)
