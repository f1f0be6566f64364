"""The loops of a kernel in its assembly: which Python loop each is, and what runs before, in and after it.

    for k in range(...):         $L__BB0_2:  cp.async ...       in the loop of line 16
        x = tl.load(...)         above it:   cp.async ...       before the loop of line 16

`scf.for` and `scf.while` of TTGIR say which loops Python has. A loop of the assembly belongs to one of them
if its own instructions have the location of the statement, its last branch first. Compilers add loops: those
that wait for a barrier, those that dispatch warp-specialized work, and the remainder of an unrolled loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from irscope.analysis.scf_loops import Chain, ScfLoop, location_chain, loops_around, scf_loops
from irscope.languages.control_flow import NONE
from irscope.languages.document import Document
from irscope.languages.language_registry import language_named
from irscope.languages.loops import LoopTree, find_loops
from irscope.model.frozen_value import FrozenValue

# A loop that polls has its test, a branch, and few instructions that compute addresses.
_MOST_POLLING = 12
# Each search visits all blocks; kernels have a few loops whose lines are also outside of them.
_MOST_SEARCHES = 64


class Where(Enum):
    """The place of an instruction relative to the loop that its Python line is in."""

    BEFORE = "before"
    IN = "in"
    REMAINDER = "remainder"
    AFTER = "after"
    OUTSIDE = ""


class Region(NamedTuple):
    """A part of a kernel: before, in or after a loop. `loop` is the position of its statement in Python.

    `around` is that of the loop in which this part is before or after `loop`; () if it runs once.
    """

    where: Where
    loop: Chain = ()
    around: Chain = ()


OUTSIDE = Region(Where.OUTSIDE)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KernelLoop(FrozenValue):
    """A loop of the assembly that is a loop of the kernel.

    `natural` is its index in the loop tree, `scf` one of the TTGIR loops of its statement; `remainder` says
    that it runs the iterations that are left over by an unrolled loop.
    """

    natural: int
    scf: int
    chain: Chain
    remainder: bool = False


class LoopRegions:
    """The loops and regions of an assembly stage. `ttgir` is the TTGIR that it was made from."""

    def __init__(self, document: Document, ttgir: Document) -> None:
        self.document = document
        self.tree: LoopTree = find_loops(document)
        self.ttgir = ttgir
        self.scf: Sequence[ScfLoop] = scf_loops(ttgir)
        self._regions: dict[tuple[int, Chain], Region] = {}
        self._reached: dict[tuple[int, ...], tuple[Set[int], Set[int]]] = {}
        self._by_chain: dict[Chain, list[int]] = {}
        for index, loop in enumerate(self.scf):
            self._by_chain.setdefault(loop.chain, []).append(index)

    @property
    def known(self) -> bool:
        """Whether the loops of all functions are known."""
        return not self.tree.unknown

    @cached_property
    def chains(self) -> Sequence[Chain]:
        """The loop statements of the kernel, in the order of TTGIR."""
        return list(self._by_chain)

    @cached_property
    def loops(self) -> Sequence[KernelLoop]:
        """The loops of the assembly that are loops of the kernel, outer ones first."""
        naturals: dict[Chain, list[int]] = {}
        for natural, chain in self._assign().items():
            naturals.setdefault(chain, []).append(natural)
        found: list[KernelLoop] = []
        for chain, own in naturals.items():
            scf, remainders = self._by_chain[chain], self._remainders(chain, own)
            for place, natural in enumerate(own):
                index = scf[place] if len(own) == len(scf) else scf[0]
                found.append(KernelLoop(natural, index, chain, natural in remainders))
        return sorted(found, key=lambda loop: loop.natural)

    @cached_property
    def _loop_of_natural(self) -> Mapping[int, KernelLoop]:
        return {loop.natural: loop for loop in self.loops}

    def _around(self, natural: int) -> Iterator[KernelLoop]:
        """The loops of the kernel around (and including) a natural loop, innermost first."""
        while natural != NONE:
            if natural in self._loop_of_natural:
                yield self._loop_of_natural[natural]
            natural = self.tree.loops[natural].parent

    def instructions(self, loop: KernelLoop, inner: bool = True) -> int:
        """How many instructions a loop has, those of loops inside of it counted once."""
        blocks = self.tree.graph.blocks
        own = self.tree.body(loop.natural) if inner else self.tree.bodies[loop.natural]
        return sum(blocks[block].end - blocks[block].start for block in own)

    def main(self, chain: Chain) -> Sequence[KernelLoop]:
        """The loops of a statement without remainders: several if it runs in several groups of warps."""
        return [loop for loop in self.loops if loop.chain == chain and not loop.remainder]

    def loop_of(self, operation: int) -> KernelLoop | None:
        """Return the innermost loop of the kernel that an operation is in."""
        return next(self._around(self.tree.loop_of(operation)), None)

    def region(self, operation: int) -> Region:
        """The region of an operation."""
        block = self.tree.graph.block_of(operation)
        home = self.home(location_chain(self.document.operations[operation].location))
        if (block, home) not in self._regions:
            self._regions[block, home] = self._region(block, home)
        return self._regions[block, home]

    def _region(self, block: int, home: Chain) -> Region:
        """The region of an instruction in `block` whose Python line is in the loop `home`."""
        around = list(self._around(self.tree.innermost[block]))
        if home and home not in [loop.chain for loop in around] and home in self._headers:
            headers = self._headers[home]
            if around:
                headers = [
                    header for header in headers if around[0] in self._around_header(header)
                ] or headers
            earlier, later = self._before_and_after(tuple(headers))
            if block in later or block in earlier:
                outer = around[0].chain if around else ()
                return Region(Where.AFTER if block in later else Where.BEFORE, home, outer)
        if not around:
            return OUTSIDE
        return Region(Where.REMAINDER if around[0].remainder else Where.IN, around[0].chain)

    def _before_and_after(self, headers: tuple[int, ...]) -> tuple[Set[int], Set[int]]:
        """The blocks that reach a header without an edge back to a loop, and those that one reaches so.

        Others run instead of the loops: a path around them, or another group of warps, since all groups are
        in the loop that dispatches work to them. Unknown, so empty, for the headers after the first
        `_MOST_SEARCHES`.
        """
        if headers not in self._reached and len(self._reached) < _MOST_SEARCHES:
            into, out_of = self._forward_edges
            self._reached[headers] = _reachable(headers, into), _reachable(headers, out_of)
        return self._reached.get(headers, (frozenset(), frozenset()))

    @cached_property
    def _forward_edges(self) -> tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]:
        """The predecessors and successors of each block along the edges that do not repeat a loop."""
        blocks = self.tree.graph.blocks
        latches = {(latch, loop.header) for loop in self.tree.loops for latch in loop.latches}
        out_of = [
            [other for other in block.successors if (at, other) not in latches]
            for at, block in enumerate(blocks)
        ]
        into: list[list[int]] = [[] for _ in blocks]
        for at, successors in enumerate(out_of):
            for other in successors:
                into[other].append(at)
        return into, out_of

    def _around_header(self, header: int) -> list[KernelLoop]:
        return list(self._around(self.tree.innermost[header]))

    @cached_property
    def _headers(self) -> Mapping[Chain, Sequence[int]]:
        """The headers of the loops of each statement."""
        found: dict[Chain, list[int]] = {}
        for loop in self.loops:
            found.setdefault(loop.chain, []).append(self.tree.loops[loop.natural].header)
        return found

    def home(self, chain: Chain) -> Chain:
        """The statement of the innermost loop that has operations of a Python position in TTGIR."""
        return self._homes.get(chain, ())

    @cached_property
    def _homes(self) -> Mapping[Chain, Chain]:
        found: dict[Chain, int] = {}
        for operation, loop in zip(self.ttgir.operations, self._scf_around, strict=True):
            if loop != NONE:
                chain = location_chain(operation.location)
                if chain not in found or self.scf[found[chain]].depth < self.scf[loop].depth:
                    found[chain] = loop
        return {chain: self.scf[loop].chain for chain, loop in found.items()}

    @cached_property
    def _scf_around(self) -> Sequence[int]:
        return loops_around(self.ttgir, list(self.scf))

    @cached_property
    def _position(self) -> Mapping[int, int]:
        return {block: at for at, block in enumerate(self.tree.graph.reverse_postorder)}

    def _assign(self) -> dict[int, Chain]:
        """The statement of each loop that has one. A loop around one of the same statement has none."""
        found: dict[int, Chain] = {}
        taken: list[set[Chain]] = [set() for _ in self.tree.loops]
        for natural in range(len(self.tree.loops) - 1, -1, -1):
            chain = self._statement(natural, taken[natural])
            if chain is not None:
                found[natural] = chain
                taken[natural].add(chain)
            parent = self.tree.loops[natural].parent
            if parent != NONE:
                taken[parent] |= taken[natural]
        return dict(sorted(found.items()))

    def _statement(self, natural: int, taken: set[Chain]) -> Chain | None:
        """The statement that the own instructions of a loop are located at."""
        blocks, operations = self.tree.graph.blocks, self.document.operations
        own = [
            at for block in self.tree.bodies[natural] for at in range(blocks[block].start, blocks[block].end)
        ]
        polls = language_named(self.document.language).polls
        if len(own) <= _MOST_POLLING and any(polls.search(operations[at].opcode) for at in own):
            return None
        located = Counter(location_chain(operations[at].location) for at in own)
        candidates = [chain for chain in located if chain in self._by_chain and chain not in taken]
        if not candidates:
            return None
        latches = {
            location_chain(operations[blocks[block].end - 1].location)
            for block in self.tree.loops[natural].latches
        }
        votes = Counter(self.home(chain) for chain in located.elements())
        return max(candidates, key=lambda chain: (chain in latches, votes[chain], located[chain]))

    def _remainders(self, chain: Chain, loops: Sequence[int]) -> set[int]:
        """The loops that run what an unrolled loop of the same statement leaves over."""
        scf = [self.scf[index] for index in self._by_chain[chain]]
        left_over = sum(any(_follows(loop, other) for other in scf) for loop in scf)
        statements = len(scf) - left_over
        if statements != 1 or len(loops) == 1:
            return set()  # several groups of warps run it
        blocks = self.tree.graph.blocks
        size = {
            loop: sum(blocks[block].end - blocks[block].start for block in self.tree.body(loop))
            for loop in loops
        }
        first = min(loops, key=lambda loop: self._position.get(self.tree.loops[loop].header, 0))
        main = first if len(loops) == len(scf) else max(loops, key=lambda loop: size[loop])
        return {loop for loop in loops if loop != main}


def _follows(loop: ScfLoop, other: ScfLoop) -> bool:
    """Whether a loop goes on where another one ends, as the remainder of an unrolled loop does."""
    return loop is not other and loop.lower is not None and loop.lower == other.upper


def _reachable(starts: Iterable[int], edges: Sequence[Sequence[int]]) -> Set[int]:
    """The blocks that a path of one or more edges leads to."""
    found: set[int] = set()
    work = list(starts)
    while work:
        following = [other for other in edges[work.pop()] if other not in found]
        found.update(following)
        work += following
    return found
