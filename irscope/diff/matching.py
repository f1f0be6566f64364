"""Tree matching: which operation of one document corresponds to which operation of the other.

    left                          right
    0  %a = tt.load %p            0  %a = tt.load %p           matches = [0, 2]
    1  %b = arith.addf %a, %a     1  %m = tt.splat %n
                                  2  %b = arith.addf %a, %m

Functions are matched by name and content, operations within matching functions and regions: equal text at
the same source location first, then equal opcodes at the same location, then regardless of location. A diff
of lines would match braces and repeated operations across loops and functions.

The functions of A by B's names, because a renamed kernel or helper is the same function.

    A: tt.call @old.scale__fp32S256S(%x)      B: tt.call @new.mul_add__fp32S256S(%x)
    -> {"old.scale__fp32S256S": "new.mul_add__fp32S256S"}

A kernel's name is also part of the names of its parameters (PTX: `kernel_param_0`) and of compiler-generated
functions (SASS: `$kernel$__internal_0_$...`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from sys import intern

from irscope.diff.align import (
    AlignmentBudget,
    Gap,
    MatchingBlock,
    common_blocks,
    gaps_between,
    matched_pairs,
    refined,
)
from irscope.diff.line_map import NO_LINES, NO_LOCATION, LineMap, LocationNumbers, number_locations
from irscope.languages.document import Document, Operation
from irscope.languages.language import Language

# Functions are matched by their content up to this product of numbers.
_MOST_PAIRS = 40 * 40
# The share of equal opcodes from which on functions of different names can be the same one.
_SIMILAR = 0.3

_WORD = re.compile(r"\.?[A-Za-z_$][\w$.]*")
_PARAMETER = re.compile(r"(.*)(_param_\d+)", re.DOTALL)


def with_symbols_of(left: Document, right: Document) -> Document:
    """Return `left` with the names of `right` for matching functions; `left` itself if all are equal."""
    renamed = renamed_symbols(left, right)
    use = Language.named(left.language).symbol
    if not renamed or use is None:
        return left

    def other_name(match: re.Match[str]) -> str:
        name = match[match.lastindex or 0]
        return match[0].replace(name, renamed.get(name, name))

    operations = list(left.operations)
    for index, operation in enumerate(operations):
        normalized = use.sub(other_name, operation.normalized)
        if normalized != operation.normalized:
            opcode = use.sub(other_name, operation.opcode)
            operations[index] = replace(operation, opcode=opcode, normalized=normalized)
    functions = [renamed.get(name, name) for name in left.functions]
    return replace(left, operations=operations, functions=functions)


def renamed_symbols(left: Document, right: Document) -> Mapping[str, str]:
    """Map each function of `left` that has another name in `right` to that name."""
    pairs = matched_pairs(function_blocks(left, right))
    names = [(left.functions[i], right.functions[j]) for i, j in pairs]
    return {ours: name for ours, theirs in names if (name := _renamed(ours, theirs)) != ours}


def function_blocks(left: Document, right: Document) -> list[MatchingBlock]:
    """Match functions, in order: by name, by name without module and types, by content."""
    ours, theirs = left.functions, right.functions
    if list(ours) == list(theirs):
        return [MatchingBlock(0, 0, len(ours))]
    blocks = refined([], ours, theirs)
    blocks = refined(blocks, list(map(_short_name, ours)), list(map(_short_name, theirs)))
    all_blocks = list(blocks)
    for gap in gaps_between(blocks, Gap(0, len(ours), 0, len(theirs))):
        if gap.left_end - gap.left == gap.right_end - gap.right:
            all_blocks.append(MatchingBlock(gap.left, gap.right, gap.left_end - gap.left))
        else:
            all_blocks += _similar(left, right, gap)
    return sorted(all_blocks)


def without_names(line: str, names: Iterable[str]) -> str:
    """Blank the names of functions in a line outside of operations; parameter names contain them too."""

    def blanked(match: re.Match[str]) -> str:
        if match[0] in names:
            return "_"
        parameter = _PARAMETER.fullmatch(match[0])
        return f"_{parameter[2]}" if parameter and parameter[1] in names else match[0]

    return _WORD.sub(blanked, line)


def _short_name(symbol: str) -> str:
    """Strip what Triton adds to a helper's name: module and dot, "__", argument types and constants."""
    return symbol.partition("__")[0].rpartition(".")[2]


