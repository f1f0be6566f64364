"""The natural loops of an assembly stage and how they nest.

A back edge goes from a block to one that dominates it, the loop's header. The loop's body is the header and
every block from which the back edge can be reached without passing through it. A cycle that can be entered
at two places (an irreducible one) is not a natural loop: the loops of its function are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from irscope.languages.control_flow import NONE, ControlFlow, control_flow
from irscope.languages.document import Document
from irscope.model.frozen_value import FrozenValue


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NaturalLoop(FrozenValue):
    """A loop: the block of its header, the blocks that its back edges leave, the loop around it, its depth.

    `parent` is an index into `LoopTree.loops`, NONE for an outermost loop, whose `depth` is 1.
    """

    header: int
    latches: tuple[int, ...]
    parent: int
    depth: int


@dataclass(frozen=True, eq=False, repr=False)
class LoopTree(FrozenValue):
    """The loops of a document, each after the loop around it, in the order of their headers' dominators.

    `innermost` is the innermost loop of each block, NONE outside of all loops. `unknown` are the functions
    whose loops cannot be known; none of their blocks is in a loop.
    """

    graph: ControlFlow
    loops: Sequence[NaturalLoop]
    innermost: Sequence[int]
    unknown: frozenset[int]

    @cached_property
    def bodies(self) -> Sequence[Sequence[int]]:
        """The blocks of each loop that are in no inner loop, in the order of the text."""
        found: list[list[int]] = [[] for _ in self.loops]
        for block, loop in enumerate(self.innermost):
            if loop != NONE:
                found[loop].append(block)
        return found

    @cached_property
    def children(self) -> Sequence[Sequence[int]]:
        """The loops directly inside of each loop."""
        found: list[list[int]] = [[] for _ in self.loops]
        for index, loop in enumerate(self.loops):
            if loop.parent != NONE:
                found[loop.parent].append(index)
        return found

    def body(self, loop: int) -> Iterator[int]:
        """The blocks of a loop, including those of inner loops."""
        stack = [loop]
        while stack:
            at = stack.pop()
            yield from self.bodies[at]
            stack += self.children[at]

    def depth(self, block: int) -> int:
        """How many loops a block is in."""
        loop = self.innermost[block]
        return 0 if loop == NONE else self.loops[loop].depth

    def loop_of(self, operation: int) -> int:
        """The innermost loop of an operation, NONE outside of all loops."""
        return self.innermost[self.graph.block_of(operation)] if self.graph.blocks else NONE


def find_loops(document: Document) -> LoopTree:
    """The loops of PTX, SASS or AMDGCN, in nearly linear time."""
    graph = control_flow(document)
    functions = [document.operations[block.start].function for block in graph.blocks]
    numbers = _dominator_numbers(graph)
    latches, irreducible = _back_edges(graph, numbers)
    unknown = graph.unknown | {functions[block] for block in irreducible}
    known = {header: own for header, own in latches.items() if functions[header] not in unknown}
    loops, innermost = _nest(graph, known, numbers)
    return LoopTree(graph, loops, innermost, frozenset(unknown))


def _dominator_numbers(graph: ControlFlow) -> list[tuple[int, int]]:
    """The times when a walk of the dominator tree enters and leaves each block: dominators enclose."""
    children: list[list[int]] = [[] for _ in graph.blocks]
    for block, above in enumerate(graph.dominators):
        if above != NONE:
            children[above].append(block)
    numbers = [(0, 0)] * len(graph.blocks)
    time = 0
    for entry in graph.entries:
        stack = [(entry, False)]
        while stack:
            block, done = stack.pop()
            if done:
                numbers[block] = numbers[block][0], time
                continue
            numbers[block] = time, time
            time += 1
            stack.append((block, True))
            stack.extend((child, False) for child in reversed(children[block]))
    return numbers


def _back_edges(
    graph: ControlFlow, numbers: Sequence[tuple[int, int]]
) -> tuple[dict[int, list[int]], list[int]]:
    """The blocks that back edges leave, by header; and the first blocks of cycles that are not loops."""
    position = {block: at for at, block in enumerate(graph.reverse_postorder)}
    latches: dict[int, list[int]] = {}
    irreducible = []
    for block in graph.reverse_postorder:
        for successor in graph.blocks[block].successors:
            if position[successor] > position[block]:
                continue
            if numbers[successor][0] <= numbers[block][0] < numbers[successor][1]:
                latches.setdefault(successor, []).append(block)
            else:
                irreducible.append(successor)
    return latches, irreducible


def _nest(
    graph: ControlFlow, latches: dict[int, list[int]], numbers: Sequence[tuple[int, int]]
) -> tuple[list[NaturalLoop], list[int]]:
    """The loops with their parents, and the innermost loop of each block.

    Headers are visited innermost first, and a loop that is already known is passed as one step, so each edge
    is followed a constant number of times (as LLVM's LoopInfo does).
    """
    headers = sorted(latches, key=lambda header: -numbers[header][0])
    parent = [NONE] * len(headers)
    outermost = list(range(len(headers)))  # a union-find forest: the outermost known loop around each
    innermost = [NONE] * len(graph.blocks)
    reached = set(graph.reverse_postorder)
    for loop, header in enumerate(headers):
        work = list(latches[header])
        while work:
            block = work.pop()
            if block not in reached:
                continue
            if innermost[block] == NONE:
                innermost[block] = loop
                if block != header:
                    work += graph.predecessors[block]
                continue
            inner = _find(outermost, innermost[block])
            if inner != loop:
                parent[inner] = outermost[inner] = loop
                work += graph.predecessors[headers[inner]]
        innermost[header] = loop if innermost[header] == NONE else innermost[header]
    return _from_outside(headers, latches, parent, innermost)


def _find(forest: list[int], at: int) -> int:
    while forest[at] != at:
        forest[at] = forest[forest[at]]
        at = forest[at]
    return at


def _from_outside(
    headers: list[int], latches: dict[int, list[int]], parent: list[int], innermost: list[int]
) -> tuple[list[NaturalLoop], list[int]]:
    """The loops renumbered from the outside in, since they were found from the inside out."""
    last = len(headers) - 1
    loops: list[NaturalLoop] = []
    for old in range(last, -1, -1):
        around = NONE if parent[old] == NONE else last - parent[old]
        depth = 1 if around == NONE else loops[around].depth + 1
        loops.append(NaturalLoop(headers[old], tuple(latches[headers[old]]), around, depth))
    return loops, [NONE if loop == NONE else last - loop for loop in innermost]
