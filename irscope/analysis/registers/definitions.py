"""Reaching definitions: which instructions computed what a register holds at some point.

HMMA R4, ...       <- the definition that reaches the store, through the copy
MOV R9, R4
STG [R2], R9
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from irscope.languages.control_flow import ControlFlow
from irscope.languages.registers import RegisterAccess

# Values that an operation passes on: the value of each mask of registers before the operation.
Sources = Mapping[int, Sequence[tuple[int, int]]]

# Copies of copies of one register; more are a hostile text.
_MAX_COPIES = 16
# Steps for one document: an operation is one, a block that is entered _BLOCK. Real kernels need a tenth.
_BUDGET = 3_000_000
_BLOCK = 5


class Definitions:
    """The definitions of registers in one document.

    `passes_on` has the operations that only move a value: a copy passes on the register that it reads, a
    reload what was stored.
    """

    def __init__(
        self, graph: ControlFlow, accesses: Sequence[RegisterAccess], passes_on: Sources | None = None
    ) -> None:
        self._graph, self._accesses = graph, accesses
        self._passes_on = passes_on or {}
        self._of_copy: dict[int, frozenset[int]] = {}
        self._budget = _BUDGET

    def before(self, operation: int, mask: int, depth: int = 0) -> dict[int, set[int]]:
        """For each register of `mask` the operations that may have computed its value before `operation`.

        A register without any has an unknown value: it was never written, or the text is too tangled.
        """
        found: dict[int, set[int]] = {register: set() for register in bits(mask)}
        for at, defined in self._reaching(operation, mask):
            origins = self._origins(at, depth)
            for register in bits(defined):
                found[register] |= origins
        return found

    def _origins(self, operation: int, depth: int) -> frozenset[int]:
        """The operation itself, or those that computed what it passes on."""
        sources = self._passes_on.get(operation)
        if not sources or depth >= _MAX_COPIES:
            return frozenset([operation])
        if operation not in self._of_copy:
            self._of_copy[operation] = frozenset()  # a cycle of copies adds nothing
            found = [self.before(at, mask, depth + 1).values() for at, mask in sources]
            self._of_copy[operation] = frozenset().union(*(one for own in found for one in own))
        return self._of_copy[operation]

    def _reaching(self, operation: int, mask: int) -> Iterator[tuple[int, int]]:
        """The operations whose writes reach the point before `operation`, with the registers they write."""
        first = self._graph.block_of(operation)
        seen: dict[int, int] = {}
        work = [(first, operation - 1, mask)]
        while work and self._budget > 0:
            block, at, wanted = work.pop()
            self._budget -= _BLOCK
            start = self._graph.blocks[block].start
            while at >= start and wanted and self._budget > 0:
                self._budget -= 1
                access = self._accesses[at]
                if hit := access.writes & wanted:
                    yield at, hit
                    if access.certain:
                        wanted &= ~hit
                at -= 1
            for predecessor in self._graph.predecessors[block] if wanted else ():
                if fresh := wanted & ~seen.get(predecessor, 0):
                    seen[predecessor] = seen.get(predecessor, 0) | fresh
                    work.append((predecessor, self._graph.blocks[predecessor].end - 1, fresh))


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
