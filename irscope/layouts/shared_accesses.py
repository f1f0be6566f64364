"""The accesses of a kernel to shared memory, and its layout conversions, as TTGIR has them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from irscope.languages.document import Document, Operation
from irscope.languages.mlir.value_types import operand_types
from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.banks import Conflicts, conflicts
from irscope.layouts.conversion_cost import Move, move
from irscope.layouts.convert import Version, linear_layout
from irscope.layouts.shared import paddings, without_swizzle
from irscope.layouts.tensors import Layouts, Tensor, alias_bodies, layout_shape, typed_tensor
from irscope.model import Target

# Operations by which threads move a tensor to or from shared memory, and what each does.
_BY_THREADS = {
    "ttg.local_load": "load",
    "ttg.local_store": "store",
    "ttg.local_alloc": "store",
    "ttg.async_copy_global_to_local": "asynchronous copy",
}
# The instruction that moves whole matrices for an operation.
_MATRICES = {
    "ttg.local_load": "ldmatrix",
    "ttg.local_store": "stmatrix",
    "ttg.local_alloc": "stmatrix",
}
_CONTIGUITY = re.compile(r"\bcontiguity = (\d{1,4})\b")
# Operations by which other units do, whose turns are not counted.
_BY_UNITS = {
    "ttng.warp_group_dot": "the tensor core reads it (wgmma)",
    "ttng.tc_gen5_mma": "the tensor core reads it (tcgen05.mma)",
    "ttng.tc_gen5_mma_scaled": "the tensor core reads it (tcgen05.mma)",
    "ttng.async_tma_copy_global_to_local": "TMA writes it",
    "ttng.async_tma_copy_local_to_global": "TMA reads it",
    "amdg.buffer_load_to_local": "buffer loads write it",
}


@dataclass(frozen=True, slots=True)
class SharedAccess:
    """An operation that moves data to or from a buffer.

    `index` is its line in the stage (from 0), `line` that of the kernel's file (0: not known). `registers`
    is None where a unit other than the threads moves it, and `how` says which. `neighbours` is how many
    elements the pointers allow at once, where that limits it.
    """

    opcode: str
    how: str
    line: int
    index: int
    buffer: Tensor
    registers: Tensor | None
    neighbours: int | None = None


@dataclass(frozen=True, slots=True)
class Conversion:
    """A `ttg.convert_layout` and how far its elements travel; `why_not` where that is not known."""

    index: int
    line: int
    source: Tensor
    target: Tensor
    move: Move | None
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """The turns of an access, or why they are not known. `plain` is the same without the swizzle.

    `times` is how many operations of the kernel are like it, on the same line of Python.
    """

    access: SharedAccess
    conflicts: Conflicts | None
    plain: Conflicts | None
    why_not: str = ""
    times: int = 1


def shared_accesses(document: Document) -> list[SharedAccess]:
    """The operations that read or write buffers in shared memory, in the order of the text."""
    bodies = alias_bodies(document)
    found = []
    for operation in document.operations:
        if operation.opcode not in _BY_THREADS and operation.opcode not in _BY_UNITS:
            continue
        types = _tensors(document, operation, bodies)
        buffers = [tensor for tensor in types if tensor.shared]
        registers = next((tensor for tensor in types if not tensor.buffer), None)
        line = operation.location.outermost.line if operation.location else 0
        if operation.opcode in _BY_UNITS:
            how = _BY_UNITS[operation.opcode]
            found += [SharedAccess(operation.opcode, how, line, operation.line, one, None) for one in buffers]
        elif buffers and registers is not None:
            how = _BY_THREADS[operation.opcode]
            limit = _CONTIGUITY.search(operation.normalized)
            neighbours = int(limit[1]) if limit else None
            found.append(
                SharedAccess(operation.opcode, how, line, operation.line, buffers[0], registers, neighbours)
            )
    return found


def _tensors(document: Document, operation: Operation, bodies: Mapping[str, str]) -> list[Tensor]:
    types = operand_types(document.lines[operation.line])
    made = (typed_tensor(type_, bodies) for type_ in types)
    return [tensor for tensor in made if tensor is not None]


def counted(
    access: SharedAccess, layouts: Layouts, triton: Version, target: Target, instructions: AbstractSet[str]
) -> Counted:
    """The turns that an access takes, with and without the buffer's swizzle.

    `instructions` are those of "ldmatrix" and "stmatrix" that the variant's machine code has.
    """
    if access.registers is None:
        return Counted(access, None, None, f"{access.how}: its turns are not known")
    if target.backend != "cuda":
        return Counted(access, None, None, "which lanes share a turn of AMD's LDS is not documented")
    matrices = _MATRICES.get(access.opcode, "") in instructions
    tensor, buffer = access.registers, access.buffer
    try:
        registers, memory = layouts.of(tensor), layouts.of(buffer)
        padding = paddings(buffer.attribute)
        real = conflicts(registers, memory, buffer.bits, padding, matrices, access.neighbours)
    except UnknownLayoutError as error:
        return Counted(access, None, None, str(error))
    try:
        plain = linear_layout(without_swizzle(buffer.attribute), layout_shape(buffer), triton)
        other = conflicts(registers, plain, buffer.bits, (), matrices, access.neighbours)
        return Counted(access, real, other)
    except UnknownLayoutError as error:
        return Counted(access, real, None, str(error))


def conversions(document: Document, layouts: Layouts) -> list[Conversion]:
    """The layout conversions, in the order of the text."""
    bodies = alias_bodies(document)
    found = []
    for operation in document.operations:
        if operation.opcode != "ttg.convert_layout":
            continue
        types = _tensors(document, operation, bodies)
        if len(types) != 2:
            continue
        line = operation.location.outermost.line if operation.location else 0
        how, why_not = _moved(types, layouts)
        found.append(Conversion(operation.line, line, types[0], types[1], how, why_not))
    return found


def _moved(types: Sequence[Tensor], layouts: Layouts) -> tuple[Move | None, str]:
    try:
        return move(layouts.of(types[0]), layouts.of(types[1])), ""
    except UnknownLayoutError as error:
        return None, str(error)
