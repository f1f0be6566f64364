"""The vector registers that AMDGCN instructions read and write: architectural (v) and accumulation (a).

    v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15] -> writes a0 to a15; reads v0 to v3, a0 to a15

Scalar registers are per wave and not counted. Lanes that are switched off keep their old values, but as LLVM
does, a write counts as a write of the whole register (AMD's ISA documents; LLVM, SIInstrInfo.td).
"""

from __future__ import annotations

import re

from irscope.analysis.registers.liveness import NO_ACCESS, RegisterAccess, RegisterFile
from irscope.languages.document import OPAQUE, Document

_REGISTER = re.compile(r"(?<![\w.$])([va])(?:(\d{1,3})(?!\w)|\[(\d{1,3})(?::(\d{1,3}))?\])")
_NUMBER = 512  # of each kind; gfx90a and later have 512 in all, gfx10 and later 256 v
_STORE = re.compile(r"(?:global|buffer|flat|scratch|tbuffer|image)_store|ds_(?:write|store)|exp\b")
_ATOMIC = re.compile(r"(?:global|buffer|flat|image)_atomic_")
_RETURNS = re.compile(r"\b(?:glc|sc0|th:TH_ATOMIC_RETURN\w*)\b")
# LDS instructions with a result; the other ones are atomic operations without one.
_LDS_RESULT = re.compile(
    r"ds_(?:read|load|bpermute|permute|swizzle|consume|append|ordered|bvh|condxchg)|ds_\w+_rtn"
)
# Instructions whose result is also an operand: accumulation in place, writes of a part of a register.
_IN_PLACE = re.compile(
    r"v_(?:pk_)?(?:fmac|mac|dot\w*c|fmaak|fmamk)_|v_writelane|v_swap|v_movrel|\w+_d16(?:_hi)?\b"
)

VECTOR_REGISTERS = RegisterFile((((1 << (2 * _NUMBER)) - 1, 1),))


def amdgcn_accesses(document: Document) -> list[RegisterAccess]:
    """The vector registers that each operation of an AMDGCN text reads and writes."""
    lines = document.lines
    return [
        NO_ACCESS
        if operation.opcode == OPAQUE or operation.opcode.startswith("s_")
        else _access(operation.opcode, lines[operation.line].partition(";")[0])
        for operation in document.operations
    ]


def _access(opcode: str, line: str) -> RegisterAccess:
    operands = line.strip().partition(" ")[2] if "\t" not in line.strip() else line.split(None, 1)[-1]
    first, _, rest = operands.partition(",")
    if not _writes(opcode, line):
        return RegisterAccess(_mask(operands))
    writes = _mask(first)
    reads = _mask(rest)
    if _IN_PLACE.match(opcode) or "UNUSED_PRESERVE" in rest:
        reads |= writes
    if opcode.startswith("v_swap"):
        writes |= reads
    return RegisterAccess(reads, writes)


def _writes(opcode: str, line: str) -> bool:
    """Whether the first operand is a result."""
    if _STORE.match(opcode) or " lds" in line or "_lds_" in opcode:
        return False
    if _ATOMIC.match(opcode):
        return _RETURNS.search(line) is not None
    if opcode.startswith("ds_"):
        return _LDS_RESULT.match(opcode) is not None
    return True


def _mask(text: str) -> int:
    mask = 0
    for kind, single, start, end in _REGISTER.findall(text):
        first = int(single or start)
        last = int(end or first)
        if first <= last < _NUMBER:
            mask |= ((1 << (last - first + 1)) - 1) << (first + (_NUMBER if kind == "a" else 0))
    return mask
