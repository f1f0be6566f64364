"""Where the operands of operations come from, and whether aligned operations agree on it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from irscope.diff.align import Block, Gap, common_blocks, gaps_between
from irscope.diff.matching import UNPAIRED
from irscope.diff.rows import Change
from irscope.languages.document import Document, Operation

# Languages whose names stand for values. SASS and AMDGCN name physical registers: which instruction
# wrote the part of a wide register that another reads is not in the names.
_VALUE_LANGUAGES = ("mlir", "llvm", "ptx")

_COMMUTATIVE = re.compile(
    r"(?:arith\.|call @llvm\.)?(?:f?add|f?mul|and|or|xor|[su]?min|[su]?max|m(?:in|ax)num|phi"
    r"|(?:add|mul)[if]|(?:and|or|xor)i|m(?:in|ax)(?:si|ui|imumf|numf))(?:$|[ .])"
)


class Definition(NamedTuple):
    """What defines a value: operation `owner`, as its result or its regions' argument at `position`."""

    owner: int
    argument: bool
    position: int


Definitions = Sequence[Sequence["Definition | None"]]


def definitions(document: Document) -> Definitions:
    """For each operation the source of each operand; None for what the document does not define.

    A name that is defined again counts from there on, in the order of the text.
    """
    operations = document.operations
    if document.language not in _VALUE_LANGUAGES:
        return [()] * len(operations)
    names: dict[int, dict[str, Definition]] = defaultdict(dict)
    found: list[tuple[Definition | None, ...]] = []
    forward = []
    for index, operation in enumerate(operations):
        defined = names[operation.function]
        read = tuple([defined.get(name) for name in operation.operands])
        if None in read:
            forward.append(index)
        found.append(read)
        for position, name in enumerate(operation.results):
            defined[name] = Definition(index, False, position)
        for position, name in enumerate(operation.arguments):
            defined[name] = Definition(index, True, position)
    for index in forward:  # used above its definition: an operand of a phi, or of a loop's head
        defined = names[operations[index].function]
        found[index] = tuple(
            source or defined.get(name)
            for source, name in zip(found[index], operations[index].operands, strict=True)
        )
    return found


def operand_changes(
    left: Document, right: Document, partner: Sequence[int], flow: tuple[Definitions, Definitions]
) -> dict[int, Change]:
    """Operations of `left` whose operands come from others than their counterparts' operands do.

    `flow` are the sources of both documents' operands. REWIRED, or CONSTANT where the others are
    constants too. The order of a commutative operation's operands does not matter.
    """
    ours, theirs = flow
    matcher = _Matcher(left, right, partner, ours, theirs)
    found: dict[int, Change] = {}
    for index, other in enumerate(partner):
        if other == UNPAIRED or not (ours[index] or theirs[other]):
            continue
        mapped = [matcher.counterpart(source) for source in ours[index]]
        if mapped == list(theirs[other]):
            continue
        if _COMMUTATIVE.match(left.operations[index].opcode) and Counter(mapped) == Counter(theirs[other]):
            continue
        change = Change.EQUAL
        for was, now, expected in zip_longest(ours[index], theirs[other], mapped):
            if now != expected:
                change |= matcher.turned(was, now)
        if change:
            found[index] = change
    return found


class _Matcher:
    """Knows which value of the right document is the counterpart of one of the left."""

    def __init__(
        self, left: Document, right: Document, partner: Sequence[int], ours: Definitions, theirs: Definitions
    ) -> None:
        self.left, self.right = left.operations, right.operations
        self.owner = _with_moved(left, right, partner)
        self.carried: dict[int, dict[int, int]] = {}
        for index, other in enumerate(partner):
            if other != UNPAIRED and len(self.left[index].arguments) != len(self.right[other].arguments):
                self.carried[index] = self._carried(index, other, ours[index], theirs[other])

    def counterpart(self, source: Definition | None) -> Definition | None:
        """The right document's source that `source` should be, owner UNPAIRED where there is none."""
        if source is None:
            return None
        owner = self.owner[source.owner]
        position = source.position
        if source.owner in self.carried:
            before = self._bounds(self.left[source.owner]) if source.argument else 0
            if position >= before:
                behind = self._bounds(self.right[owner]) if source.argument else 0
                position = self.carried[source.owner].get(position - before, UNPAIRED - behind) + behind
        return Definition(owner, source.argument, position)

    def turned(self, was: Definition | None, now: Definition | None) -> Change:
        """What it is for an operand to come from `now` instead of `was`."""
        if was is None or now is None:
            return Change.REWIRED
        ours, theirs = self.left[was.owner], self.right[now.owner]
        if not (ours.opcode.endswith(".constant") and theirs.opcode.endswith(".constant")):
            return Change.REWIRED
        return Change.EQUAL if ours.normalized == theirs.normalized else Change.CONSTANT

    def _carried(
        self, index: int, other: int, ours: Sequence[Definition | None], theirs: Sequence[Definition | None]
    ) -> dict[int, int]:
        """Which loop-carried value became which, told by what they start from: left to right position.

        Where one loop carries more than the other, positions shift.
        """
        left_size, right_size = len(self.left[index].results), len(self.right[other].results)
        starts = [self.counterpart(source) for source in ours[len(ours) - left_size :]]
        other_starts = theirs[len(theirs) - right_size :]
        blocks = common_blocks(starts, other_starts)
        for gap in list(gaps_between(blocks, Gap(0, len(starts), 0, len(other_starts)))):
            blocks.append(Block(gap.left, gap.right, min(gap.left_end - gap.left, gap.right_end - gap.right)))
        return {block.left + n: block.right + n for block in blocks for n in range(block.size)}

    @staticmethod
    def _bounds(operation: Operation) -> int:
        """How many arguments stand before the loop-carried ones: the induction variable."""
        return max(0, len(operation.arguments) - len(operation.results))


def _with_moved(left: Document, right: Document, partner: Sequence[int]) -> list[int]:
    """`partner`, and for unaligned operations their equals elsewhere in the function: they moved."""
    taken = set(partner)
    spare: dict[tuple[str, int], list[int]] = defaultdict(list)
    for j in range(len(right.operations) - 1, -1, -1):
        if j not in taken:
            operation = right.operations[j]
            spare[operation.normalized, len(operation.operands)].append(j)
    counterpart = list(partner)
    for i, other in enumerate(partner):
        if other == UNPAIRED:
            operation = left.operations[i]
            moved = spare.get((operation.normalized, len(operation.operands)))
            if moved:
                counterpart[i] = moved.pop()
    return counterpart
