"""The loops of an assembly or machine code text: their sizes, which of them only wait, and the hot one.

`irscope.facts.loops.kernel_loops` says which Python loop each is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from irscope.languages.control_flow import LoopTree, find_loops
from irscope.languages.document import Document, Operation
from irscope.languages.language import Language
from irscope.targets import instructions_of, stage_named
from irscope.targets.instructions import Scan

# A loop that polls has its test, a branch, and few instructions that compute addresses.
MOST_POLLING = 12


class HotLoop(NamedTuple):
    """The hot loop: its instructions and accesses of local memory per pass, and the line of its header."""

    instructions: int
    spills: int
    line: int


NO_LOOP = HotLoop(0, 0, -1)


def hot_loop(text: str, stage: str, scanned: Scan) -> HotLoop | None:
    """Return the hot loop of an assembly or machine code text.

    Returns NO_LOOP if it has none, None if that is unknown. It is the most deeply nested loop with
    matrix instructions; without any, the longest of the most deeply nested ones that do more than
    wait. Takes time nearly linear in the text: only its instructions and labels are read, since facts
    are measured for every variant, and parsing takes several times as long.
    """
    instructions = instructions_of(stage)
    if instructions is None:
        return None
    match_line = instructions.pattern.match
    matches = ((line, match_line(code)) for line, code in enumerate(text.split("\n")))
    operations = [Operation(line, line + 1, match[1], "", function=0) for line, match in matches if match]
    document = Document(stage_named(stage).language or "", text, operations, ("",))
    tree = find_loops(document)
    if tree.unknown:
        return None
    index_of = document.operation_of_line
    matrix, spills = set[int](), Counter[int]()
    for kind, lines in scanned.lines.items():
        if kind.kind == "matrix":
            matrix.update(tree.loop_of(index_of[line]) for line in lines if line in index_of)
        elif kind.kind.startswith("local "):
            spills.update(tree.loop_of(index_of[line]) for line in lines if line in index_of)
    sizes = loop_sizes(tree)
    loops = [
        loop
        for loop, size in enumerate(sizes)
        if size > MOST_POLLING or not polls(document, operations_in(tree, tree.body(loop)))
    ]
    hot = max(loops, key=lambda loop: (loop in matrix, tree.loops[loop].depth, sizes[loop]), default=None)
    if hot is None:
        return NO_LOOP
    header = operations[tree.graph.blocks[tree.loops[hot].header].start].line
    return HotLoop(sizes[hot], spills[hot], header)


def loop_sizes(tree: LoopTree) -> list[int]:
    """Count the instructions of each loop, those of inner loops included."""
    blocks = tree.graph.blocks
    sizes = [sum(blocks[block].end - blocks[block].start for block in body) for body in tree.bodies]
    for loop in range(len(sizes) - 1, -1, -1):
        if (parent := tree.loops[loop].parent) >= 0:
            sizes[parent] += sizes[loop]
    return sizes


def operations_in(tree: LoopTree, blocks: Iterable[int]) -> list[int]:
    """Return the indices of the operations of some blocks."""
    bounds = (tree.graph.blocks[block] for block in blocks)
    return [index for block in bounds for index in range(block.start, block.end)]


def polls(document: Document, operations: Sequence[int]) -> bool:
    """Return True if a loop that consists of these operations only waits."""
    pattern = Language.named(document.language).polls
    return len(operations) <= MOST_POLLING and any(
        pattern.search(document.operations[index].opcode) for index in operations
    )