def _renamed(ours: str, theirs: str) -> str:
    """Return the name of A's function in B: with the types and constants that A's own name has."""
    offset = ours.find("__")
    while offset >= 0 and not theirs.endswith(ours[offset:]):
        offset = ours.find("__", offset + 1)
    if offset >= 0 or "__" not in ours or "__" not in theirs:
        return theirs
    return theirs.partition("__")[0] + "".join(ours.partition("__")[1:])


def _similar(left: Document, right: Document, gap: Gap) -> list[MatchingBlock]:
    """Return the pairs of functions, in order, with the largest sum of similarities."""
    ours, theirs = _opcodes(left, gap.left, gap.left_end), _opcodes(right, gap.right, gap.right_end)
    if len(ours) * len(theirs) > _MOST_PAIRS:
        return []
    best: list[tuple[float, list[MatchingBlock]]] = [(0.0, []) for _ in range(len(theirs) + 1)]
    for i, mine in enumerate(ours):
        row: list[tuple[float, list[MatchingBlock]]] = [(0.0, [])]
        for j, opposite in enumerate(theirs):
            options = [best[j + 1], row[j]]
            similarity = (mine & opposite).total() / max(1, (mine | opposite).total())
            if similarity >= _SIMILAR:
                score, blocks = best[j]
                options.append((score + similarity, [*blocks, MatchingBlock(gap.left + i, gap.right + j, 1)]))
            row.append(max(options, key=lambda option: option[0]))
        best = row
    return best[-1][1]


def _opcodes(document: Document, start: int, end: int) -> Sequence[Counter[str]]:
    """Count how often each opcode occurs in each of the functions from `start` to `end`."""
    counts: list[Counter[str]] = [Counter() for _ in range(start, end)]
    for operation in document.operations:
        if start <= operation.function < end:
            counts[operation.function - start][operation.opcode] += 1
    return counts


UNMATCHED = -1

# If at least this share of operations have a match at their own source location, locations are trusted:
# operations with different locations never match. Below it, the two files are not the same code.
_TRUSTED = 0.25

_Key = Callable[[int], Hashable]
_DIGITS = re.compile(r"\d+")


def match_operations(
    left: Document, right: Document, lines: LineMap = NO_LINES, work: AlignmentBudget | None = None
) -> list[int]:
    """Return for each operation of `left` the index of its match in `right`, or UNMATCHED.

    Matching operations have equal opcodes, and their regions match. Their order is the same in
    both. `lines` maps the lines of the left source to the right one; `work` bounds the
    alignments.
    """
    return _Matcher(left, right, lines, work or AlignmentBudget()).run()


