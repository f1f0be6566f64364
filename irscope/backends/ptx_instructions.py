"""Classifies PTX instructions: memory accesses, matrix instructions and copies."""

from __future__ import annotations

import re
from functools import lru_cache

from irscope.backends.instructions import InstructionKind, InstructionSet

# An instruction after an opening brace and a predicate, if any. Labels end in a colon.
_INSTRUCTION = re.compile(r"[ \t{]*(?:@!?%?\w+[ \t]+)?([a-z][\w.:]*)(?<!:)(?=[ \t;]|$)")
_TYPE = re.compile(r"\.b?[busf](\d+)(?:x2)?$")
_VECTOR = re.compile(r"\.v([248])\.")
_SHAPE = re.compile(r"\.(m\d+n\d+k\d+)")
_MATRIX = {"mma": "mma.sync", "wmma": "wmma", "wgmma": "wgmma"}
_COPY_SIZE = re.compile(r"\], *(0x[0-9a-fA-F]{1,4}|\d{1,4})\b")


def _kinds(opcode: str, line: str) -> tuple[InstructionKind, ...]:
    size = _COPY_SIZE.search(line) if opcode.startswith("cp.async.ca.") else None
    return _of_opcode(opcode, int(size[1], 0) if size else 0)


@lru_cache(maxsize=4096)
def _of_opcode(opcode: str, size: int) -> tuple[InstructionKind, ...]:
    """PTX ISA, chapters 9.7.9 (data movement), 9.7.14 to 9.7.16 (matrix instructions)."""
    parts = opcode.split(".")
    if parts[0] in ("ld", "st"):
        return _access(opcode, parts)
    if parts[0] == "cp":
        return _copy(opcode, parts, size)
    if parts[0] == "ldmatrix":
        return (InstructionKind("ldmatrix"),)
    return _matrix(opcode, parts)


def _matrix(opcode: str, parts: list[str]) -> tuple[InstructionKind, ...]:
    """`mma.sync.aligned.m16n8k16...`; the shape of tcgen05.mma is in a descriptor, not in the opcode."""
    if opcode.startswith("tcgen05.mma"):
        kinds = [part for part in parts if part.startswith("kind::")]
        return (InstructionKind("matrix", ".".join(["tcgen05.mma", *kinds])),)
    shape = _SHAPE.search(opcode)
    if shape is None or parts[0] not in _MATRIX:
        return ()
    return (InstructionKind("matrix", f"{_MATRIX[parts[0]]}.{shape[1]}"),)


def _access(opcode: str, parts: list[str]) -> tuple[InstructionKind, ...]:
    """`ld.global.v4.b32`: 4 x 4 bytes."""
    spaces = [part.partition("::")[0] for part in parts]
    space = next((space for space in ("global", "shared", "local") if space in spaces), None)
    kind = _TYPE.search(opcode)
    if space is None or kind is None:
        return ()
    vector = _VECTOR.search(opcode)
    width = int(kind[1]) * (int(vector[1]) if vector else 1) // 8
    return (InstructionKind(f"{space} {'load' if parts[0] == 'ld' else 'store'}", width=width),)


def _copy(opcode: str, parts: list[str], size: int) -> tuple[InstructionKind, ...]:
    """`cp.async.cg` always copies 16 bytes, `.ca` names a size; bulk copies are made by the TMA unit."""
    if opcode.startswith("cp.async.cg."):
        return InstructionKind("async copy", "cp.async"), InstructionKind("global load", width=16)
    if opcode.startswith("cp.async.ca."):
        return InstructionKind("async copy", "cp.async"), InstructionKind("global load", width=size)
    moved = [part for part in parts if part.partition("::")[0] in ("shared", "global")]
    if "bulk" not in parts or not moved:
        return ()
    unit = "cp.async.bulk.tensor" if "tensor" in parts else "cp.async.bulk"
    if "reduce" in parts:
        unit = unit.replace("cp.", "cp.reduce.")
    return (InstructionKind("async copy", f"{unit} {'store' if moved[0] == 'global' else 'load'}"),)


PTX = InstructionSet(_INSTRUCTION, _kinds)
