"""Which operation of one document is the counterpart of which of the other.

Functions are matched by name, operations within matching functions and regions: equal text at the same
source place first, then the same opcode at the same place, then without places.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from itertools import groupby
from sys import intern

from irscope.diff.align import Block, Gap, common_blocks, gaps_between, refined
from irscope.diff.locations import NOWHERE, Places, places
from irscope.languages.document import Document, Operation

UNPAIRED = -1

# Share of operations that find a counterpart at their own source place, from which on places are
# trusted: none is paired across places then. Below it, the files are not the same code any more.
_TRUSTED = 0.25

_Key = Callable[[int], Hashable]
_DIGITS = re.compile(r"\d+")


def match_operations(left: Document, right: Document) -> list[int]:
    """For each operation of `left` the index of its counterpart in `right`, or UNPAIRED.

    Counterparts have equal opcodes and stand in the same order in both, regions within regions.
    """
    return _Pairing(left, right).run()


class _Pairing:
    """The documents side by side, with what their operations are compared by as numbers."""

    def __init__(self, left: Document, right: Document) -> None:
        self.left, self.right = left, right
        self.partner = [UNPAIRED] * len(left.operations)
        self.left_children, self.right_children = _children(left), _children(right)
        numbers: dict[str, int] = {}
        self.left_normal = _numbered(left.operations, numbers)
        self.right_normal = _numbered(right.operations, numbers)
        found = places(left, right)
        self.located = found is not None
        nowhere = Places([], [])
        self.left_places, self.right_places = found or (nowhere, nowhere)

    def run(self) -> list[int]:
        levels = [(self.left_children[-1], self.right_children[-1])]
        while levels:
            ours, theirs = levels.pop()
            for i, j in self._pair_functions(ours, theirs):
                self.partner[i] = j
                if i in self.left_children and j in self.right_children:
                    levels.append((self.left_children[i], self.right_children[j]))
        return self.partner

    def _pair_functions(self, ours: list[int], theirs: list[int]) -> list[tuple[int, int]]:
        """Pairs among siblings, each inside a matching stretch of one function."""
        left_runs, right_runs = _runs(self.left, ours), _runs(self.right, theirs)
        if len(left_runs) == len(right_runs) == 1:
            return self._pair_siblings(ours, theirs)
        left_names = [_function_name(self.left, run[0]) for run in left_runs]
        right_names = [_function_name(self.right, run[0]) for run in right_runs]
        blocks = refined([], left_names, right_names)
        # Triton writes a helper's argument types and constants into its name behind "__".
        left_stems = [name.partition("__")[0] for name in left_names]
        blocks = refined(blocks, left_stems, [name.partition("__")[0] for name in right_names])
        pairs = []
        for block in [*blocks, *_equal_gaps(blocks, len(left_runs), len(right_runs))]:
            for n in range(block.size):
                pairs += self._pair_siblings(left_runs[block.left + n], right_runs[block.right + n])
        return pairs

    def _pair_siblings(self, ours: list[int], theirs: list[int]) -> list[tuple[int, int]]:
        left_normal = [self.left_normal[i] for i in ours]
        right_normal = [self.right_normal[j] for j in theirs]
        if left_normal == right_normal:
            return list(zip(ours, theirs, strict=True))
        blocks: list[Block] = []
        for keys in self._keys_with_place():
            blocks = sorted(blocks + _in_gaps(blocks, ours, theirs, *keys))
        placed = sum(block.size for block in blocks)
        trusted = placed >= _TRUSTED * min(len(ours), len(theirs))
        for keys in self._keys_without_place():
            found = _in_gaps(blocks, ours, theirs, *keys)
            if self.located and trusted:
                found = self._without_strangers(found, ours, theirs)
            blocks = sorted(blocks + found)
        return [
            (ours[block.left + n], theirs[block.right + n]) for block in blocks for n in range(block.size)
        ]

    def _keys_with_place(self) -> list[tuple[_Key, _Key]]:
        """Keys of both sides' operations that hold their source places, the surest first."""
        if not self.located:
            return []
        left, right = self.left.operations, self.right.operations
        exact, other_exact = self.left_places.exact, self.right_places.exact
        lines, other_lines = self.left_places.lines, self.right_places.lines
        return [
            (_both(self.left_normal, exact), _both(self.right_normal, other_exact)),
            (_opcode_at(left, exact), _opcode_at(right, other_exact)),
            (_both(self.left_normal, lines), _both(self.right_normal, other_lines)),
            (_opcode_at(left, lines), _opcode_at(right, other_lines)),
        ]

    def _keys_without_place(self) -> list[tuple[_Key, _Key]]:
        left, right = self.left.operations, self.right.operations
        return [
            (self.left_normal.__getitem__, self.right_normal.__getitem__),
            (lambda i: _without_digits(left[i]), lambda j: _without_digits(right[j])),
            (lambda i: left[i].opcode, lambda j: right[j].opcode),
        ]

    def _without_strangers(self, blocks: list[Block], ours: list[int], theirs: list[int]) -> list[Block]:
        """`blocks` without pairs that come from different places.

        Operations with regions stay: what is inside them would have no counterpart either.
        """
        kept = []
        for block in blocks:
            for n in range(block.size):
                i, j = ours[block.left + n], theirs[block.right + n]
                here, there = self.left_places.lines[i], self.right_places.lines[j]
                near = here == there or NOWHERE in (here, there)
                if near or i in self.left_children:
                    kept.append(Block(block.left + n, block.right + n, 1))
        return kept


