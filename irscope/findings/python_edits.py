"""The edits between two versions of a function: its statements in pairs, and where each pair differs.

    A: x = tl.load(p, mask=m)    ->    B: x = tl.load(p)        Difference(call, call, keyword "mask")

Like a diff by syntax tree, it ignores comments, line breaks and renamed variables. A diff by lines would show
the whole statement and leave the reader to find the difference.
"""

from __future__ import annotations

import ast
import textwrap
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from irscope.diff.align import Gap, MatchingBlock, gaps_between, matched_pairs, refined
from irscope.facts.source.tokens import def_index, names_in

# Longer functions are generated; their trees would take too long to compare.
_MOST_CHARACTERS = 200_000


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement without the ones in its body. `line` and `end` are its first and last line in its file.

    `written` is the statement as Python has it; in `node`, `x += y` is `x = x + y`, which is the same one.
    """

    written: ast.stmt
    node: ast.stmt
    parts: tuple[ast.AST, ...]
    line: int
    end: int

    @cached_property
    def key(self) -> str:
        """Equal for statements that differ at most in layout."""
        return " ".join([type(self.node).__name__, *map(ast.dump, self.parts)])

    @cached_property
    def nameless_key(self) -> str:
        """Equal for statements that differ at most in layout and in names of variables."""
        return " ".join([type(self.node).__name__, *(_nameless(part) for part in self.parts)])

    @property
    def kind(self) -> Hashable:
        """Equal for versions of one statement: they assign the same variables or call the same function."""
        node = self.node
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = tuple(ast.dump(target) for target in targets if target is not None)
        called = ""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = ast.dump(node.value.func)
        return type(node).__name__, names, called

    @property
    def assigned(self) -> frozenset[str]:
        """The names of the variables that it assigns."""
        return self._names(ast.Store)

    @property
    def read(self) -> frozenset[str]:
        """The names of the variables that it reads; a loop reads the ones that its body assigns."""
        reads = self._names(ast.Load)
        if isinstance(self.node, ast.For | ast.While):
            reads |= names_in(self.node, ast.Store)
        return reads

    def _names(self, context: type[ast.expr_context]) -> frozenset[str]:
        return frozenset().union(*(names_in(part, context) for part in self.parts))


@dataclass(frozen=True, eq=False)
class StatementEdit:
    """A statement that was changed, added (no `before`), removed (no `after`) or moved."""

    before: Statement | None
    after: Statement | None
    moved: bool = False


def edits(before: str, first_before: int, after: str, first_after: int) -> list[StatementEdit]:
    """Return the edits of a function between two texts, whose first lines have the given numbers, in order.

    Empty if either is not Python. Renamed variables are no edits.
    """
    try:
        ours, theirs = _statements(before, first_before), _statements(after, first_after)
        ours = _renamed(ours, theirs)
        return list(_edits(ours, theirs))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def lines_reached(text: str, first: int, names: frozenset[str]) -> set[int]:
    """Return the lines of the statements that read the variables `names`, or others computed from them."""
    found: set[int] = set()
    try:
        statements = _statements(text, first)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return found
    for statement in (*statements, *statements):  # a loop reads what its last iteration assigned
        if not names.isdisjoint(statement.read):
            names |= statement.assigned
            found.update(range(statement.line, statement.end + 1))
    return found


def _statements(text: str, first: int) -> list[Statement]:
    """Return the statements of a function's body, the nested ones too, in the order of the text."""
    if len(text) > _MOST_CHARACTERS:
        return []
    lines = text.split("\n")
    start = def_index(lines)
    tree = ast.parse(textwrap.dedent("\n".join(lines[start:])))
    function = tree.body[0] if tree.body else None
    if not isinstance(function, ast.FunctionDef):
        return []
    offset = first + start - 1
    found: list[Statement] = []
    pending = list(reversed(function.body))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        bodies = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
        nested = [child for body in bodies for child in body if isinstance(child, ast.stmt)]
        inside = {id(child) for child in nested}
        plain = _without_augmentation(node)
        parts = tuple(part for part in ast.iter_child_nodes(plain) if id(part) not in inside)
        end = max((getattr(part, "end_lineno", 0) or 0 for part in parts), default=node.lineno)
        found.append(Statement(node, plain, parts, node.lineno + offset, max(end, node.lineno) + offset))
        pending += reversed(nested)
    return found


