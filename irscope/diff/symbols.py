"""The functions of A by B's names, because a renamed kernel or helper is the same function.

    A: tt.call @old.scale__fp32S256S(%x)      B: tt.call @new.mul_add__fp32S256S(%x)
    -> {"old.scale__fp32S256S": "new.mul_add__fp32S256S"}

A kernel's name is also part of the names of its parameters (PTX: `kernel_param_0`) and of compiler-generated
functions (SASS: `$kernel$__internal_0_$...`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from irscope.diff.align import Block, Gap, gaps_between, refined
from irscope.languages.document import Document
from irscope.languages.language_registry import language_named

# Functions are matched by their content up to this product of numbers.
_MOST_PAIRS = 40 * 40
# The share of equal opcodes from which on functions of different names can be the same one.
_SIMILAR = 0.3

_WORD = re.compile(r"\.?[A-Za-z_$][\w$.]*")
_PARAMETER = re.compile(r"(.*)(_param_\d+)", re.DOTALL)


def with_symbols_of(left: Document, right: Document) -> Document:
    """`left` with the names of `right` for the functions that match; `left` itself if none is renamed."""
    renamed = renamed_symbols(left, right)
    use = language_named(left.language).symbol
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
    """The name in `right` of each function of `left` that has another name there."""
    pairs = [
        (left.functions[block.left + n], right.functions[block.right + n])
        for block in function_blocks(left, right)
        for n in range(block.size)
    ]
    return {ours: name for ours, theirs in pairs if (name := _renamed(ours, theirs)) != ours}


def function_blocks(left: Document, right: Document) -> list[Block]:
    """The functions that match, in order: by name, by name without module and types, by content."""
    ours, theirs = left.functions, right.functions
    if list(ours) == list(theirs):
        return [Block(0, 0, len(ours))]
    blocks = refined([], ours, theirs)
    blocks = refined(blocks, list(map(_short_name, ours)), list(map(_short_name, theirs)))
    found = list(blocks)
    for gap in gaps_between(blocks, Gap(0, len(ours), 0, len(theirs))):
        if gap.left_end - gap.left == gap.right_end - gap.right:
            found.append(Block(gap.left, gap.right, gap.left_end - gap.left))
        else:
            found += _similar(left, right, gap)
    return sorted(found)


def without_names(line: str, names: Iterable[str]) -> str:
    """A line outside of operations without the names of functions, which are part of parameter names too."""

    def blanked(match: re.Match[str]) -> str:
        if match[0] in names:
            return "_"
        parameter = _PARAMETER.fullmatch(match[0])
        return f"_{parameter[2]}" if parameter and parameter[1] in names else match[0]

    return _WORD.sub(blanked, line)


def _short_name(symbol: str) -> str:
    """A helper's name, to which Triton adds its module and a dot, "__", argument types and constants."""
    return symbol.partition("__")[0].rpartition(".")[2]


def _renamed(ours: str, theirs: str) -> str:
    """The name of A's function in B: with the types and constants that A's own name has."""
    at = ours.find("__")
    while at >= 0 and not theirs.endswith(ours[at:]):
        at = ours.find("__", at + 1)
    if at >= 0 or "__" not in ours or "__" not in theirs:
        return theirs
    return theirs.partition("__")[0] + "".join(ours.partition("__")[1:])


def _similar(left: Document, right: Document, gap: Gap) -> list[Block]:
    """The pairs of functions, in order, with the largest sum of similarities."""
    ours, theirs = _opcodes(left, gap.left, gap.left_end), _opcodes(right, gap.right, gap.right_end)
    if len(ours) * len(theirs) > _MOST_PAIRS:
        return []
    best: list[tuple[float, list[Block]]] = [(0.0, []) for _ in range(len(theirs) + 1)]
    for i, mine in enumerate(ours):
        row: list[tuple[float, list[Block]]] = [(0.0, [])]
        for j, other in enumerate(theirs):
            options = [best[j + 1], row[j]]
            similarity = (mine & other).total() / max(1, (mine | other).total())
            if similarity >= _SIMILAR:
                score, blocks = best[j]
                options.append((score + similarity, [*blocks, Block(gap.left + i, gap.right + j, 1)]))
            row.append(max(options, key=lambda option: option[0]))
        best = row
    return best[-1][1]


def _opcodes(document: Document, start: int, end: int) -> Sequence[Counter[str]]:
    """How often each opcode occurs in each of the functions from `start` to `end`."""
    counts: list[Counter[str]] = [Counter() for _ in range(start, end)]
    for operation in document.operations:
        if start <= operation.function < end:
            counts[operation.function - start][operation.opcode] += 1
    return counts
