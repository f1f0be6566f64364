"""The control-flow graph of an assembly stage: basic blocks, their successors, and their dominators.

A basic block is a run of operations that is entered only at its first one and left only after its last one.
Block A dominates block B if every path from the function's entry to B goes through A.

The natural loops of an assembly stage and how they nest.

A back edge goes from a block to one that dominates it, the loop's header. The loop's body is the header and
every block from which the back edge can be reached without passing through it. A cycle that can be entered
at two places (an irreducible one) is not a natural loop: the loops of its function are unknown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from irscope.languages.document import Document
from irscope.languages.language import Language
from irscope.model.records import frozen, frozen_with_dict

NONE = -1


@frozen
class Block:
    """A basic block: operations `start` to `end` (exclusive), and the blocks that may follow it."""

    start: int
    end: int
    successors: tuple[int, ...]


@frozen_with_dict
class ControlFlow:
    """The basic blocks of a document in the order of the text.

    `entries` are the first blocks of its functions. `unknown` are the functions (`Operation.function`) with a
    branch to a place that the text does not name: their graph lacks edges.
    """

    blocks: Sequence[Block]
    entries: Sequence[int]
    unknown: frozenset[int]

    @cached_property
    def predecessors(self) -> Sequence[Sequence[int]]:
        """Return the blocks that each block may follow."""
        by_block: list[list[int]] = [[] for _ in self.blocks]
        for index, block in enumerate(self.blocks):
            for successor in block.successors:
                by_block[successor].append(index)
        return by_block

    @cached_property
    def _starts(self) -> list[int]:
        return [block.start for block in self.blocks]

    def block_of(self, operation: int) -> int:
        """Return the index of the block that has the operation with this index."""
        return bisect_right(self._starts, operation) - 1

    @cached_property
    def reverse_postorder(self) -> Sequence[int]:
        """Return the blocks that an entry reaches, each after those before it.

        Edges of cycles are the exception. Not reached are the trap after the last EXIT of SASS, and
        code that is only called.
        """
        visited = [False] * len(self.blocks)
        order: list[int] = []
        for entry in reversed(self.entries):
            order += _postorder(self.blocks, entry, visited)
        return order[::-1]

    @cached_property
    def dominators(self) -> Sequence[int]:
        """Return the immediate dominator of each block.

        It is NONE for an entry, and for a block that is not reached.
        """
        return _dominators(self)


def control_flow(document: Document) -> ControlFlow:
    """Build the control-flow graph of LLVM IR, PTX, SASS or AMDGCN.

    Of another language, it has one block per function.
    """
    operations = document.operations
    branches = Language.named(document.language).branches(document)
    functions = [operation.function for operation in operations]
    entries = [
        position
        for position in range(len(functions))
        if position == 0 or functions[position] != functions[position - 1]
    ]
    starts = set(entries)
    for index, branch in branches.items():
        starts.add(index + 1)
        starts.update(branch.targets)
    starts.discard(len(operations))
    ordered = sorted(starts)
    index_of = {start: index for index, start in enumerate(ordered)}
    blocks = []
    for start, end in pairwise([*ordered, len(operations)]):
        last_branch = branches.get(end - 1)
        follows = (last_branch is None or last_branch.falls_through) and end < len(functions)
        targets = list(last_branch.targets) if last_branch else []
        if follows and functions[end] == functions[end - 1]:
            targets.insert(0, end)
        successors = [index_of[position] for position in targets if functions[position] == functions[start]]
        blocks.append(Block(start, end, tuple(dict.fromkeys(successors))))
    unknown = frozenset(functions[index] for index, branch in branches.items() if not branch.known)
    return ControlFlow(blocks, [index_of[entry] for entry in entries], unknown)


def _postorder(blocks: Sequence[Block], entry: int, seen: list[bool]) -> list[int]:
    """List the blocks that `entry` reaches and that are not `seen`, each after its successors.

    Marks them seen.
    """
    order = []
    seen[entry] = True
    stack = [(entry, iter(blocks[entry].successors))]
    while stack:
        block, successors = stack[-1]
        following = next((successor for successor in successors if not seen[successor]), NONE)
        if following == NONE:
            order.append(block)
            stack.pop()
        else:
            seen[following] = True
            stack.append((following, iter(blocks[following].successors)))
    return order


def _dominators(graph: ControlFlow) -> list[int]:
    """Compute the immediate dominators in O(m log n).

    The algorithm is that of T. Lengauer and R. E. Tarjan, TOPLAS 1(1), 1979, with the simple link.
    Vertices are numbered in depth-first order.
    """
    number, vertex, parent = _depth_first(graph)
    size = len(vertex)
    semi = list(range(size))
    label = list(range(size))
    ancestor = [NONE] * size
    dominator = [NONE] * size
    bucket: list[list[int]] = [[] for _ in range(size)]
    for current in range(size - 1, -1, -1):
        if parent[current] == NONE:
            continue
        for predecessor in graph.predecessors[vertex[current]]:
            before = number[predecessor]
            if before != NONE:
                semi[current] = min(semi[current], semi[_evaluate(before, ancestor, label, semi)])
        bucket[semi[current]].append(current)
        ancestor[current] = parent[current]
        for member in bucket[parent[current]]:
            lowest = _evaluate(member, ancestor, label, semi)
            dominator[member] = lowest if semi[lowest] < semi[member] else parent[current]
        bucket[parent[current]].clear()
    result = [NONE] * len(graph.blocks)
    for current in range(size):
        if parent[current] != NONE:
            if dominator[current] != semi[current]:
                dominator[current] = dominator[dominator[current]]
            result[vertex[current]] = vertex[dominator[current]]
    return result


def _evaluate(vertex: int, ancestor: list[int], label: list[int], semi: list[int]) -> int:
    """Return the vertex with the lowest semidominator on the path to the root of the forest.

    Compresses the path.
    """
    if ancestor[vertex] == NONE:
        return vertex
    path = []
    current = vertex
    while ancestor[ancestor[current]] != NONE:
        path.append(current)
        current = ancestor[current]
    for current in reversed(path):
        above = ancestor[current]
        if semi[label[above]] < semi[label[current]]:
            label[current] = label[above]
        ancestor[current] = ancestor[above]
    return label[vertex]


def _depth_first(graph: ControlFlow) -> tuple[list[int], list[int], list[int]]:
    """Assign numbers to the blocks in depth-first order.

    Returns each block's number, the block of each number, and the parent of each number.
    """
    blocks = graph.blocks
    number = [NONE] * len(blocks)
    vertex: list[int] = []
    parent: list[int] = []
    for entry in graph.entries:
        stack = [(entry, NONE)]
        while stack:
            block, above = stack.pop()
            if number[block] != NONE:
                continue
            number[block] = len(vertex)
            vertex.append(block)
            parent.append(above)
            stack.extend((successor, number[block]) for successor in reversed(blocks[block].successors))
    return number, vertex, parent


@frozen
class NaturalLoop:
    """A loop: the block of its header, the blocks that its back edges leave, the loop around it, its depth.

    `parent` is an index into `LoopTree.loops`, NONE for an outermost loop, whose `depth` is 1.
    """

    header: int
    latches: tuple[int, ...]
    parent: int
    depth: int


@frozen_with_dict
class LoopTree:
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
        """Return the blocks of each loop that are in no inner loop, in the order of the text."""
        by_loop: list[list[int]] = [[] for _ in self.loops]
        for block, loop in enumerate(self.innermost):
            if loop != NONE:
                by_loop[loop].append(block)
        return by_loop

    @cached_property
    def children(self) -> Sequence[Sequence[int]]:
        """Return the loops directly inside of each loop."""
        by_parent: list[list[int]] = [[] for _ in self.loops]
        for index, loop in enumerate(self.loops):
            if loop.parent != NONE:
                by_parent[loop.parent].append(index)
        return by_parent

    def body(self, loop: int) -> Iterator[int]:
        """Yield the blocks of a loop, including those of inner loops."""
        stack = [loop]
        while stack:
            current = stack.pop()
            yield from self.bodies[current]
            stack += self.children[current]

    def loop_of(self, operation: int) -> int:
        """Return the innermost loop of an operation, or NONE outside of all loops."""
        return self.innermost[self.graph.block_of(operation)] if self.graph.blocks else NONE


def find_loops(document: Document) -> LoopTree:
    """Find the loops of PTX, SASS or AMDGCN, in nearly linear time."""
    graph = control_flow(document)
    functions = [document.operations[block.start].function for block in graph.blocks]
    numbers = _dominator_numbers(graph)
    latches, irreducible = _back_edges(graph, numbers)
    unknown = graph.unknown | {functions[block] for block in irreducible}
    known_latches = {
        header: loop_latches for header, loop_latches in latches.items() if functions[header] not in unknown
    }
    loops, innermost = _nest(graph, known_latches, numbers)
    return LoopTree(graph, loops, innermost, frozenset(unknown))


def _dominator_numbers(graph: ControlFlow) -> list[tuple[int, int]]:
    """Return the times when a walk of the dominator tree enters and leaves each block.

    The times of a dominator enclose those of the blocks that it dominates.
    """
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
    """Return the blocks that back edges leave, by header, and the first blocks of irreducible cycles."""
    position = {block: index for index, block in enumerate(graph.reverse_postorder)}
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
    """Return the loops with their parents, and the innermost loop of each block.

    Headers are visited innermost first, and a loop that is already known is passed as one step, so
    each edge is followed a constant number of times (as LLVM's LoopInfo does).
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
    """Renumber the loops from the outside in, since they were found from the inside out."""
    last = len(headers) - 1
    loops: list[NaturalLoop] = []
    for old in range(last, -1, -1):
        around = NONE if parent[old] == NONE else last - parent[old]
        depth = 1 if around == NONE else loops[around].depth + 1
        loops.append(NaturalLoop(headers[old], tuple(latches[headers[old]]), around, depth))
    return loops, [NONE if loop == NONE else last - loop for loop in innermost]