def _without_augmentation(node: ast.stmt) -> ast.stmt:
    """Return `x = x + y` for `x += y`, and any other statement as it is."""
    if not isinstance(node, ast.AugAssign) or not isinstance(node.target, ast.Name):
        return node
    variable = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
    value = ast.copy_location(ast.BinOp(variable, node.op, node.value), node)
    return ast.copy_location(ast.Assign([node.target], value), node)


def _nameless(node: ast.AST) -> str:
    """Return the kinds of the nodes of a tree, and what they are besides names of variables."""
    words = []
    for part in ast.walk(node):
        match part:
            case ast.Constant(value):
                words.append(repr(value))
            case ast.Attribute(attr=word) | ast.keyword(arg=word):
                words.append(str(word))
            case _:
                words.append(type(part).__name__)
    return " ".join(words)


def _renamed(before: list[Statement], after: list[Statement]) -> list[Statement]:
    """`before` with the names of `after` for the variables that were renamed."""
    ours, theirs = _all_names(before), _all_names(after)
    names: dict[str, str] = {}
    for i, j in _pairs(before, after, [lambda one: one.key, lambda one: one.nameless_key]):
        for old, new in zip(_names_in(before[i]), _names_in(after[j]), strict=False):
            if old.id != new.id and old.id not in theirs and new.id not in ours:
                names.setdefault(old.id, new.id)
    for statement in before if len(set(names.values())) == len(names) else ():
        for name in _names_in(statement):
            name.id = names.get(name.id, name.id)
    return [Statement(one.written, one.node, one.parts, one.line, one.end) for one in before]


def _names_in(statement: Statement) -> list[ast.Name]:
    return [node for part in statement.parts for node in ast.walk(part) if isinstance(node, ast.Name)]


def _all_names(statements: Sequence[Statement]) -> frozenset[str]:
    return frozenset(name.id for statement in statements for name in _names_in(statement))


def _pairs(
    before: Sequence[Statement],
    after: Sequence[Statement],
    keys: Sequence[Callable[[Statement], Hashable]],
) -> list[tuple[int, int]]:
    """Return the indices of corresponding statements: by the first key, then between these by the next."""
    if [one.key for one in before] > [one.key for one in after]:
        return [(i, j) for j, i in _pairs(after, before, keys)]
    blocks: list[MatchingBlock] = []
    for key in keys:
        blocks = refined(blocks, [key(one) for one in before], [key(one) for one in after])
    for gap in list(gaps_between(blocks, Gap(0, len(before), 0, len(after)))):
        size = gap.left_end - gap.left
        if size == gap.right_end - gap.right:
            same = (type(before[gap.left + n].node) is type(after[gap.right + n].node) for n in range(size))
            blocks += [MatchingBlock(gap.left + n, gap.right + n, 1) for n, fits in enumerate(same) if fits]
    return sorted(matched_pairs(blocks))


def _edits(before: Sequence[Statement], after: Sequence[Statement]) -> Iterator[StatementEdit]:
    keys: list[Callable[[Statement], Hashable]] = [
        lambda one: one.key,
        lambda one: (one.kind, one.nameless_key),
        lambda one: one.kind,
    ]
    match = dict(_pairs(before, after, keys))
    taken = set(match.values())
    elsewhere: dict[str, list[int]] = defaultdict(list)
    for j in reversed(range(len(after))):
        if j not in taken:
            elsewhere[after[j].key].append(j)
    moved = {
        i: elsewhere[one.key].pop() for i, one in enumerate(before) if i not in match and elsewhere[one.key]
    }
    taken |= set(moved.values())
    for i, one in enumerate(before):
        if i in moved:
            yield StatementEdit(one, after[moved[i]], moved=True)
        elif i not in match:
            yield StatementEdit(one, None)
        elif one.key != after[match[i]].key:
            yield StatementEdit(one, after[match[i]])
    yield from (StatementEdit(None, one) for j, one in enumerate(after) if j not in taken)
