"""Shared memory's banks: which a warp's access touches, and how many turns it takes.

NVIDIA: 32 banks of 4 bytes. A warp's access of up to 4 bytes a thread is served at once, of 8 bytes in two
halves, of 16 in four quarters (CUDA C++ Programming Guide, "Shared Memory"; "Using Shared Memory"). In one
turn a bank gives one word; threads that want the same word share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.gf2 import Inverse, Span
from irscope.layouts.linear import LinearLayout, flat
from irscope.layouts.shared import Padding, padded

BANKS = 32
WORD = 4  # bytes
_WIDEST = 16  # bytes
_ROW = 128  # bytes that all banks give in a turn
_MOST_BITS = 13  # of registers and warps: no real block has more elements for each lane


@dataclass(frozen=True, slots=True)
class Wavefronts:
    """What one pass of a warp asks of the banks: `lanes` in it and the byte that each begins at."""

    lanes: tuple[int, ...]
    addresses: tuple[int, ...]
    width: int

    @property
    def words(self) -> dict[int, set[int]]:
        """Bank -> the words that are wanted of it."""
        wanted: dict[int, set[int]] = {}
        for address in self.addresses:
            for word in range(address // WORD, (address + self.width - 1) // WORD + 1):
                wanted.setdefault(word % BANKS, set()).add(word)
        return wanted

    @property
    def count(self) -> int:
        """How many turns it takes: the most words that any bank has to give."""
        return max(map(len, self.words.values()), default=0)


@dataclass(frozen=True, slots=True)
class Conflicts:
    """An access of a whole block to shared memory.

    `width` is in bytes a thread and instruction; `instructions` counts those of one warp; `turns` and
    `least` are of one warp for all its instructions, as it is and if no two lanes got into each other's
    way; `ways` is the most turns of a pass.
    `worst` is that pass, of warp 0 where it is one of the worst. `kind` says how the elements are read.
    """

    kind: str
    width: int
    instructions: int
    turns: int
    least: int
    ways: int
    worst: Wavefronts


class Addresses:
    """The byte at which each element of a buffer lies.

    Raises UnknownLayoutError for a layout that is not one of shared memory.
    """

    def __init__(self, memory: LinearLayout, bits: int, padding: Sequence[Padding] = ()) -> None:
        if "offset" not in memory.bases:
            raise UnknownLayoutError("a layout that is not one of shared memory")
        self._shape, self._bits, self._padding = memory.shape, bits, padding
        columns = [flat(vector, memory.shape) for vector in memory.bases["offset"]]
        self._offset = Inverse(columns)

    def offset(self, element: Sequence[int]) -> int:
        """The place of an element in the buffer, counted in elements, without padding."""
        found = self._offset(flat(element, self._shape))
        if found is None:
            raise UnknownLayoutError("a buffer that does not hold the element")
        return found

    def byte(self, element: Sequence[int]) -> int:
        """The byte at which an element begins."""
        return self.at(self.offset(element))

    def at(self, offset: int) -> int:
        """The byte of a place in the buffer, padding counted."""
        return padded(offset, self._padding) * self._bits // 8


def conflicts(
    registers: LinearLayout,
    memory: LinearLayout,
    bits: int,
    padding: Sequence[Padding] = (),
    matrices: bool = False,
    neighbours: int | None = None,
) -> Conflicts:
    """What it takes a block's threads to move a tensor with the layout `registers` to or from a buffer.

    `bits` is the size of an element; `matrices`: by ldmatrix or stmatrix where the layouts allow them;
    `neighbours`: at most so many elements at once.
    Raises UnknownLayoutError where that cannot be told.
    """
    access = _Access(registers, memory, bits, padding, neighbours)
    if matrices and (rows := access.matrix_rows()) is not None:
        return access.by_matrices(*rows)
    return access.by_vectors()


class _Access:
    """The offset of each place in registers, as vectors of bits."""

    def __init__(
        self,
        registers: LinearLayout,
        memory: LinearLayout,
        bits: int,
        padding: Sequence[Padding],
        neighbours: int | None,
    ) -> None:
        if bits < 8 or bits % 8:
            raise UnknownLayoutError(f"elements of {bits} bits in shared memory")
        if registers.size("lane") != BANKS:
            raise UnknownLayoutError(f"banks for warps of {registers.size('lane')} lanes are not known")
        self._addresses = Addresses(memory, bits, padding)
        self._bits, self._padding = bits, padding
        self._limit = min(neighbours or BANKS, _WIDEST * 8 // bits)
        reached = Span()
        self.register = [v for v in self._offsets(registers, "register") if reached.add(v)]
        self.lane = self._offsets(registers, "lane")
        self.warp = self._offsets(registers, "warp")
        if len(self.register) + len(self.warp) > _MOST_BITS:
            raise UnknownLayoutError("more accesses than are counted here")

    def _offsets(self, layout: LinearLayout, name: str) -> list[int]:
        return [self._addresses.offset(vector) for vector in layout.bases.get(name, ())]

    def by_vectors(self) -> Conflicts:
        """Each thread moves as many neighbours at once as it holds, up to 16 bytes."""
        run = self._run()
        width = run * self._bits // 8
        rest = [vector for vector in self.register if vector >= run]
        lanes = _sums(self.lane)
        size = max(1, min(BANKS, _ROW // max(width, WORD)))
        passes = [tuple(range(first, first + size)) for first in range(0, BANKS, size)]
        return self._counted("vector", width, _sums(rest), lanes, passes, len(passes))

    def matrix_rows(self) -> tuple[list[int], list[int]] | None:
        """For ldmatrix: the offsets of the 8 rows of 16 bytes of one matrix, and of what repeats it.

        A row of one matrix is what four lanes hold as 4 bytes each; of a transposed one (of 16 bits) what
        eight lanes hold as one element each.
        """
        run, word = self._run(), 32 // self._bits
        if self._bits > 32 or len(self.lane) != 5:
            return None
        if run >= word and self.lane[:2] == [word, 2 * word] and not self._low(16, self.lane[2:]):
            return self.lane[2:], [v for v in self.register if v >= word and not self._low(16, [v])]
        if self._bits == 16 and self.lane[2:] == [1, 2, 4] and self.register[:1] and not self._padding:
            rows = [self.register[0], *self.lane[:2]]
            if not self._low(16, rows):
                return rows, self.register[1:]
        return None

    def by_matrices(self, rows: list[int], rest: list[int]) -> Conflicts:
        """Each matrix is 8 rows of 16 bytes, moved at once; lanes count as the rows that they give."""
        passes = [tuple(range(8))]
        return self._counted("matrix", _WIDEST, _sums(rest), _sums(rows), passes, 1)

    def _counted(
        self,
        kind: str,
        width: int,
        instructions: list[int],
        lanes: list[int],
        passes: list[tuple[int, ...]],
        least: int,
    ) -> Conflicts:
        warps = _sums(self.warp)
        worst, turns = None, 0
        for warp, first in enumerate(warps):
            for instruction in instructions:
                for members in passes:
                    addresses = tuple(self._addresses.at(first ^ instruction ^ lanes[i]) for i in members)
                    one = Wavefronts(members, addresses, width)
                    turns += one.count if warp == 0 else 0
                    if worst is None or one.count > worst.count:
                        worst = one
        if worst is None:
            raise UnknownLayoutError("an access of nothing")
        return Conflicts(kind, width, len(instructions), turns, least * len(instructions), worst.count, worst)

    def _run(self) -> int:
        """How many neighbours in memory a thread's registers hold, aligned, and in at most 16 bytes."""
        limit = self._limit
        for padding in self._padding:
            limit = min(limit, padding.interval, padding.amount)
        run = 1
        while run < limit and run in self.register:
            others = [vector for vector in self.register if vector > run]
            if any(vector % (2 * run) for vector in (*others, *self.lane, *self.warp)):
                break
            run *= 2
        return run

    def _low(self, width: int, vectors: Sequence[int]) -> bool:
        """Whether any of the vectors moves within `width` bytes."""
        return any(vector % (width * 8 // self._bits) for vector in vectors)


def _sums(vectors: Sequence[int]) -> list[int]:
    """The exclusive or of each choice of the vectors, by the number whose bits choose."""
    sums = [0]
    for vector in vectors:
        sums += [known ^ vector for known in sums]
    return sums


def bank(byte: int) -> int:
    """The bank that a byte lies in."""
    return byte // WORD % BANKS
