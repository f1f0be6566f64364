"""The registers of one assembly stage: liveness, copies, and accesses to the stack.

One place says for SASS, PTX and AMDGCN how to read operands, so that the analyses above it do not know the
language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from irscope.analysis.control_flow import control_flow
from irscope.analysis.registers.amdgcn_operands import VECTOR_REGISTERS, amdgcn_accesses
from irscope.analysis.registers.definitions import Definitions
from irscope.analysis.registers.liveness import NO_ACCESS, Liveness, RegisterAccess, liveness
from irscope.analysis.registers.ptx_operands import ptx_accesses
from irscope.analysis.registers.sass_operands import GENERAL_REGISTERS, sass_accesses
from irscope.languages.document import Document

# Instructions that only copy one register.
_COPIES = {
    "sass": re.compile(r"(?:MOV R\d+, |IMAD\.MOV(?:\.U32)? R\d+, RZ, RZ, )R\d+\s*;"),
    "ptx": re.compile(r"mov\.[bus]\d+\s+%\w+, %\w+;"),
    "amdgcn": re.compile(r"v_(?:mov_b32_e32|accvgpr_(?:read|write|mov)_b32(?:_e32)?) [va]\d+, [va]\d+$"),
}
# The slot of a spill: SASS addresses the stack by R1, AMDGCN has the offset in the instruction.
_SASS_STACK = re.compile(r"\b(STL|LDL)((?:\.\w+){0,4}) (?:R\w+, )?\[(?:R1(?:\+(0x[0-9a-f]{1,6}))?\])?")
_SCRATCH = re.compile(r"(?:scratch|buffer)_(store|load)_dword(?:x(\d))?\b[^;]*")
_STACK_POINTER = 1 << 1
_OFFSET = re.compile(r"\boffset:(\d{1,7})\b")


@dataclass(frozen=True, slots=True)
class StackAccess:
    """An access to local memory: an operation, whether it stores, and the offsets of its words in bytes.

    `slots` is empty if the address is not known.
    """

    operation: int
    stores: bool
    slots: tuple[int, ...]


@dataclass(frozen=True)
class MachineCode:
    """The registers of a document, which is SASS, PTX or AMDGCN."""

    document: Document
    liveness: Liveness
    copies: Mapping[int, int]
    stack: tuple[StackAccess, ...]

    def stored(self, access: StackAccess) -> int:
        """The mask of the registers that a store writes to the stack."""
        reads = self.liveness.accesses[access.operation].reads
        return reads & ~_STACK_POINTER if self.document.language == "sass" else reads

    @cached_property
    def reaching_stores(self) -> Mapping[int, Sequence[int]]:
        """For each reload with a known slot the stores whose value it may read, by operation."""
        accesses = [NO_ACCESS] * len(self.liveness.accesses)
        number: dict[int, int] = {}
        for access in self.stack:
            slots = sum(1 << number.setdefault(slot, len(number)) for slot in access.slots)
            certain = self.liveness.accesses[access.operation].certain
            reads, writes = (0, slots) if access.stores else (slots, 0)
            accesses[access.operation] = RegisterAccess(reads, writes, certain)
        definitions = Definitions(self.liveness.graph, accesses)
        return {
            access.operation: sorted(
                set().union(*definitions.before(access.operation, accesses[access.operation].reads).values())
            )
            for access in self.stack
            if access.slots and not access.stores
        }

    @cached_property
    def definitions(self) -> Definitions:
        """The definitions of registers, through copies and through the stack."""
        passes_on = {at: [(at, source)] for at, source in self.copies.items()}
        store = {access.operation: self.stored(access) for access in self.stack if access.stores}
        for reload, stores in self.reaching_stores.items():
            passes_on[reload] = [(at, store[at]) for at in stores]
        return Definitions(self.liveness.graph, self.liveness.accesses, passes_on)


def machine_code(document: Document) -> MachineCode | None:
    """The registers of an assembly stage; None for other languages and for texts too tangled to know."""
    file = GENERAL_REGISTERS
    accesses: list[RegisterAccess]
    if document.language == "sass":
        accesses = sass_accesses(document)
    elif document.language == "ptx":
        accesses, file = ptx_accesses(document)
    elif document.language == "amdgcn":
        accesses, file = amdgcn_accesses(document), VECTOR_REGISTERS
    else:
        return None
    live = liveness(control_flow(document), accesses, file)
    if live is None or not accesses:
        return None
    return MachineCode(document, live, _copies(document, accesses), tuple(_stack_accesses(document)))


def _copies(document: Document, accesses: list[RegisterAccess]) -> dict[int, int]:
    pattern = _COPIES[document.language]
    lines = document.lines
    return {
        index: accesses[index].reads
        for index, operation in enumerate(document.operations)
        if ("mov" in operation.opcode.lower() or "accvgpr" in operation.opcode)
        and accesses[index].certain
        and accesses[index].reads.bit_count() == 1
        and pattern.search(" ".join(lines[operation.line].partition("/*0x")[0].split()))
    }


def _stack_accesses(document: Document) -> list[StackAccess]:
    read = {"sass": _sass_access, "amdgcn": _scratch_access}.get(document.language)
    found = []
    for index, operation in enumerate(document.operations) if read else ():
        opcode = operation.opcode
        if not opcode.startswith(("STL", "LDL", "scratch_", "buffer_")):
            continue
        if read and (access := read(index, document.lines[operation.line])):
            found.append(access)
    return found


def _sass_access(index: int, line: str) -> StackAccess | None:
    """`STL.64 [R1+0x10], R4` stores two words, at 16 and 20."""
    match = _SASS_STACK.search(line)
    if match is None:
        return None
    known = match[0].endswith("]")
    first = int(match[3] or "0", 16)
    words = 2 if ".64" in match[2] else 4 if ".128" in match[2] else 1
    return StackAccess(index, match[1] == "STL", tuple(range(first, first + 4 * words, 4)) if known else ())


def _scratch_access(index: int, line: str) -> StackAccess | None:
    """LLVM's comment (`4-byte Folded Spill`) says which accesses to scratch are spills."""
    code, _, comment = line.partition(";")
    match = _SCRATCH.search(code)
    if match is None or ("scratch_" not in code and "Folded" not in comment):
        return None
    offset = _OFFSET.search(code)
    first = int(offset[1] if offset else 0)
    slots = range(first, first + 4 * int(match[2] or 1), 4) if "Folded" in comment else ()
    return StackAccess(index, match[1] == "store", tuple(slots))
