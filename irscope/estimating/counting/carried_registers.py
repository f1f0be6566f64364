"""The registers that a loop carries: those that an iteration writes and the next one reads first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from irscope.estimating.counting.ptx_program import PtxProgram
from irscope.estimating.counting.steps import Space, Step, Steps
from irscope.languages.control_flow import NONE


def carried_registers(program: PtxProgram, steps: Steps) -> Mapping[int, Sequence[int]]:
    """The registers that each loop carries, by the block of its header."""
    tree = program.tree
    if not tree.loops:
        return {}
    live, writes = _live_registers(program, steps)
    found = {}
    for at, loop in enumerate(tree.loops):
        written = 0
        for block in tree.body(at):
            written |= writes[block]
        found[loop.header] = _members(written & live[loop.header])
    return found


def data_registers(steps: Steps) -> frozenset[int]:
    """The registers whose values depend on what is loaded from global memory, by shared memory, too."""
    found: set[int] = set()
    everything = [step for block in steps.blocks for step in block if step.results or step.access]
    before, through = -1, False
    while before != len(found):
        before = len(found)
        for step in everything:
            access = step.access
            if access is not None and access.space is Space.SHARED:
                through = through or not found.isdisjoint(access.data)
            loaded = access is not None and (access.space is Space.GLOBAL or through)
            if loaded or not found.isdisjoint(step.sources):
                found.update(step.results)
    return frozenset(found)


def _live_registers(program: PtxProgram, steps: Steps) -> tuple[list[int], list[int]]:
    """Bit sets: the registers that are read from the start of each block on, and those that each writes.

    Backward data flow (Aho et al., Compilers, 9.2.5).
    """
    blocks = program.tree.graph.blocks
    reads, kills, writes = [], [], []
    for own, ending in zip(steps.blocks, steps.exits, strict=True):
        read = killed = written = 0
        for step in own:
            read |= _bits(_read(step)) & ~killed
            results = _bits(step.results)
            written |= results
            if step.guard == NONE:
                killed |= results
        if ending.condition != NONE:
            read |= _bits([ending.condition]) & ~killed
        reads.append(read)
        kills.append(killed)
        writes.append(written)
    live = list(reads)
    changed = True
    while changed:
        changed = False
        for at in reversed(program.tree.graph.reverse_postorder):
            after = 0
            for following in blocks[at].successors:
                after |= live[following]
            before = reads[at] | (after & ~kills[at])
            if before != live[at]:
                live[at] = before
                changed = True
    return live, writes


def _bits(registers: Iterable[int]) -> int:
    found = 0
    for register in registers:
        found |= 1 << register
    return found


def _members(bits: int) -> list[int]:
    found = []
    while bits:
        found.append((bits & -bits).bit_length() - 1)
        bits &= bits - 1
    return found


def _read(step: Step) -> set[int]:
    read = set(step.sources)
    if step.guard != NONE:
        read.add(step.guard)
        read.update(step.results)
    for access in (step.access, step.access and step.access.source):
        if access is not None:
            read.update(at for at in (access.address, access.size) if at != NONE)
    if step.copy is not None:
        read.update((step.copy.descriptor, *step.copy.coordinates))
    return read