def _children(document: Document) -> dict[int, list[int]]:
    children: dict[int, list[int]] = defaultdict(list)
    for index, operation in enumerate(document.operations):
        children[operation.parent].append(index)
    return children


def _numbered(operations: Sequence[Operation], numbers: dict[str, int]) -> list[int]:
    return [numbers.setdefault(operation.normalized, len(numbers)) for operation in operations]


def _runs(document: Document, siblings: list[int]) -> list[list[int]]:
    """`siblings` split where the function changes."""
    return [list(run) for _, run in groupby(siblings, lambda i: document.operations[i].function)]


def _function_name(document: Document, index: int) -> str:
    function = document.operations[index].function
    return document.functions[function] if function >= 0 else ""


def _both(normal: list[int], at: list[int]) -> _Key:
    return lambda i: (normal[i], at[i])


def _opcode_at(operations: Sequence[Operation], at: list[int]) -> _Key:
    return lambda i: (operations[i].opcode, at[i])


def _without_digits(operation: Operation) -> str:
    # Many are equal: 54,000 of them apart would take 10 MB.
    return intern(f"{operation.opcode} {_DIGITS.sub('', operation.normalized)}")


def _in_gaps(
    blocks: list[Block], ours: list[int], theirs: list[int], left_key: _Key, right_key: _Key
) -> list[Block]:
    """What the keys find in the gaps between `blocks`; keys are made for the gaps alone."""
    found = []
    for gap in gaps_between(blocks, Gap(0, len(ours), 0, len(theirs))):
        left = [left_key(i) for i in ours[gap.left : gap.left_end]]
        right = [right_key(j) for j in theirs[gap.right : gap.right_end]]
        found += [
            Block(gap.left + block.left, gap.right + block.right, block.size)
            for block in common_blocks(left, right)
        ]
    return found


def _equal_gaps(blocks: list[Block], left_size: int, right_size: int) -> list[Block]:
    """Gaps with as many elements on both sides: renamed functions, taken in order."""
    return [
        Block(gap.left, gap.right, gap.left_end - gap.left)
        for gap in gaps_between(blocks, Gap(0, left_size, 0, right_size))
        if gap.left_end - gap.left == gap.right_end - gap.right
    ]
