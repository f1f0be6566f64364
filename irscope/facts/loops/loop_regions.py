"""The loops of a kernel in its assembly: which Python loop each is, and what runs before, in and after it.

    for k in range(...):         $L__BB0_2:  cp.async ...       in the loop of line 16
        x = tl.load(...)         above it:   cp.async ...       before the loop of line 16

`scf.for` and `scf.while` of TTGIR say which loops Python has. A loop of the assembly belongs to one of them
if its own instructions have the location of the statement, its last branch first. Compilers add loops: those
that wait for a barrier, those that dispatch warp-specialized work, and the remainder of an unrolled loop.

How many iterations of the Python loop one pass through a loop of the assembly runs.

Triton unrolls on request (`tl.range(loop_unroll_factor=4)`): TTGIR then has two loops of one statement, the
second of which starts where the first ends, with steps in the ratio of the factor. LLVM and ptxas unroll
without any mark. The factor follows from the work: a load of tensor<1024xf32> in a layout that gives each
thread 8 elements moves 32 bytes per thread and iteration, so a pass that moves 128 bytes is four iterations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from enum import Enum
from functools import cached_property
from math import prod
from typing import NamedTuple

from irscope.facts.accesses.axis_info import AxisFlow
from irscope.facts.accesses.launch_values import integer_values
from irscope.facts.loops.machine_loops import loop_sizes, operations_in, polls
from irscope.facts.loops.scf import Chain, ScfLoop, integer_of, location_chain, loops_around, scf_loops
from irscope.languages.control_flow import NONE, LoopTree, find_loops
from irscope.languages.document import Document, Layout, Operation
from irscope.languages.mlir.value_types import ShapedType, operand_types
from irscope.model.records import frozen, grouped
from irscope.targets.instructions import InstructionKind

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


@frozen
class KernelLoop:
    """A loop of the assembly that is a loop of the kernel.

    `natural` is its index in the loop tree, `scf` one of the TTGIR loops of its statement; `remainder` says
    that it runs the iterations that are left over by an unrolled loop.
    """

    natural: int
    scf: int
    chain: Chain
    remainder: bool


class LoopRegions:
    """The loops and regions of an assembly stage. `ttgir` is the TTGIR that it was made from."""

    def __init__(self, document: Document, ttgir: Document) -> None:
        self.document = document
        self.tree: LoopTree = find_loops(document)
        self.ttgir = ttgir
        self.scf: Sequence[ScfLoop] = scf_loops(ttgir)
        self._regions: dict[tuple[int, Chain], Region] = {}
        self._reached: dict[tuple[int, ...], tuple[Set[int], Set[int]]] = {}
        self.scf_around = loops_around(ttgir, self.scf)
        self.sizes = loop_sizes(self.tree)
        self._by_chain = grouped(range(len(self.scf)), lambda index: self.scf[index].chain)

    @property
    def known(self) -> bool:
        """Return True if the loops of all functions are known."""
        return not self.tree.unknown

    @cached_property
    def chains(self) -> Sequence[Chain]:
        """Return the loop statements of the kernel, in the order of TTGIR."""
        return list(self._by_chain)

    @cached_property
    def loops(self) -> Sequence[KernelLoop]:
        """Return the loops of the assembly that are loops of the kernel, outer ones first."""
        statements = self._assign()
        naturals = grouped(statements, statements.__getitem__)
        kernel_loops: list[KernelLoop] = []
        for chain, statement_loops in naturals.items():
            scf, remainders = self._by_chain[chain], self._remainders(chain, statement_loops)
            for position, natural in enumerate(statement_loops):
                index = scf[position] if len(statement_loops) == len(scf) else scf[0]
                kernel_loops.append(KernelLoop(natural, index, chain, natural in remainders))
        return sorted(kernel_loops, key=lambda loop: loop.natural)

    @cached_property
    def _loop_of_natural(self) -> Mapping[int, KernelLoop]:
        return {loop.natural: loop for loop in self.loops}

    def _around(self, natural: int) -> Iterator[KernelLoop]:
        """Yield the loops of the kernel around (and including) a natural loop, innermost first."""
        while natural != NONE:
            if natural in self._loop_of_natural:
                yield self._loop_of_natural[natural]
            natural = self.tree.loops[natural].parent

    def main(self, chain: Chain) -> Sequence[KernelLoop]:
        """Return the loops of a statement without remainders: several if several groups of warps run it."""
        return [loop for loop in self.loops if loop.chain == chain and not loop.remainder]

    def loop_of(self, operation: int) -> KernelLoop | None:
        """Return the innermost loop of the kernel that an operation is in."""
        return next(self._around(self.tree.loop_of(operation)), None)

    def region(self, operation: int) -> Region:
        """Return the region of an operation."""
        block = self.tree.graph.block_of(operation)
        home = self.home(location_chain(self.document.operations[operation].location))
        if (block, home) not in self._regions:
            self._regions[block, home] = self._region(block, home)
        return self._regions[block, home]

    def _region(self, block: int, home: Chain) -> Region:
        """Return the region of an instruction in `block` whose Python line is in the loop `home`."""
        around = list(self._around(self.tree.innermost[block]))
        if home and home not in [loop.chain for loop in around] and home in self._headers:
            headers = self._headers[home]
            if around:
                within = [
                    header for header in headers if around[0] in self._around(self.tree.innermost[header])
                ]
                headers = within or headers
            earlier, later = self._before_and_after(tuple(headers))
            if block in later or block in earlier:
                outer = around[0].chain if around else ()
                return Region(Where.AFTER if block in later else Where.BEFORE, home, outer)
        if not around:
            return OUTSIDE
        return Region(Where.REMAINDER if around[0].remainder else Where.IN, around[0].chain)

    def _before_and_after(self, headers: tuple[int, ...]) -> tuple[Set[int], Set[int]]:
        """Return the blocks that reach a header without an edge back to a loop, and those reached so.

        Others run instead of the loops: a path around them, or another group of warps, since all
        groups are in the loop that dispatches work to them. Unknown, so empty, for the headers after
        the first `_MOST_SEARCHES`.
        """
        if headers not in self._reached and len(self._reached) < _MOST_SEARCHES:
            into, out_of = self._forward_edges
            self._reached[headers] = _reachable(headers, into), _reachable(headers, out_of)
        return self._reached.get(headers, (frozenset(), frozenset()))

    @cached_property
    def _forward_edges(self) -> tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]:
        """Return each block's predecessors and successors along the edges that do not repeat a loop."""
        blocks = self.tree.graph.blocks
        latches = {(latch, loop.header) for loop in self.tree.loops for latch in loop.latches}
        out_of = [
            [successor for successor in block.successors if (number, successor) not in latches]
            for number, block in enumerate(blocks)
        ]
        into: list[list[int]] = [[] for _ in blocks]
        for number, successors in enumerate(out_of):
            for successor in successors:
                into[successor].append(number)
        return into, out_of

    @cached_property
    def _headers(self) -> Mapping[Chain, Sequence[int]]:
        """Map each statement to the headers of its loops."""
        return {
            chain: [self.tree.loops[loop.natural].header for loop in loops]
            for chain, loops in grouped(self.loops, lambda loop: loop.chain).items()
        }

    def home(self, chain: Chain) -> Chain:
        """Return the statement of the innermost loop that has operations of a Python position in TTGIR."""
        return self._homes.get(chain, ())

    @cached_property
    def _homes(self) -> Mapping[Chain, Chain]:
        innermost_loops: dict[Chain, ScfLoop] = {}
        for operation, number in zip(self.ttgir.operations, self.scf_around, strict=True):
            if number != NONE:
                chain, loop = location_chain(operation.location), self.scf[number]
                if innermost_loops.setdefault(chain, loop).depth < loop.depth:
                    innermost_loops[chain] = loop
        return {chain: loop.chain for chain, loop in innermost_loops.items()}

    @cached_property
    def _position(self) -> Mapping[int, int]:
        return {block: position for position, block in enumerate(self.tree.graph.reverse_postorder)}

    def _assign(self) -> dict[int, Chain]:
        """Map each loop to its Python statement.

        A loop around one of the same statement gets none.
        """
        statements: dict[int, Chain] = {}
        inner_statements: list[set[Chain]] = [set() for _ in self.tree.loops]
        for natural in range(len(self.tree.loops) - 1, -1, -1):
            chain = self._statement(natural, inner_statements[natural])
            if chain is not None:
                statements[natural] = chain
                inner_statements[natural].add(chain)
            parent = self.tree.loops[natural].parent
            if parent != NONE:
                inner_statements[parent] |= inner_statements[natural]
        return dict(sorted(statements.items()))

    def _statement(self, natural: int, taken: set[Chain]) -> Chain | None:
        """Return the statement that the own instructions of a loop are located at."""
        blocks, operations = self.tree.graph.blocks, self.document.operations
        operation_indices = operations_in(self.tree, self.tree.bodies[natural])
        if polls(self.document, operation_indices):
            return None
        located = Counter(location_chain(operations[index].location) for index in operation_indices)
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
        """Return the loops that run what an unrolled loop of the same statement leaves over."""
        scf = [self.scf[index] for index in self._by_chain[chain]]
        remainders = sum(any(loop.follows(candidate) for candidate in scf) for loop in scf)
        if len(scf) - remainders != 1 or len(loops) == 1:
            return set()  # several groups of warps run it
        first = min(loops, key=lambda loop: self._position[self.tree.loops[loop].header])
        main = first if len(loops) == len(scf) else max(loops, key=lambda loop: self.sizes[loop])
        return {loop for loop in loops if loop != main}


