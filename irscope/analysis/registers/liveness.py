"""Liveness of registers: which hold a value that is still needed, before and after each operation.

A backward dataflow analysis over the control-flow graph: live-out(block) is the union of live-in of its
successors; live-in = reads before a write | (live-out - writes). Sets are bits of integers, so that a step
costs the same for 10 registers and for 200 (Cooper and Torczon, Engineering a Compiler, 8.6.1).

    @P0 MOV R3, R4   -> reads R4, writes R3, but R3 is live before it too: the write may not happen
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from irscope.languages.control_flow import ControlFlow
from irscope.languages.registers import RegisterAccess, RegisterFile

# The masks of a text have `blocks * registers` bits; a hostile text may not take more memory than this.
_MAX_BITS = 200_000_000
# Real code converges after its loop depth plus two passes over its blocks.
_MAX_PASSES = 50


class Liveness:
    """The live registers at each operation of a document."""

    def __init__(
        self, graph: ControlFlow, accesses: Sequence[RegisterAccess], file: RegisterFile, live_out: list[int]
    ) -> None:
        self.graph, self.accesses, self.file = graph, accesses, file
        self._live_out = live_out

    @cached_property
    def pressure(self) -> list[float]:
        """For each operation the registers that are occupied while it runs."""
        found = [0.0] * len(self.accesses)
        for block in range(len(self.graph.blocks)):
            for operation, occupied in self._walk(block):
                found[operation] = occupied
        return found

    def before(self, operation: int) -> int:
        """The mask of the registers that are live before an operation."""
        return self._around(operation)[0]

    def occupied(self, operation: int) -> int:
        """The mask of the registers that are live before or after an operation, or written by it."""
        before, after = self._around(operation)
        if self.file.virtual and self.file.count(before) >= self.file.count(after):
            return before
        return after if self.file.virtual else before | after

    def _around(self, operation: int) -> tuple[int, int]:
        block = self.graph.block_of(operation)
        live = self._live_out[block]
        for at in range(self.graph.blocks[block].end - 1, operation, -1):
            live = _before(self.accesses[at], live)
        access = self.accesses[operation]
        return _before(access, live), live | access.writes

    def _walk(self, block: int) -> Iterator[tuple[int, float]]:
        """The operations of a block from its last to its first, with the registers that are occupied."""
        live = self._live_out[block]
        own = self.graph.blocks[block]
        count, virtual = self.file.count, self.file.virtual
        number = count(live)
        for at in range(own.end - 1, own.start - 1, -1):
            access = self.accesses[at]
            dead = access.writes & ~live
            after = number + (count(dead) if dead else 0)
            if access.certain and (ended := access.writes & live):
                number -= count(ended)
                live &= ~ended
            if started := access.reads & ~live:
                number += count(started)
                live |= started
            if virtual:
                yield at, max(number, after)
            else:
                # Operands that are read last here are occupied together with the results.
                last = started & ~access.writes
                yield at, after + (count(last) if last else 0)


def liveness(graph: ControlFlow, accesses: Sequence[RegisterAccess], file: RegisterFile) -> Liveness | None:
    """The liveness of the registers of a document; None if it is too large or too tangled to know.

    `accesses` has one entry per operation of the document.
    """
    registers = sum(mask.bit_count() for mask, _ in file.weights)
    if len(graph.blocks) * registers > _MAX_BITS:
        return None
    live_out = _live_out(graph, accesses)
    return None if live_out is None else Liveness(graph, accesses, file, live_out)


def _before(access: RegisterAccess, live: int) -> int:
    """The registers that are live before an operation after which those in `live` are."""
    return (live & ~access.writes if access.certain else live) | access.reads


def _live_out(graph: ControlFlow, accesses: Sequence[RegisterAccess]) -> list[int] | None:
    """The registers that are live after each block; None if they were not found in _MAX_PASSES passes."""
    blocks = graph.blocks
    effects = [_effect(accesses, block.start, block.end) for block in blocks]
    live_in = [0] * len(blocks)
    live_out = [0] * len(blocks)
    reached = set(graph.reverse_postorder)
    order = [
        *reversed(graph.reverse_postorder),
        *(at for at in reversed(range(len(blocks))) if at not in reached),
    ]
    waiting = [True] * len(blocks)
    for _ in range(_MAX_PASSES):
        changed = False
        for block in order:
            if not waiting[block]:
                continue
            waiting[block] = False
            out = 0
            for successor in blocks[block].successors:
                out |= live_in[successor]
            live_out[block] = out
            reads, writes = effects[block]
            before = reads | (out & ~writes)
            if before != live_in[block]:
                live_in[block] = before
                changed = True
                for predecessor in graph.predecessors[block]:
                    waiting[predecessor] = True
        if not changed:
            return live_out
    return None


def _effect(accesses: Sequence[RegisterAccess], start: int, end: int) -> tuple[int, int]:
    """The registers that a block reads before it writes them, and those that it certainly writes."""
    reads = writes = 0
    for at in range(end - 1, start - 1, -1):
        access = accesses[at]
        if access.certain:
            reads &= ~access.writes
            writes |= access.writes
        reads |= access.reads
    return reads, writes
