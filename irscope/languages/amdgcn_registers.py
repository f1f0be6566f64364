"""The vector registers that AMDGCN instructions read and write: architectural (v) and accumulation (a).

    v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15] -> writes a0 to a15; reads v0 to v3, a0 to a15

Scalar registers are per wave and not counted. Lanes that are switched off keep their old values, but as LLVM
does, a write counts as a write of the whole register (AMD's ISA documents; LLVM, SIInstrInfo.td).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from irscope.languages.document import OPAQUE, Document
from irscope.languages.registers import NO_ACCESS, RegisterAccess, RegisterFile, RegisterUse, StackAccess

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


_COPY = re.compile(r"v_(?:mov_b32_e32|accvgpr_(?:read|write|mov)_b32(?:_e32)?)\s+[va]\d+, [va]\d+\s*(?:;|$)")
_LOCAL = re.compile(r"(?:scratch|buffer)_(store|load)_dword(?:x(\d))?\b")
_OFFSET = re.compile(r"\boffset:(\d{1,7})\b")


def register_use(document: Document) -> RegisterUse:
    """The vector registers that each operation of an AMDGCN text reads and writes."""
    accesses = []
    copies = {}
    stack: list[StackAccess] = []
    for index, operation in enumerate(document.operations):
        opcode, line = operation.opcode, document.lines[operation.line]
        access = NO_ACCESS
        if opcode != OPAQUE and not opcode.startswith("s_"):
            access = _access(opcode, line.partition(";")[0])
        accesses.append(access)
        if opcode.startswith("v_") and _COPY.match(line.strip()):
            copies[index] = access.reads
        elif opcode.startswith(("scratch_", "buffer_")):
            stack += _stack_access(index, line, access.reads)
    return RegisterUse(accesses, VECTOR_REGISTERS, copies, stack)


def _stack_access(index: int, line: str, reads: int) -> Iterator[StackAccess]:
    """LLVM's comment (`4-byte Folded Spill`) says which accesses to scratch are spills."""
    code, _, comment = line.partition(";")
    match = _LOCAL.search(code)
    spill = "Folded" in comment
    if match is None or (not spill and "scratch_" not in code):
        return
    offset = _OFFSET.search(code)
    first = int(offset[1] if offset else 0)
    slots = range(first, first + 4 * int(match[2] or 1), 4) if spill else ()
    stores = match[1] == "store"
    yield StackAccess(index, stores, reads if stores and spill else 0, tuple(slots))


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
