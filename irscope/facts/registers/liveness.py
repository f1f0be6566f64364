"""Liveness of registers: which hold a value that is still needed, before and after each operation.

A backward dataflow analysis over the control-flow graph: live-out(block) is the union of live-in of its
successors; live-in = reads before a write | (live-out - writes). Sets are bits of integers, so that a step
costs the same for 10 registers and for 200 (Cooper and Torczon, Engineering a Compiler, 8.6.1).

    @P0 MOV R3, R4   -> reads R4, writes R3, but R3 is live before it too: the write may not happen

Reaching definitions: which instructions computed what a register holds at some point.

HMMA R4, ...       <- the definition that reaches the store, through the copy
MOV R9, R4
STG [R2], R9

The registers of one assembly stage: liveness, and definitions through copies and through the stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from irscope.languages.control_flow import ControlFlow, control_flow
from irscope.languages.document import Document
from irscope.languages.language import Language
from irscope.languages.registers import NO_ACCESS, RegisterAccess, RegisterFile, RegisterUse
from irscope.model.records import frozen_with_dict

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
        """Map each operation to the registers that are occupied while it runs."""
        by_operation = [0.0] * len(self.accesses)
        for block in range(len(self.graph.blocks)):
            for operation, occupied in self._walk(block):
                by_operation[operation] = occupied
        return by_operation

    def before(self, operation: int) -> int:
        """Return the mask of the registers that are live before an operation."""
        return self._around(operation)[0]

    def occupied(self, operation: int) -> int:
        """Return the mask of the registers that are live before or after an operation, or written by it."""
        before, after = self._around(operation)
        if self.file.virtual and self.file.count(before) >= self.file.count(after):
            return before
        return after if self.file.virtual else before | after

    def _around(self, operation: int) -> tuple[int, int]:
        block = self.graph.block_of(operation)
        live = self._live_out[block]
        for index in range(self.graph.blocks[block].end - 1, operation, -1):
            live = _before(self.accesses[index], live)
        access = self.accesses[operation]
        return _before(access, live), live | access.writes

    def _walk(self, block: int) -> Iterator[tuple[int, float]]:
        """Yield the operations of a block, last to first, with the registers that are occupied."""
        live = self._live_out[block]
        bounds = self.graph.blocks[block]
        count, virtual = self.file.count, self.file.virtual
        number = count(live)
        for index in range(bounds.end - 1, bounds.start - 1, -1):
            access = self.accesses[index]
            dead = access.writes & ~live
            after = number + (count(dead) if dead else 0)
            if access.certain and (ended := access.writes & live):
                number -= count(ended)
                live &= ~ended
            if started := access.reads & ~live:
                number += count(started)
                live |= started
            if virtual:
                yield index, max(number, after)
            else:
                # Operands that are read last here are occupied together with the results.
                last = started & ~access.writes
                yield index, after + (count(last) if last else 0)


def liveness(graph: ControlFlow, accesses: Sequence[RegisterAccess], file: RegisterFile) -> Liveness | None:
    """Return the liveness of a document's registers, or None if it is too large or too tangled.

    `accesses` has one entry per operation of the document.
    """
    registers = sum(mask.bit_count() for mask, _ in file.weights)
    if len(graph.blocks) * registers > _MAX_BITS:
        return None
    effects = [effect(accesses[block.start : block.end]) for block in graph.blocks]
    after = live_out(graph, effects)
    return None if after is None else Liveness(graph, accesses, file, after)


def _before(access: RegisterAccess, live: int) -> int:
    """Return the registers that are live before an operation after which those in `live` are."""
    return (live & ~access.writes if access.certain else live) | access.reads


def live_out(graph: ControlFlow, effects: Sequence[tuple[int, int]]) -> list[int] | None:
    """Return the registers that are live after each block, or None if the control flow is too tangled.

    `effects` are those of the blocks, as `effect` returns them.
    """
    blocks = graph.blocks
    live_in = [0] * len(blocks)
    live_after = [0] * len(blocks)
    reached = set(graph.reverse_postorder)
    order = [
        *reversed(graph.reverse_postorder),
        *(number for number in reversed(range(len(blocks))) if number not in reached),
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
            live_after[block] = out
            reads, writes = effects[block]
            before = reads | (out & ~writes)
            if before != live_in[block]:
                live_in[block] = before
                changed = True
                for predecessor in graph.predecessors[block]:
                    waiting[predecessor] = True
        if not changed:
            return live_after
    return None


def effect(accesses: Sequence[RegisterAccess]) -> tuple[int, int]:
    """Return the registers that operations read before they write them, and those they certainly write."""
    reads = writes = 0
    for access in reversed(accesses):
        if access.certain:
            reads &= ~access.writes
            writes |= access.writes
        reads |= access.reads
    return reads, writes


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
        """Map each register of `mask` to the operations that may have computed it before `operation`.

        A register without any has an unknown value: it was never written, or the text is too tangled.
        """
        by_register: dict[int, set[int]] = {register: set() for register in bits(mask)}
        for definition, defined in self._reaching(operation, mask):
            origins = self._origins(definition, depth)
            for register in bits(defined):
                by_register[register] |= origins
        return by_register

    def _origins(self, operation: int, depth: int) -> frozenset[int]:
        """Return the operation itself, or those that computed what it passes on."""
        sources = self._passes_on.get(operation)
        if not sources or depth >= _MAX_COPIES:
            return frozenset([operation])
        if operation not in self._of_copy:
            self._of_copy[operation] = frozenset()  # a cycle of copies adds nothing
            definitions = [self.before(source, mask, depth + 1).values() for source, mask in sources]
            self._of_copy[operation] = frozenset().union(
                *(operations for by_register in definitions for operations in by_register)
            )
        return self._of_copy[operation]

    def _reaching(self, operation: int, mask: int) -> Iterator[tuple[int, int]]:
        """Yield the operations whose writes reach the point before `operation`, with those registers."""
        first = self._graph.block_of(operation)
        searched: dict[int, int] = {}
        work = [(first, operation - 1, mask)]
        while work and self._budget > 0:
            block, index, remaining = work.pop()
            self._budget -= _BLOCK
            start = self._graph.blocks[block].start
            while index >= start and remaining and self._budget > 0:
                self._budget -= 1
                access = self._accesses[index]
                if hit := access.writes & remaining:
                    yield index, hit
                    if access.certain:
                        remaining &= ~hit
                index -= 1
            for predecessor in self._graph.predecessors[block] if remaining else ():
                if fresh := remaining & ~searched.get(predecessor, 0):
                    searched[predecessor] = searched.get(predecessor, 0) | fresh
                    work.append((predecessor, self._graph.blocks[predecessor].end - 1, fresh))


def bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@frozen_with_dict
class MachineCode:
    """The registers of a document in an assembly language."""

    document: Document
    use: RegisterUse
    liveness: Liveness

    @cached_property
    def reaching_stores(self) -> Mapping[int, Sequence[int]]:
        """Map each reload with a known slot to the stores whose value it may read."""
        accesses = [NO_ACCESS] * len(self.use.accesses)
        number: dict[int, int] = {}
        for access in self.use.stack:
            slots = sum(1 << number.setdefault(slot, len(number)) for slot in access.slots)
            certain = self.use.accesses[access.operation].certain
            reads, writes = (0, slots) if access.stores else (slots, 0)
            accesses[access.operation] = RegisterAccess(reads, writes, certain)
        definitions = Definitions(self.liveness.graph, accesses)
        return {
            access.operation: sorted(
                set().union(*definitions.before(access.operation, accesses[access.operation].reads).values())
            )
            for access in self.use.stack
            if access.slots and not access.stores
        }

    @cached_property
    def definitions(self) -> Definitions:
        """Return the definitions of registers, through copies and through the stack."""
        passes_on = {operation: [(operation, source)] for operation, source in self.use.copies.items()}
        stored = {access.operation: access.stored for access in self.use.stack if access.stores}
        for reload, stores in self.reaching_stores.items():
            passes_on[reload] = [(operation, stored[operation]) for operation in stores]
        return Definitions(self.liveness.graph, self.use.accesses, passes_on)


def machine_code(document: Document) -> MachineCode | None:
    """Return the registers of an assembly stage, or None for other languages and too tangled texts."""
    read = Language.named(document.language).registers
    if read is None or not document.operations:
        return None
    use = read(document)
    live = liveness(control_flow(document), use.accesses, use.file)
    return None if live is None else MachineCode(document, use, live)
