"""Classifies AMDGCN instructions: memory accesses, atomics, matrix instructions and copies."""

from __future__ import annotations

import re
from functools import lru_cache

from irscope.targets.instructions import InstructionKind, InstructionSet

# LLVM prints a tab before an instruction, and labels at the start of a line.
_INSTRUCTION = re.compile(r"\t([a-z]\w*)(?=[ \t]|$)")
_MEMORY = re.compile(r"(global|buffer|flat|scratch)_(load|store)_(\w+)")
_LDS = re.compile(r"ds_(read|load|write|store)(2|2st64|_2addr|_2addr_stride64)?_(?:tr\d+_)?[bui](\d+)(_tr_)?")
_ATOMIC = re.compile(r"(?:global|buffer|flat)_atomic_(\w+)")
_LDS_ATOMIC = re.compile(
    r"ds_(?:(?:pk_)?(?:add|sub|rsub|inc|dec|min|max|and|or|xor|mskor|cmpst|cmpstore|wrxchg|storexchg"
    r"|cond_sub|sub_clamp)|min_num|max_num)(?:_rtn)?_([a-z]+\d+)(?:_[a-z]|$)?"
)
_MATRIX = ("v_mfma_", "v_wmma_", "v_smfmac_", "v_swmmac_")
_SCALAR_LOAD = re.compile(r"s_(?:buffer_)?load_(\w+)")
# The scalar registers that a kernel can ask for before the ones with the address of its arguments (LLVM,
# "Initial Kernel Execution State"), by the directive after the code that says so.
_BEFORE_ARGUMENTS = {"private_segment_buffer": 4, "dispatch_ptr": 2, "queue_ptr": 2}
_DESTINATION = re.compile(
    r"\ts_(?!cmp|bitcmp|cbranch|waitcnt|store)\w+[ \t]+s(?:\[(\d{1,3}):(\d{1,3})\]|(\d{1,3})),"
)
# The scope of an instruction on gfx12 (LLVM, "AMDGPU memory model gfx12"); the narrowest is not printed.
_SCOPE = re.compile(r"\bscope:SCOPE_(SE|DEV|SYS)\b")
_SCOPES = {"SE": "workgroup", "DEV": "agent", "SYS": "system"}


def _kinds(opcode: str, line: str) -> tuple[InstructionKind, ...]:
    if "_atomic_" in opcode:
        scope = _SCOPE.search(line)
        return _of_atomic(opcode, _SCOPES[scope[1]] if scope else "")
    # LLVM's comment distinguishes a spill through the buffer unit from other accesses.
    spill = opcode.startswith("buffer_") and "Folded" in line
    return _of_opcode(opcode, spill, line.rstrip().endswith(" lds"))


@lru_cache(maxsize=4096)
def _of_opcode(opcode: str, spill: bool, to_lds: bool) -> tuple[InstructionKind, ...]:
    """Classify an AMDGCN opcode.

    AMD's ISA documents (CDNA3, CDNA4, RDNA3, RDNA4), chapters on memory and matrix instructions.
    """
    if opcode.startswith(_MATRIX):
        return (InstructionKind("matrix", opcode),)
    if opcode.startswith("ds_"):
        return _of_lds(opcode)
    if opcode in ("tensor_load_to_lds", "tensor_store_from_lds"):
        return (InstructionKind("async copy", opcode),)
    if match := _MEMORY.match(opcode):
        local = spill or match[1] == "scratch"
        access = InstructionKind(f"{'local' if local else 'global'} {match[2]}", width=_width(match[3]))
        if to_lds or "lds" in match[3].split("_"):
            return InstructionKind("async copy", "load to LDS"), access
        return (access,)
    return ()


def _of_lds(opcode: str) -> tuple[InstructionKind, ...]:
    """Classify an LDS opcode.

    `ds_read2_b32` moves 8 bytes; `ds_bpermute_b32` and `ds_swizzle_b32` access no memory.
    """
    if match := _LDS.match(opcode):
        direction = "load" if match[1] in ("read", "load") else "store"
        # A transposing load (gfx950: ds_read_b64_tr_b16, gfx12: ds_load_tr16_b128) corresponds to ldmatrix.
        name = opcode if "_tr" in opcode else ""
        width = int(match[3]) * (2 if match[2] else 1) // 8
        return (InstructionKind(f"shared {direction}", name, width),)
    if match := _LDS_ATOMIC.fullmatch(opcode):
        width = _element_width(match[1]) * (2 if opcode.startswith("ds_pk_") else 1)
        return (InstructionKind("shared atomic", opcode, width),)
    return ()


@lru_cache(maxsize=4096)
def _of_atomic(opcode: str, scope: str) -> tuple[InstructionKind, ...]:
    """Classify an atomic: `global_atomic_pk_add_f16` changes 4 bytes.

    The memory order is in the fences around it, not in the opcode.
    """
    match = _ATOMIC.match(opcode)
    return (InstructionKind("global atomic", opcode, _atomic_width(match[1]), scope),) if match else ()


def _atomic_width(operation: str) -> int:
    """Return the bytes that one thread changes: `pk_add_f16` 4, `add_x2` and `add_f64` 8, `add` 4."""
    if operation.endswith("_x2"):
        return 8
    kind = re.search(r"_([a-z]+\d+)$", operation)
    width = _element_width(kind[1]) if kind else 4
    return 2 * width if operation.startswith("pk_") else width


def _element_width(name: str) -> int:
    """Return the bytes of a type: `u32` 4, `bf16` 2."""
    return int(re.sub(r"\D", "", name)) // 8


def _width(suffix: str) -> int:
    """Return the bytes in the type at the end of an opcode.

    For example dwordx4, b128, ushort, short_d16_hi; 0 if there is none.
    """
    if match := re.search(r"dword(?:x(\d))?$", suffix):
        return 4 * int(match[1] or 1)
    if match := re.search(r"(?:^|_)[bui](\d+)$", suffix):
        return int(match[1]) // 8
    return 1 if "byte" in suffix else 2 if "short" in suffix else 0


class _InstructionReader:
    """Classifies the instructions of one text, in order: scalar loads of the kernel's arguments are none.

    s_load_dwordx8 s[4:11], s[0:1], 0x8        arguments: s[0:1] has their address when the kernel starts
    s_load_dword s2, s[2:3], 0x0               a load of the kernel
    """

    def __init__(self, text: str) -> None:
        self._address = sum(
            size for name, size in _BEFORE_ARGUMENTS.items() if f".amdhsa_user_sgpr_{name} 1" in text
        )
        self._from_arguments = f", s[{self._address}:{self._address + 1}], "
        self._arguments_known = True

    def __call__(self, opcode: str, line: str) -> tuple[InstructionKind, ...]:
        if not opcode.startswith("s_"):
            return _kinds(opcode, line)
        kinds: tuple[InstructionKind, ...] = ()
        match = _SCALAR_LOAD.match(opcode)
        if match and not (self._arguments_known and self._from_arguments in line):
            kinds = (InstructionKind("scalar load", "s_load", _width(match[1])),)
        if self._arguments_known and self._writes_address(line):
            self._arguments_known = False
        return kinds

    def _writes_address(self, line: str) -> bool:
        match = _DESTINATION.match(line)
        if match is None:
            return False
        first, last = int(match[1] or match[3]), int(match[2] or match[3])
        return first <= self._address + 1 and last >= self._address


AMDGCN = InstructionSet(_INSTRUCTION, _kinds, _InstructionReader)
