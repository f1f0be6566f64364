"""The control-flow graph of an assembly stage: basic blocks, their successors, and their dominators.

A basic block is a run of operations that is entered only at its first one and left only after its last one.
Block A dominates block B if every path from the function's entry to B goes through A.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from irscope.languages.document import Document
from irscope.languages.language_registry import language_named
from irscope.model.frozen_value import FrozenValue

NONE = -1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Block(FrozenValue):
    """A basic block: operations `start` to `end` (exclusive), and the blocks that may follow it."""

    start: int
    end: int
    successors: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class ControlFlow(FrozenValue):
    """The basic blocks of a document in the order of the text.

    `entries` are the first blocks of its functions. `unknown` are the functions (`Operation.function`) with a
    branch to a place that the text does not name: their graph lacks edges.
    """

    blocks: Sequence[Block]
    entries: Sequence[int]
    unknown: frozenset[int]

    @cached_property
    def predecessors(self) -> Sequence[Sequence[int]]:
        """The blocks that each block may follow."""
        found: list[list[int]] = [[] for _ in self.blocks]
        for index, block in enumerate(self.blocks):
            for successor in block.successors:
                found[successor].append(index)
        return found

    @cached_property
    def _starts(self) -> list[int]:
        return [block.start for block in self.blocks]

    def block_of(self, operation: int) -> int:
        """The index of the block that has the operation with this index."""
        return bisect_right(self._starts, operation) - 1

    @cached_property
    def reverse_postorder(self) -> Sequence[int]:
        """The blocks that an entry reaches, each after those before it, except along edges of cycles.

        Not reached are the trap after the last EXIT of SASS, and code that is only called.
        """
        seen = [False] * len(self.blocks)
        order: list[int] = []
        for entry in reversed(self.entries):
            order += _postorder(self.blocks, entry, seen)
        return order[::-1]

    @cached_property
    def dominators(self) -> Sequence[int]:
        """The immediate dominator of each block; NONE for an entry, and for a block that is not reached."""
        return _dominators(self)


def control_flow(document: Document) -> ControlFlow:
    """The control-flow graph of LLVM IR, PTX, SASS or AMDGCN; of another language, one block per function."""
    operations = document.operations
    branches = language_named(document.language).branches(document)
    functions = [operation.function for operation in operations]
    entries = [at for at in range(len(functions)) if at == 0 or functions[at] != functions[at - 1]]
    starts = set(entries)
    for index, branch in branches.items():
        starts.add(index + 1)
        starts.update(branch.targets)
    starts.discard(len(operations))
    ordered = sorted(starts)
    index_of = {start: index for index, start in enumerate(ordered)}
    blocks = []
    for start, end in pairwise([*ordered, len(operations)]):
        found = branches.get(end - 1)
        follows = (found is None or found.falls_through) and end < len(functions)
        targets = list(found.targets) if found else []
        if follows and functions[end] == functions[end - 1]:
            targets.insert(0, end)
        own = [index_of[at] for at in targets if functions[at] == functions[start]]
        blocks.append(Block(start, end, tuple(dict.fromkeys(own))))
    unknown = frozenset(functions[index] for index, branch in branches.items() if not branch.known)
    return ControlFlow(blocks, [index_of[entry] for entry in entries], unknown)


def _postorder(blocks: Sequence[Block], entry: int, seen: list[bool]) -> list[int]:
    """The blocks that `entry` reaches and that are not `seen`, each after its successors; marks them seen."""
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
    """The immediate dominators, in O(m log n) (T. Lengauer and R. E. Tarjan, TOPLAS 1(1), 1979, simple link).

    Vertices are numbered in depth-first order.
    """
    number, vertex, parent = _depth_first(graph)
    size = len(vertex)
    semi = list(range(size))
    label = list(range(size))
    ancestor = [NONE] * size
    dominator = [NONE] * size
    bucket: list[list[int]] = [[] for _ in range(size)]
    for at in range(size - 1, -1, -1):
        if parent[at] == NONE:
            continue
        for predecessor in graph.predecessors[vertex[at]]:
            before = number[predecessor]
            if before != NONE:
                semi[at] = min(semi[at], semi[_evaluate(before, ancestor, label, semi)])
        bucket[semi[at]].append(at)
        ancestor[at] = parent[at]
        for other in bucket[parent[at]]:
            lowest = _evaluate(other, ancestor, label, semi)
            dominator[other] = lowest if semi[lowest] < semi[other] else parent[at]
        bucket[parent[at]].clear()
    found = [NONE] * len(graph.blocks)
    for at in range(size):
        if parent[at] != NONE:
            if dominator[at] != semi[at]:
                dominator[at] = dominator[dominator[at]]
            found[vertex[at]] = vertex[dominator[at]]
    return found


def _evaluate(vertex: int, ancestor: list[int], label: list[int], semi: list[int]) -> int:
    """The vertex with the lowest semidominator on the path to the root of the forest; compresses the path."""
    if ancestor[vertex] == NONE:
        return vertex
    path = []
    at = vertex
    while ancestor[ancestor[at]] != NONE:
        path.append(at)
        at = ancestor[at]
    for at in reversed(path):
        above = ancestor[at]
        if semi[label[above]] < semi[label[at]]:
            label[at] = label[above]
        ancestor[at] = ancestor[above]
    return label[vertex]


def _depth_first(graph: ControlFlow) -> tuple[list[int], list[int], list[int]]:
    """Each block's number in depth-first order, the block of each number, and the parent of each number."""
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
