"""The accesses of a kernel to shared memory, as TTGIR has them, and the bank conflicts of each.

%a = ttg.local_load %buffer : !ttg.memdesc<64x16xf16, #shared> -> tensor<64x16xf16, #dot_op>
-> 8 rows of 16 bytes per access, no conflicts; 4-way conflicts without the swizzle
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from irscope.backends import CUDA, HIP
from irscope.languages.document import Document
from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.banks import BankConflicts, bank_conflicts
from irscope.layouts.convert import Version, linear_layout
from irscope.layouts.shared import paddings, without_swizzle
from irscope.layouts.tensors import Layouts, Tensor, alias_bodies, layout_shape, operation_tensors
from irscope.model import Target
from irscope.model.frozen_value import FrozenValue

# The operations that move a tensor between registers and shared memory.
_BY_THREADS = {
    "ttg.local_load": "load",
    "ttg.local_store": "store",
    "ttg.local_alloc": "store",
    "ttg.async_copy_global_to_local": "asynchronous copy",
}
# The instruction that an operation uses to move whole matrices.
_MATRICES = {
    "ttg.local_load": "ldmatrix",
    "ttg.local_store": "stmatrix",
    "ttg.local_alloc": "stmatrix",
}
_CONTIGUITY = re.compile(r"\bcontiguity = (\d{1,4})\b")
# The operations of other units, whose bank conflicts are not counted.
_BY_UNITS = {
    "ttng.warp_group_dot": "the tensor core reads it (wgmma)",
    "ttng.tc_gen5_mma": "the tensor core reads it (tcgen05.mma)",
    "ttng.tc_gen5_mma_scaled": "the tensor core reads it (tcgen05.mma)",
    "ttng.async_tma_copy_global_to_local": "TMA writes it",
    "ttng.async_tma_copy_local_to_global": "TMA reads it",
    "amdg.buffer_load_to_local": "buffer loads write it",
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SharedAccess(FrozenValue):
    """An operation that reads or writes a buffer.

    `index` is its line in the stage (from 0), `line` the line of the kernel's file (0 if unknown).
    `registers` is None if not the threads but another unit accesses the buffer; `how` names it.
    `contiguity` is the number of elements that the pointers allow per access, None if they do not limit it.
    """

    opcode: str
    how: str
    line: int
    index: int
    buffer: Tensor
    registers: Tensor | None
    contiguity: int | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AccessConflicts(FrozenValue):
    """The bank conflicts of an access, and `plain`, those without the swizzle.

    `why_not` says why either is None. `times` is the number of identical operations on this line of Python.
    """

    access: SharedAccess
    conflicts: BankConflicts | None
    plain: BankConflicts | None
    why_not: str = ""
    times: int = 1


def shared_accesses(document: Document) -> list[SharedAccess]:
    """The operations that read or write buffers in shared memory, in the order of the text."""
    bodies = alias_bodies(document)
    found = []
    for operation in document.operations:
        if operation.opcode not in _BY_THREADS and operation.opcode not in _BY_UNITS:
            continue
        types = operation_tensors(document, operation, bodies)
        buffers = [tensor for tensor in types if tensor.shared]
        registers = next((tensor for tensor in types if not tensor.buffer), None)
        line = operation.location.outermost.line if operation.location else 0
        if operation.opcode in _BY_UNITS:
            how = _BY_UNITS[operation.opcode]
            found += [SharedAccess(operation.opcode, how, line, operation.line, one, None) for one in buffers]
        elif buffers and registers is not None:
            how = _BY_THREADS[operation.opcode]
            limit = _CONTIGUITY.search(operation.normalized)
            contiguity = int(limit[1]) if limit else None
            found.append(
                SharedAccess(operation.opcode, how, line, operation.line, buffers[0], registers, contiguity)
            )
    return found


def access_conflicts(
    access: SharedAccess, layouts: Layouts, triton: Version, target: Target, instructions: AbstractSet[str]
) -> AccessConflicts:
    """The bank conflicts of an access, with and without the buffer's swizzle.

    `instructions` are the ones of "ldmatrix" and "stmatrix" that the variant's PTX contains.
    """
    if access.registers is None:
        return AccessConflicts(access, None, None, f"{access.how}: wavefronts unknown")
    if target.backend != CUDA.name:
        whose = "AMD's LDS" if target.backend == HIP.name else f"{target.backend}'s shared memory"
        return AccessConflicts(access, None, None, f"wavefronts of {whose} are not documented")
    matrices = _MATRICES.get(access.opcode, "") in instructions
    tensor, buffer = access.registers, access.buffer
    try:
        registers, memory = layouts.of(tensor), layouts.of(buffer)
        padding = paddings(buffer.attribute)
        real = bank_conflicts(registers, memory, buffer.bits, padding, matrices, access.contiguity)
    except UnknownLayoutError as error:
        return AccessConflicts(access, None, None, str(error))
    try:
        plain = linear_layout(without_swizzle(buffer.attribute), layout_shape(buffer), triton)
        other = bank_conflicts(registers, plain, buffer.bits, (), matrices, access.contiguity)
        return AccessConflicts(access, real, other)
    except UnknownLayoutError as error:
        return AccessConflicts(access, real, None, str(error))
