"""The hot loop of an assembly text: the innermost loop with most of the work, and its size.

Reads only the instructions and labels of the text: facts are measured for every variant, and parsing takes
several times as long. `irscope.analysis.kernel_loops` says which Python loop it is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from irscope.backends import instructions_of, stage_named
from irscope.backends.instructions import Scan
from irscope.languages.document import Document, Operation
from irscope.languages.language_registry import language_named
from irscope.languages.loops import LoopTree, find_loops
from irscope.model.frozen_value import FrozenValue

# A loop that polls has its test, a branch, and few instructions that compute addresses.
_MOST_POLLING = 12


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HotLoop(FrozenValue):
    """The hot loop: its instructions and accesses of local memory per pass, and the line of its header."""

    instructions: int
    spills: int
    line: int


NO_LOOP = HotLoop(0, 0, -1)


def hot_loop(text: str, stage: str, scanned: Scan) -> HotLoop | None:
    """The hot loop of an assembly or machine code text; NO_LOOP if it has none, None if that is unknown.

    It is the most deeply nested loop with matrix instructions; without any, the longest of the most deeply
    nested ones that do more than wait. Takes time nearly linear in the text.
    """
    tree, operations = _loops(text, stage)
    if tree is None:
        return None
    index_of = {operation.line: index for index, operation in enumerate(operations)}
    matrix, spills = set[int](), Counter[int]()
    for kind, lines in scanned.lines.items():
        if kind.kind == "matrix":
            matrix.update(tree.loop_of(index_of[line]) for line in lines if line in index_of)
        elif kind.kind.startswith("local "):
            spills.update(tree.loop_of(index_of[line]) for line in lines if line in index_of)
    sizes = _sizes(tree)
    loops = [at for at in range(len(sizes)) if not _polls(tree, at, operations, sizes[at], stage)]
    hot = max(loops, key=lambda loop: (loop in matrix, tree.loops[loop].depth, sizes[loop]), default=None)
    if hot is None:
        return NO_LOOP
    header = operations[tree.graph.blocks[tree.loops[hot].header].start].line
    return HotLoop(sizes[hot], spills[hot], header)


def _loops(text: str, stage: str) -> tuple[LoopTree | None, list[Operation]]:
    """The loops of the text, and its instructions with no more than line and opcode."""
    instructions = instructions_of(stage)
    if instructions is None:
        return None, []
    match_line = instructions.pattern.match
    found = ((line, match_line(code)) for line, code in enumerate(text.split("\n")))
    operations = [Operation(line, line + 1, match[1], "", function=0) for line, match in found if match]
    tree = find_loops(Document(_language(stage), text, operations, ("",)))
    return (None if tree.unknown else tree), operations


def _language(stage: str) -> str:
    return stage_named(stage).language or ""


def _sizes(tree: LoopTree) -> list[int]:
    """The instructions of each loop, those of inner loops included."""
    blocks = tree.graph.blocks
    sizes = [sum(blocks[at].end - blocks[at].start for at in own) for own in tree.bodies]
    for loop in range(len(sizes) - 1, -1, -1):
        if (parent := tree.loops[loop].parent) >= 0:
            sizes[parent] += sizes[loop]
    return sizes


def _polls(tree: LoopTree, loop: int, operations: list[Operation], size: int, stage: str) -> bool:
    """Whether a loop only waits."""
    if size > _MOST_POLLING:
        return False
    polls = language_named(_language(stage)).polls
    blocks = [tree.graph.blocks[at] for at in tree.body(loop)]
    return any(polls.search(operations[at].opcode) for own in blocks for at in range(own.start, own.end))
