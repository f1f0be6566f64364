"""The branches of a kernel that the compiler chooses: which statements each side of a pair has code of.

    if EVEN:                    EVEN=True: only `x = tl.load(p)` is compiled
        x = tl.load(p)
    else:
        x = tl.load(p, mask=m)

Triton evaluates a condition of constants while it generates code and drops the other branch, so nothing in
the IR of either side shows that there was a choice.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from irscope.model import SourceFunction
from irscope.model.frozen_value import FrozenValue

# Longer functions are generated.
_MOST_CHARACTERS = 200_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Branch(FrozenValue):
    """An `if` whose branches the two sides do not compile alike.

    `line` is its line in the file and `test` its condition. `only_a` and `only_b` are the lines with code of
    only one side, in order.
    """

    line: int
    test: str
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Choice(FrozenValue):
    """An `if`: its line, its condition, the lines of its two branches, and whether an `elif` follows."""

    line: int
    test: ast.expr
    body: range
    otherwise: range
    has_elif: bool = False


def chosen_branches(
    function: SourceFunction, changed: Collection[str], lines_a: Collection[int], lines_b: Collection[int]
) -> list[Branch]:
    """Return the outermost `if` statements of which the two sides compile different branches.

    `changed` are the names whose values differ between the sides; a condition that depends on none of them
    is the same on both. `lines_a` and `lines_b` are the lines of the file that each side has code of.
    """
    if len(function.text) > _MOST_CHARACTERS:
        return []
    try:
        tree = ast.parse(textwrap.dedent(function.text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    first = function.line - 1
    node = next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)
    if node is None:
        return []
    names = _depending(node, changed)
    found: list[Branch] = []
    reported: set[int] = set()
    for choice in _choices(node.body, first):
        if choice.line in reported or names.isdisjoint(_names(choice.test)):
            continue
        if branch := _branch(choice, lines_a, lines_b):
            found.append(branch)
            reported |= {*choice.body, *choice.otherwise}
    return found


def _branch(choice: _Choice, lines_a: Collection[int], lines_b: Collection[int]) -> Branch | None:
    """Return the branch if each side has code of at most one of the two, and not of the same."""
    sides = [
        [any(line in lines for line in part) for part in (choice.body, choice.otherwise)]
        for lines in (lines_a, lines_b)
    ]
    if sides[0] == sides[1] or any(all(side) for side in sides):
        return None
    if choice.has_elif and not sides[0][0] and not sides[1][0]:
        return None  # false on both sides: one of the conditions after `elif` differs
    inside = (*choice.body, *choice.otherwise)
    return Branch(
        choice.line,
        ast.unparse(choice.test),
        tuple(line for line in inside if line in lines_a and line not in lines_b),
        tuple(line for line in inside if line in lines_b and line not in lines_a),
    )


def _choices(statements: Sequence[ast.stmt], first: int) -> Iterator[_Choice]:
    """Yield each `if` before those inside it. What follows a branch that returns is the other branch."""
    for index, node in enumerate(statements):
        if isinstance(node, ast.If):
            returns = isinstance(node.body[-1], ast.Return) and not node.orelse
            otherwise = statements[index + 1 :] if returns else node.orelse
            has_elif = len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)
            body, rest = _span(node.body, first), _span(otherwise, first)
            yield _Choice(node.lineno + first, node.test, body, rest, has_elif)
        for name in ("body", "orelse"):
            yield from _choices(getattr(node, name, []), first)


def _span(statements: Sequence[ast.stmt], first: int) -> range:
    if not statements:
        return range(0)
    end = statements[-1].end_lineno or statements[-1].lineno
    return range(statements[0].lineno + first, end + first + 1)


def _depending(function: ast.FunctionDef, changed: Collection[str]) -> set[str]:
    """Return `changed` and the names that the function computes from them."""
    names = set(changed)
    assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.AnnAssign)]
    for _ in range(2):  # once more for an assignment above what it depends on, in a loop
        for node in assigned:
            if node.value is not None and not names.isdisjoint(_names(node.value)):
                names |= _names(node, ast.Store)
    return names


def _names(node: ast.AST, context: type[ast.expr_context] = ast.Load) -> set[str]:
    found = (child for child in ast.walk(node) if isinstance(child, ast.Name))
    return {name.id for name in found if isinstance(name.ctx, context)}