class _Matcher:
    """Both documents, with the normalized texts and locations of their operations as numbers."""

    def __init__(self, left: Document, right: Document, lines: LineMap, work: AlignmentBudget) -> None:
        self.left, self.right, self.work = left, right, work
        self.matches = [UNMATCHED] * len(left.operations)
        self.left_children, self.right_children = _children(left), _children(right)
        # The function of the right document that matches each one of the left; none (-1) matches none.
        self.function_keys: dict[int, Hashable] = {-1: ("right", -1)}
        self.function_keys |= {i: ("right", j) for i, j in matched_pairs(function_blocks(left, right))}
        numbers: dict[str, int] = {}
        self.left_texts = _numbered(left.operations, numbers)
        self.right_texts = _numbered(right.operations, numbers)
        locations = number_locations(left, right, lines)
        self.located = locations is not None
        none = LocationNumbers([], [])
        self.left_locations, self.right_locations = locations or (none, none)

    def run(self) -> list[int]:
        levels = [(self.left_children[-1], self.right_children[-1])]
        while levels:
            for i, j in self._match_functions(*levels.pop()):
                self.matches[i] = j
                if i in self.left_children and j in self.right_children:
                    levels.append((self.left_children[i], self.right_children[j]))
        return self.matches

    def _match_functions(self, left: list[int], right: list[int]) -> list[tuple[int, int]]:
        """Match siblings, each within matching functions."""
        left_runs, right_runs = _runs(self.left, left), _runs(self.right, right)
        if len(left_runs) == len(right_runs) == 1:
            return self._match_siblings(left, right)
        left_keys = [self.function_keys.get(_function(self.left, run), run[0]) for run in left_runs]
        right_keys = [("right", _function(self.right, run)) for run in right_runs]
        pairs = []
        for i, j in matched_pairs(common_blocks(left_keys, right_keys, self.work)):
            pairs += self._match_siblings(left_runs[i], right_runs[j])
        return pairs

    def _match_siblings(self, left: list[int], right: list[int]) -> list[tuple[int, int]]:
        if [self.left_texts[i] for i in left] == [self.right_texts[j] for j in right]:
            return list(zip(left, right, strict=True))
        blocks: list[MatchingBlock] = []
        for keys in self._keys_with_location():
            blocks = sorted(blocks + _in_gaps(blocks, left, right, *keys, self.work))
        at_own_location = sum(block.size for block in blocks)
        trusted = at_own_location >= _TRUSTED * min(len(left), len(right))
        for keys in self._keys_without_location():
            candidates = _in_gaps(blocks, left, right, *keys, self.work)
            if self.located and trusted:
                candidates = self._at_equal_locations(candidates, left, right)
            blocks = sorted(blocks + candidates)
        return [(left[i], right[j]) for i, j in matched_pairs(blocks)]

    def _keys_with_location(self) -> list[tuple[_Key, _Key]]:
        """Return keys of both sides' operations that include the source location, most specific first."""
        if not self.located:
            return []
        left, right = self.left.operations, self.right.operations
        exact, other_exact = self.left_locations.exact, self.right_locations.exact
        lines, other_lines = self.left_locations.lines, self.right_locations.lines
        return [
            (_both(self.left_texts, exact), _both(self.right_texts, other_exact)),
            (_opcode_at(left, exact), _opcode_at(right, other_exact)),
            (_both(self.left_texts, lines), _both(self.right_texts, other_lines)),
            (_opcode_at(left, lines), _opcode_at(right, other_lines)),
        ]

    def _keys_without_location(self) -> list[tuple[_Key, _Key]]:
        left, right = self.left.operations, self.right.operations
        return [
            (self.left_texts.__getitem__, self.right_texts.__getitem__),
            (lambda i: _without_digits(left[i]), lambda j: _without_digits(right[j])),
            (lambda i: left[i].opcode, lambda j: right[j].opcode),
        ]

    def _at_equal_locations(
        self, blocks: list[MatchingBlock], left: list[int], right: list[int]
    ) -> list[MatchingBlock]:
        """Return `blocks` without pairs whose locations differ.

        Operations with regions stay: without a match, everything inside would have none either.
        """
        result = []
        for ours, theirs in matched_pairs(blocks):
            lines = {self.left_locations.lines[left[ours]], self.right_locations.lines[right[theirs]]}
            if len(lines) == 1 or NO_LOCATION in lines or left[ours] in self.left_children:
                result.append(MatchingBlock(ours, theirs, 1))
        return result


def _children(document: Document) -> dict[int, list[int]]:
    children: dict[int, list[int]] = defaultdict(list)
    for index, operation in enumerate(document.operations):
        children[operation.parent].append(index)
    return children


def _numbered(operations: Sequence[Operation], numbers: dict[str, int]) -> list[int]:
    return [numbers.setdefault(operation.normalized, len(numbers)) for operation in operations]


def _runs(document: Document, siblings: list[int]) -> list[list[int]]:
    """Split `siblings` into runs within one function."""
    return [list(run) for _, run in groupby(siblings, lambda i: document.operations[i].function)]


def _function(document: Document, run: list[int]) -> int:
    return document.operations[run[0]].function


def _both(texts: list[int], locations: list[int]) -> _Key:
    return lambda i: (texts[i], locations[i])


def _opcode_at(operations: Sequence[Operation], locations: list[int]) -> _Key:
    return lambda i: (operations[i].opcode, locations[i])


def _without_digits(operation: Operation) -> str:
    # Most repeat: without interning, 54,000 of them take 10 MB.
    return intern(f"{operation.opcode} {_DIGITS.sub('', operation.normalized)}")


def _in_gaps(
    blocks: list[MatchingBlock],
    left: list[int],
    right: list[int],
    left_key: _Key,
    right_key: _Key,
    work: AlignmentBudget,
) -> list[MatchingBlock]:
    """Return the blocks of equal keys in the gaps between `blocks`."""
    gap_blocks = []
    for gap in gaps_between(blocks, Gap(0, len(left), 0, len(right))):
        left_keys = [left_key(i) for i in left[gap.left : gap.left_end]]
        right_keys = [right_key(j) for j in right[gap.right : gap.right_end]]
        gap_blocks += [
            MatchingBlock(gap.left + block.left, gap.right + block.right, block.size)
            for block in common_blocks(left_keys, right_keys, work)
        ]
    return gap_blocks