def _reachable(starts: Iterable[int], edges: Sequence[Sequence[int]]) -> Set[int]:
    """Return the blocks that a path of one or more edges leads to."""
    reached: set[int] = set()
    work = list(starts)
    while work:
        following = [target for target in edges[work.pop()] if target not in reached]
        reached.update(following)
        work += following
    return reached


_ACCESSES = {
    "tt.load": "global load",
    "amdg.buffer_load": "global load",
    "amdgpu.buffer_load": "global load",
    "ttg.async_copy_global_to_local": "global load",
    "amdg.buffer_load_to_local": "global load",
    "amdgpu.buffer_load_to_local": "global load",
    "tt.store": "global store",
    "amdg.buffer_store": "global store",
    "amdgpu.buffer_store": "global store",
}
_POINTER = re.compile(r"!tt\.ptr<([a-z]+\d+)")
_BITS = re.compile(r"[a-zA-Z]+(\d{1,3})")

# Bytes per thread, by kind of access and position in Python; in SASS, all positions are ().
_Moved = Mapping[tuple[str, Chain], int]


def unroll_factor(
    regions: LoopRegions, chain: Chain, instructions: Iterable[tuple[int, InstructionKind]], by_line: bool
) -> int | None:
    """Count the iterations of a loop statement that one pass runs; None if that is not known.

    `instructions` are those of the stage of `regions`, with their lines. `by_line`: these have the right
    Python lines. Those of SASS count the lines of inline assembly, which the loads are made with.
    """
    if not regions.main(chain):
        return None
    moved = _moved(regions, chain, instructions, by_line)
    expected = _expected(regions, chain, by_line)
    # How many times the bytes of one iteration a pass moves, by access.
    ratios = {moved.get(key, 0) / size for key, size in expected.items() if size}
    factor, ratio = _of_triton(regions, chain), next(iter(ratios), 0.0)
    if factor is None or len(ratios) != 1 or not ratio.is_integer() or ratio < 1:
        return None
    return factor * int(ratio)


