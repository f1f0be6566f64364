"""Classifies SASS instructions: memory accesses and matrix instructions."""

from __future__ import annotations

import re
from functools import lru_cache

from irscope.backends.instructions import InstructionKind, InstructionSet

_INSTRUCTION = re.compile(r"[ \t]*/\*[0-9a-f]+\*/[ \t]+(?:@!?\w+[ \t]+)?([A-Z][\w.]*)(?=[ ;]|$)")
# LDGSTS copies from global to shared memory (cp.async).
_ACCESSES = {
    "LDG": "global load",
    "LDGSTS": "global load",
    "STG": "global store",
    "LDL": "local load",
    "STL": "local store",
    "LDS": "shared load",
    "LDSM": "shared load",
    "STS": "shared store",
    "STSM": "shared store",
}
_MATRIX = re.compile(r"(?:[HIBDQO]+GMMA|[HIDBQ]MMA|UTC\w*MMA)$")
_WIDTHS = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}


def _kinds(opcode: str, line: str) -> tuple[InstructionKind, ...]:
    return _of_opcode(opcode)


@lru_cache(maxsize=4096)
def _of_opcode(opcode: str) -> tuple[InstructionKind, ...]:
    """`LDG.E.128`: 16 bytes; without a size, an access has 4 (CUDA Binary Utilities, "Instruction Sets")."""
    mnemonic, *suffixes = opcode.split(".")
    if kind := _ACCESSES.get(mnemonic):
        width = next((_WIDTHS[suffix] for suffix in suffixes if suffix in _WIDTHS), 4)
        return (InstructionKind(kind, width=width),)
    return (InstructionKind("matrix", opcode),) if _MATRIX.match(mnemonic) else ()


SASS = InstructionSet(_INSTRUCTION, _kinds)
