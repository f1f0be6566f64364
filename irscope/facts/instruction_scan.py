"""What the instructions of PTX and AMDGCN text do: one pass over the lines, no parse.

The words of both instruction sets are here: which opcode moves how many bytes where, which is a matrix
instruction, which copies asynchronously.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

# An instruction of PTX, behind the brace that opens a scope and its predicate; labels end in a colon.
_PTX = re.compile(r"[ \t{]*(?:@!?%?\w+[ \t]+)?([a-z][\w.:]*)(?<!:)(?=[ \t;]|$)")
_PTX_TYPE = re.compile(r"\.b?[busf](\d+)(?:x2)?$")
_PTX_VECTOR = re.compile(r"\.v([248])\.")
_PTX_SHAPE = re.compile(r"\.(m\d+n\d+k\d+)")
_PTX_MATRIX = {"mma": "mma.sync", "wmma": "wmma", "wgmma": "wgmma"}
_PTX_COPY_SIZE = re.compile(r"\], *(0x[0-9a-fA-F]{1,4}|\d{1,4})\b")

# LLVM prints an instruction of AMDGCN behind a tab, labels at the start of a line.
_AMDGCN = re.compile(r"\t([a-z]\w*)(?=[ \t]|$)")
_AMDGCN_MEMORY = re.compile(r"(global|buffer|flat|scratch)_(load|store)_(\w+)")
_AMDGCN_LDS = re.compile(r"ds_(read|load|write|store)(2|2st64|_2addr|_2addr_stride64)?_(?:tr\d+_)?[bui](\d+)")
_AMDGCN_MATRIX = ("v_mfma_", "v_wmma_", "v_smfmac_", "v_swmmac_")


@dataclass(frozen=True, slots=True)
class InstructionKind:
    """What an instruction does.

    `kind` is "global load", "global store", "shared load", "shared store", "local load", "local store",
    "matrix", "async copy" or "ldmatrix". `name` is a matrix instruction's kind and shape, or how an
    async copy is made. `width` is the bytes that one instruction moves for one thread (0: none).
    """

    kind: str
    name: str = ""
    width: int = 0


@dataclass(frozen=True, slots=True)
class Scan:
    """How many instructions a text has, and the lines (index from 0) of those that do something."""

    instructions: int
    lines: Mapping[InstructionKind, list[int]]


def scan(text: str, language: str) -> Scan:
    """One pass over `text` in `language` ("ptx" or "amdgcn")."""
    pattern = _PTX if language == "ptx" else _AMDGCN
    instructions = 0
    lines: dict[InstructionKind, list[int]] = {}
    for index, line in enumerate(text.split("\n")):
        match = pattern.match(line)
        if match is None:
            continue
        instructions += 1
        for doing in instruction_kinds(match[1], line, language):
            lines.setdefault(doing, []).append(index)
    return Scan(instructions, lines)


def instruction_kinds(opcode: str, line: str, language: str) -> tuple[InstructionKind, ...]:
    """What the instruction `opcode` of the text `line` does: nothing of note, or one or two things."""
    if language == "ptx":
        size = _PTX_COPY_SIZE.search(line) if opcode.startswith("cp.async.ca.") else None
        return _ptx(opcode, int(size[1], 0) if size else 0)
    # LLVM's comment tells a spill through the buffer unit from other accesses.
    spill = opcode.startswith("buffer_") and "Folded" in line
    return _amdgcn(opcode, spill, line.rstrip().endswith(" lds"))


@lru_cache(maxsize=4096)
def _ptx(opcode: str, size: int) -> tuple[InstructionKind, ...]:
    """PTX ISA, chapters 9.7.9 (data movement), 9.7.14 to 9.7.16 (matrix instructions)."""
    parts = opcode.split(".")
    if parts[0] in ("ld", "st"):
        return _ptx_access(opcode, parts)
    if parts[0] == "cp":
        return _ptx_copy(opcode, parts, size)
    if parts[0] == "ldmatrix":
        return (InstructionKind("ldmatrix"),)
    return _ptx_matrix(opcode, parts)


def _ptx_matrix(opcode: str, parts: list[str]) -> tuple[InstructionKind, ...]:
    """`mma.sync.aligned.m16n8k16...`; the shape of tcgen05.mma stands in a descriptor, not the opcode."""
    if opcode.startswith("tcgen05.mma"):
        kinds = [part for part in parts if part.startswith("kind::")]
        return (InstructionKind("matrix", ".".join(["tcgen05.mma", *kinds])),)
    shape = _PTX_SHAPE.search(opcode)
    if shape is None or parts[0] not in _PTX_MATRIX:
        return ()
    return (InstructionKind("matrix", f"{_PTX_MATRIX[parts[0]]}.{shape[1]}"),)


def _ptx_access(opcode: str, parts: list[str]) -> tuple[InstructionKind, ...]:
    """`ld.global.v4.b32`: 4 x 4 bytes."""
    spaces = [part.partition("::")[0] for part in parts]
    space = next((space for space in ("global", "shared", "local") if space in spaces), None)
    kind = _PTX_TYPE.search(opcode)
    if space is None or kind is None:
        return ()
    vector = _PTX_VECTOR.search(opcode)
    width = int(kind[1]) * (int(vector[1]) if vector else 1) // 8
    return (InstructionKind(f"{space} {'load' if parts[0] == 'ld' else 'store'}", width=width),)


def _ptx_copy(opcode: str, parts: list[str], size: int) -> tuple[InstructionKind, ...]:
    """`cp.async.cg` always copies 16 bytes, `.ca` says how many; bulk copies are the tensor unit's."""
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


@lru_cache(maxsize=4096)
def _amdgcn(opcode: str, spill: bool, to_lds: bool) -> tuple[InstructionKind, ...]:
    """AMD's ISA documents (CDNA3, CDNA4, RDNA3, RDNA4), chapters on memory and matrix instructions."""
    if opcode.startswith(_AMDGCN_MATRIX):
        return (InstructionKind("matrix", opcode),)
    if match := _AMDGCN_LDS.match(opcode):
        direction = "load" if match[1] in ("read", "load") else "store"
        return (InstructionKind(f"shared {direction}", width=int(match[3]) * (2 if match[2] else 1) // 8),)
    if match := _AMDGCN_MEMORY.match(opcode):
        local = spill or match[1] == "scratch"
        access = InstructionKind(
            f"{'local' if local else 'global'} {match[2]}", width=_amdgcn_width(match[3])
        )
        if to_lds or "lds" in match[3].split("_"):
            return InstructionKind("async copy", "load to LDS"), access
        return (access,)
    return ()


def _amdgcn_width(suffix: str) -> int:
    """The bytes in the type at the end of an opcode: dwordx4, b128, ushort, short_d16_hi; 0 if none."""
    if match := re.search(r"dword(?:x(\d))?$", suffix):
        return 4 * int(match[1] or 1)
    if match := re.search(r"(?:^|_)[bui](\d+)$", suffix):
        return int(match[1]) // 8
    return 1 if "byte" in suffix else 2 if "short" in suffix else 0
