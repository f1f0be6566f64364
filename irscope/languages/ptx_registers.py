"""The virtual registers that PTX instructions read and write, and how many 32-bit registers each takes.

PTX is in a form with any number of registers; ptxas allocates the physical ones, reorders instructions and
recomputes cheap values, so the pressure of PTX is an estimate of the machine code's.
"""

from __future__ import annotations

import re

from irscope.languages.document import Document
from irscope.languages.registers import RegisterAccess, RegisterFile, RegisterUse

_DECLARATION = re.compile(r"\.reg\s+\.(\w+)\s+(%\w+?)<\d+>")
_PREFIX = re.compile(r"(%[a-zA-Z_$]+)")
# A register of 8 or 16 bits takes a whole 32-bit register unless ptxas packs it; predicates take none.
_WEIGHTS = {"pred": 0.0, "b64": 2.0, "u64": 2.0, "s64": 2.0, "f64": 2.0, "b128": 4.0}


# The predicate of a wgmma says whether it adds to the accumulator or overwrites it.
_OVERWRITES = re.compile(r"%rd\d+, 0,")
_FALSE = re.compile(r"\bmov\.pred\s+(%p\d+), 0;")
_COPY = re.compile(r"\s*mov\.[bus]\d+\s+%\w+, %\w+;")


def register_use(document: Document) -> RegisterUse:
    """The registers that each operation of a PTX text reads and writes, and their weights."""
    numbers: dict[str, int] = {}
    never = set(_FALSE.findall(document.text))
    accesses = []
    copies = {}
    lines = document.lines
    for index, operation in enumerate(document.operations):
        reads = writes = 0
        for name in operation.operands:
            reads |= 1 << numbers.setdefault(name, len(numbers))
        for name in operation.results:
            writes |= 1 << numbers.setdefault(name, len(numbers))
        if operation.opcode.startswith("wgmma.mma_async"):
            overwrites = _OVERWRITES.search(lines[operation.line]) is not None
            if not overwrites and never.isdisjoint(operation.operands):
                reads |= writes  # it adds to the accumulator
        certain = lines[operation.line].lstrip()[:1] != "@"
        accesses.append(RegisterAccess(reads, writes, certain))
        if operation.opcode.startswith("mov.") and certain and _COPY.match(lines[operation.line]):
            copies[index] = reads
    return RegisterUse(accesses, RegisterFile(_weights(document, numbers), virtual=True), copies)


def _weights(document: Document, numbers: dict[str, int]) -> list[tuple[int, float]]:
    types = {prefix: kind for kind, prefix in _DECLARATION.findall(document.text)}
    masks: dict[float, bytearray] = {}
    for name, number in numbers.items():
        prefix = _PREFIX.match(name)
        weight = _WEIGHTS.get(types.get(prefix[1], "") if prefix else "", 1.0)
        if weight:
            bits = masks.setdefault(weight, bytearray(len(numbers) // 8 + 1))
            bits[number >> 3] |= 1 << (number & 7)
    return [(int.from_bytes(bits, "little"), weight) for weight, bits in masks.items()]
