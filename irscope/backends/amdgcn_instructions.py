"""Classifies AMDGCN instructions: memory accesses, matrix instructions and copies."""

from __future__ import annotations

import re
from functools import lru_cache

from irscope.backends.instructions import InstructionKind, InstructionSet

# LLVM prints a tab before an instruction, and labels at the start of a line.
_INSTRUCTION = re.compile(r"\t([a-z]\w*)(?=[ \t]|$)")
_MEMORY = re.compile(r"(global|buffer|flat|scratch)_(load|store)_(\w+)")
_LDS = re.compile(r"ds_(read|load|write|store)(2|2st64|_2addr|_2addr_stride64)?_(?:tr\d+_)?[bui](\d+)")
_MATRIX = ("v_mfma_", "v_wmma_", "v_smfmac_", "v_swmmac_")


def _kinds(opcode: str, line: str) -> tuple[InstructionKind, ...]:
    # LLVM's comment distinguishes a spill through the buffer unit from other accesses.
    spill = opcode.startswith("buffer_") and "Folded" in line
    return _of_opcode(opcode, spill, line.rstrip().endswith(" lds"))


@lru_cache(maxsize=4096)
def _of_opcode(opcode: str, spill: bool, to_lds: bool) -> tuple[InstructionKind, ...]:
    """AMD's ISA documents (CDNA3, CDNA4, RDNA3, RDNA4), chapters on memory and matrix instructions."""
    if opcode.startswith(_MATRIX):
        return (InstructionKind("matrix", opcode),)
    if match := _LDS.match(opcode):
        direction = "load" if match[1] in ("read", "load") else "store"
        return (InstructionKind(f"shared {direction}", width=int(match[3]) * (2 if match[2] else 1) // 8),)
    if match := _MEMORY.match(opcode):
        local = spill or match[1] == "scratch"
        access = InstructionKind(f"{'local' if local else 'global'} {match[2]}", width=_width(match[3]))
        if to_lds or "lds" in match[3].split("_"):
            return InstructionKind("async copy", "load to LDS"), access
        return (access,)
    return ()


def _width(suffix: str) -> int:
    """The bytes in the type at the end of an opcode: dwordx4, b128, ushort, short_d16_hi; 0 if none."""
    if match := re.search(r"dword(?:x(\d))?$", suffix):
        return 4 * int(match[1] or 1)
    if match := re.search(r"(?:^|_)[bui](\d+)$", suffix):
        return int(match[1]) // 8
    return 1 if "byte" in suffix else 2 if "short" in suffix else 0


AMDGCN = InstructionSet(_INSTRUCTION, _kinds)