def _of_triton(regions: LoopRegions, chain: Chain) -> int | None:
    """Return the factor by which Triton unrolled a loop, or None if its steps do not say."""
    loops = [loop for loop in regions.scf if loop.chain == chain]
    factors = set()
    for loop in loops:
        remainder = next((candidate for candidate in loops if candidate.follows(loop)), None)
        if remainder is not None:
            known = integer_values(AxisFlow(regions.ttgir), {})
            step, rest = integer_of(loop.step, known), integer_of(remainder.step, known)
            factors.add(step // rest if step and rest and rest > 0 and step % rest == 0 else None)
        elif not any(loop.follows(candidate) for candidate in loops):
            factors.add(1)
    return next(iter(factors)) if len(factors) == 1 else None


def _expected(regions: LoopRegions, chain: Chain, by_line: bool) -> _Moved:
    """Return the bytes that the accesses of a loop of TTGIR move per thread and iteration.

    Without the keys that have an access in a branch or one whose layout is not blocked: its bytes are in the
    same sum of `_moved`.
    """
    loops = {index: loop for index, loop in enumerate(regions.scf) if loop.chain == chain}
    sizes: Counter[tuple[str, Chain]] = Counter()
    unknown = set()
    for operation, number in zip(regions.ttgir.operations, regions.scf_around, strict=True):
        kind, loop = _ACCESSES.get(operation.opcode), loops.get(number)
        if kind is None or loop is None or any(loop.follows(candidate) for candidate in loops.values()):
            continue
        position = location_chain(operation.location)
        if regions.home(position) != chain:
            continue  # copied out of an inner loop
        key = kind, position if by_line else ()
        size = _bytes_per_thread(regions.ttgir, operation)
        if size is None or operation.parent != loop.operation:
            unknown.add(key)
        else:
            sizes[key] += size
    return {key: size for key, size in sizes.items() if key not in unknown}


def _moved(
    regions: LoopRegions, chain: Chain, instructions: Iterable[tuple[int, InstructionKind]], by_line: bool
) -> _Moved:
    """Return the bytes that one pass through the loop moves per thread, as `_expected` has them."""
    sizes: Counter[tuple[str, Chain]] = Counter()
    document = regions.document
    for line, kind in instructions:
        if kind.kind in ("global load", "global store"):
            index = document.operation_of_line.get(line)
            if index is not None and regions.region(index) == Region(Where.IN, chain):
                position = location_chain(document.location_at(line)) if by_line else ()
                sizes[kind.kind, position] += kind.width
    return sizes


def _bytes_per_thread(document: Document, operation: Operation) -> int | None:
    """Return the bytes that one thread accesses, or None if the layout is not blocked."""
    text = document.lines[operation.line]
    for shaped in operand_types(text):
        layout = document.layouts.get(shaped.encoding)
        if shaped.kind == "tensor" and layout is not None and layout.kind == "ttg.blocked":
            elements = _elements_per_thread(shaped, layout)
            pointer = _POINTER.search(shaped.element)
            bits = _BITS.fullmatch(pointer[1] if pointer else shaped.element)
            return None if elements is None or bits is None else elements * int(bits[1]) // 8
    return None


def _elements_per_thread(shaped: ShapedType, layout: Layout) -> int | None:
    """Count the elements of each thread: sizePerThread of each tile that the threads cover at once."""
    names = ("sizePerThread", "threadsPerWarp", "warpsPerCTA")
    elements, lanes, warps = (_numbers(layout.fields.get(name, "")) for name in names)
    if not all(size.isdecimal() for size in shaped.shape):
        return None
    shape = [int(size) for size in shaped.shape]
    if not len(shape) == len(elements) == len(lanes) == len(warps) or 0 in (*elements, *lanes, *warps):
        return None
    tiles = [-(-size // (a * b * c)) for size, a, b, c in zip(shape, elements, lanes, warps, strict=True)]
    return prod(elements) * prod(tiles)


def _numbers(text: str) -> Sequence[int]:
    return [int(number) for number in re.findall(r"\d{1,9}", text)]
