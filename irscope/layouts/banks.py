"""Bank conflicts: the banks of shared memory that a warp accesses, and how many wavefronts that takes.

    lane 0 reads word 0, lane 1 word 32, lane 2 word 64, ...: all in bank 0 -> 32 wavefronts
    lane 0 reads word 0, lane 1 word 33, lane 2 word 66, ...: one per bank  ->  1 wavefront

NVIDIA GPUs have 32 banks of 4 bytes. An access of up to 4 bytes per thread is one pass of the warp, one of 8
bytes two passes of half a warp, one of 16 bytes four passes of a quarter (CUDA C++ Programming Guide, "Shared
Memory"). In one wavefront, each bank serves one word; threads that access the same word share it.

The accesses of a kernel to shared memory, as TTGIR has them, and the bank conflicts of each.

%a = ttg.local_load %buffer : !ttg.memdesc<64x16xf16, #shared> -> tensor<64x16xf16, #dot_op>
-> 8 rows of 16 bytes per access, no conflicts; 4-way conflicts without the swizzle
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from irscope.languages.document import Document
from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.convert import Version, linear_layout
from irscope.layouts.linear import Inverse, LinearLayout, VectorSpan, flat
from irscope.layouts.shared import Padding, padded, paddings, without_swizzle
from irscope.layouts.tensors import Layouts, Tensor, alias_bodies, operation_tensors
from irscope.model import Target
from irscope.model.records import frozen
from irscope.model.text import pluralize
from irscope.targets import CUDA, HIP

BANKS = 32
WORD = 4  # bytes
_WIDEST = 16  # bytes
_ROW = 128  # bytes that all banks serve in a wavefront
_MAX_BITS = 13  # of registers and warps: no real block has more elements per lane


@frozen
class Wavefronts:
    """The wavefronts of one pass: its `lanes`, their `addresses`, and the bytes per lane (`width`)."""

    lanes: tuple[int, ...]
    addresses: tuple[int, ...]
    width: int

    @property
    def words(self) -> dict[int, set[int]]:
        """Map each bank to the words that the lanes access in it."""
        words: dict[int, set[int]] = {}
        for address in self.addresses:
            for word in range(address // WORD, (address + self.width - 1) // WORD + 1):
                words.setdefault(word % BANKS, set()).add(word)
        return words

    @property
    def count(self) -> int:
        """Number of wavefronts: the most words that any bank serves."""
        return max(map(len, self.words.values()), default=0)


@frozen
class BankConflicts:
    """The bank conflicts when a whole block accesses shared memory.

    `kind` is "vector", or "matrix" for ldmatrix and stmatrix. `width` is in bytes per thread and instruction;
    `instructions` are per warp. `wavefronts` and `ideal_wavefronts` are those of one warp for all its
    instructions, with and without conflicts. `ways` is the number of wavefronts of the `worst` pass.
    """

    kind: str
    width: int
    instructions: int
    wavefronts: int
    ideal_wavefronts: int
    ways: int
    worst: Wavefronts

    @property
    def text(self) -> str:
        """Say `16 bytes per thread, no conflicts` or `..., 8-way conflicts: 64 wavefronts instead of 8`."""
        access = "8 rows of 16 bytes at once"
        if self.kind != "matrix":
            access = f"{pluralize(self.width, 'byte')} per thread"
        return f"{access}, {self.ways_text}"

    @property
    def ways_text(self) -> str:
        """Return `no conflicts`, or `8-way conflicts: 64 wavefronts instead of 8`."""
        if self.ways <= 1:
            return "no conflicts"
        wavefronts = f"{self.wavefronts} wavefronts instead of {self.ideal_wavefronts}"
        return f"{self.ways}-way conflicts: {wavefronts}"


class Addresses:
    """The byte address of each element of a buffer.

    Raises UnknownLayoutError for a layout that is not in shared memory.
    """

    def __init__(self, memory: LinearLayout, bits: int, padding: Sequence[Padding] = ()) -> None:
        if "offset" not in memory.bases:
            raise UnknownLayoutError("a layout that is not in shared memory")
        self._shape, self._bits, self._padding = memory.shape, bits, padding
        columns = [flat(vector, memory.shape) for vector in memory.bases["offset"]]
        self._offset = Inverse(columns)

    def offset(self, element: Sequence[int]) -> int:
        """Return the offset of an element in the buffer, in elements, without padding."""
        offset = self._offset(flat(element, self._shape))
        if offset is None:
            raise UnknownLayoutError("a buffer that does not contain the element")
        return offset

    def byte(self, element: Sequence[int]) -> int:
        """Return the first byte of an element."""
        return self.byte_at(self.offset(element))

    def text(self, element: Sequence[int]) -> str:
        """Say where an element is: `byte 394, bank 2`."""
        byte = self.byte(element)
        return f"byte {byte}, bank {bank(byte)}"

    def byte_at(self, offset: int) -> int:
        """Return the first byte of the element at an offset, including padding."""
        return padded(offset, self._padding) * self._bits // 8


def bank_conflicts(
    registers: LinearLayout,
    memory: LinearLayout,
    bits: int,
    padding: Sequence[Padding] = (),
    matrices: bool = False,
    contiguity: int | None = None,
) -> BankConflicts:
    """Compute the bank conflicts of a block that moves a tensor between `registers` and `memory`.

    `bits` is the size of an element. With `matrices`, ldmatrix or stmatrix are used if the
    layouts allow them. `contiguity` limits the elements per access. Raises UnknownLayoutError if
    the layouts are not supported.
    """
    access = _Access(registers, memory, bits, padding, contiguity)
    if matrices and (rows := access.matrix_rows()) is not None:
        return access.by_matrices(*rows)
    return access.by_vectors()


class _Access:
    """The offsets of a thread's elements in the buffer, as one vector of bits per basis of the registers."""

    def __init__(
        self,
        registers: LinearLayout,
        memory: LinearLayout,
        bits: int,
        padding: Sequence[Padding],
        contiguity: int | None,
    ) -> None:
        if bits < 8 or bits % 8:
            raise UnknownLayoutError(f"elements of {bits} bits in shared memory")
        if registers.size("lane") != BANKS:
            raise UnknownLayoutError(f"banks for warps of {registers.size('lane')} lanes")
        self._addresses = Addresses(memory, bits, padding)
        self._bits, self._padding = bits, padding
        self._limit = min(contiguity or BANKS, _WIDEST * 8 // bits)
        span = VectorSpan()
        self.register = [v for v in self._offsets(registers, "register") if span.add(v)]
        self.lane = self._offsets(registers, "lane")
        self.warp = self._offsets(registers, "warp")
        if len(self.register) + len(self.warp) > _MAX_BITS:
            raise UnknownLayoutError("more accesses than any real block has")

    def _offsets(self, layout: LinearLayout, name: str) -> list[int]:
        return [self._addresses.offset(vector) for vector in layout.bases.get(name, ())]

    def by_vectors(self) -> BankConflicts:
        """Count an access in which each thread takes all neighbors that it holds at once, up to 16 bytes."""
        run = self._run()
        width = run * self._bits // 8
        rest = [vector for vector in self.register if vector >= run]
        lanes = _sums(self.lane)
        size = max(1, min(BANKS, _ROW // max(width, WORD)))
        passes = [tuple(range(first, first + size)) for first in range(0, BANKS, size)]
        return self._count("vector", width, _sums(rest), lanes, passes, len(passes))

    def matrix_rows(self) -> tuple[list[int], list[int]] | None:
        """Return the bases of a matrix's 8 rows for ldmatrix, and those that repeat it; None if unusable.

        Four lanes hold a row of 16 bytes, 4 bytes each. Eight lanes hold a row of a transposed
        matrix, one element of 16 bits each.
        """
        run, word = self._run(), 32 // self._bits
        if self._bits > 32 or len(self.lane) != 5:
            return None
        if run >= word and self.lane[:2] == [word, 2 * word] and not self._is_within(self.lane[2:]):
            return self.lane[2:], [v for v in self.register if v >= word and not self._is_within([v])]
        if self._bits == 16 and self.lane[2:] == [1, 2, 4] and self.register[:1] and not self._padding:
            rows = [self.register[0], *self.lane[:2]]
            if not self._is_within(rows):
                return rows, self.register[1:]
        return None

    def by_matrices(self, rows: list[int], rest: list[int]) -> BankConflicts:
        """Count passes that access the 8 rows of 16 bytes of one matrix; `lanes` are rows."""
        passes = [tuple(range(8))]
        return self._count("matrix", _WIDEST, _sums(rest), _sums(rows), passes, 1)

    def _count(
        self,
        kind: str,
        width: int,
        instructions: list[int],
        lanes: list[int],
        passes: list[tuple[int, ...]],
        ideal: int,
    ) -> BankConflicts:
        warps = _sums(self.warp)
        worst, wavefronts = None, 0
        for warp, first in enumerate(warps):
            for instruction in instructions:
                for members in passes:
                    addresses = tuple(
                        self._addresses.byte_at(first ^ instruction ^ lanes[i]) for i in members
                    )
                    wavefront = Wavefronts(members, addresses, width)
                    wavefronts += wavefront.count if warp == 0 else 0
                    if worst is None or wavefront.count > worst.count:
                        worst = wavefront
        if worst is None:
            raise UnknownLayoutError("an access without elements")
        return BankConflicts(
            kind, width, len(instructions), wavefronts, ideal * len(instructions), worst.count, worst
        )

    def _run(self) -> int:
        """Return the number of aligned neighbors in memory that a thread holds, in at most 16 bytes."""
        limit = self._limit
        for padding in self._padding:
            limit = min(limit, padding.interval, padding.amount)
        run = 1
        while run < limit and run in self.register:
            larger = [vector for vector in self.register if vector > run]
            if any(vector % (2 * run) for vector in (*larger, *self.lane, *self.warp)):
                break
            run *= 2
        return run

    def _is_within(self, vectors: Sequence[int]) -> bool:
        """Check whether any of the vectors changes the offset within 16 bytes."""
        return any(vector % (128 // self._bits) for vector in vectors)


def _sums(vectors: Sequence[int]) -> list[int]:
    """Return the sum (exclusive or) of each subset of the vectors; index bit i selects vector i."""
    sums = [0]
    for vector in vectors:
        sums += [subset ^ vector for subset in sums]
    return sums


def bank(byte: int) -> int:
    """Return the bank of a byte."""
    return byte // WORD % BANKS


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


@frozen
class SharedAccess:
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


@frozen
class AccessConflicts:
    """The bank conflicts of an access, and `plain`, those without the swizzle.

    `why_not` says why either is None. `times` is the number of identical operations on this line of Python.
    """

    access: SharedAccess
    conflicts: BankConflicts | None
    plain: BankConflicts | None
    why_not: str = ""
    times: int = 1


def shared_accesses(document: Document) -> list[SharedAccess]:
    """Return the operations that read or write buffers in shared memory, in the order of the text."""
    bodies = alias_bodies(document)
    accesses = []
    for operation in document.operations:
        if operation.opcode not in _BY_THREADS and operation.opcode not in _BY_UNITS:
            continue
        types = operation_tensors(document, operation, bodies)
        buffers = [tensor for tensor in types if tensor.shared]
        registers = next((tensor for tensor in types if not tensor.buffer), None)
        line = operation.location.outermost.line if operation.location else 0
        if operation.opcode in _BY_UNITS:
            how = _BY_UNITS[operation.opcode]
            accesses += [
                SharedAccess(operation.opcode, how, line, operation.line, buffer, None) for buffer in buffers
            ]
        elif buffers and registers is not None:
            how = _BY_THREADS[operation.opcode]
            limit = _CONTIGUITY.search(operation.normalized)
            contiguity = int(limit[1]) if limit else None
            accesses.append(
                SharedAccess(operation.opcode, how, line, operation.line, buffers[0], registers, contiguity)
            )
    return accesses


def access_conflicts(
    access: SharedAccess, layouts: Layouts, triton: Version, target: Target, instructions: AbstractSet[str]
) -> AccessConflicts:
    """Compute the bank conflicts of an access, with and without the buffer's swizzle.

    `instructions` are the ones of "ldmatrix" and "stmatrix" that the variant's PTX contains.
    """
    if access.registers is None:
        return AccessConflicts(access, None, None, f"{access.how}: wavefronts unknown")
    if target.backend != CUDA.name:
        whose = "AMD's LDS" if target.backend == HIP.name else f"{target.backend}'s shared memory"
        return AccessConflicts(access, None, None, f"conflicts in {whose} are not computed")
    matrices = _MATRICES.get(access.opcode, "") in instructions
    tensor, buffer = access.registers, access.buffer
    try:
        registers, memory = layouts.of(tensor), layouts.of(buffer)
        padding = paddings(buffer.attribute)
        real = bank_conflicts(registers, memory, buffer.bits, padding, matrices, access.contiguity)
    except UnknownLayoutError as error:
        return AccessConflicts(access, None, None, str(error))
    try:
        plain = linear_layout(without_swizzle(buffer.attribute), buffer.layout_shape, triton)
        without = bank_conflicts(registers, plain, buffer.bits, (), matrices, access.contiguity)
        return AccessConflicts(access, real, without)
    except UnknownLayoutError as error:
        return AccessConflicts(access, real, None, str(error))
