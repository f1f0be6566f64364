"""The global names that the text of a function or class refers to, and the text with other names for them.

common.BLOCK * SIZE        ->        BLOCK * SIZE_2
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from irscope.model.records import frozen

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@frozen
class GlobalReference:
    """A global name in a text, with the attributes that follow it: `common.BLOCK` is ("common", "BLOCK").

    `nodes` are the expressions of its beginnings: `common`, `common.BLOCK`. `hidden` are the names of local
    variables where it is. `evaluated` is false for those of a parameter's default or annotation and of a
    decorator, which Python reads when it defines the function.
    """

    path: tuple[str, ...]
    nodes: tuple[ast.expr, ...]
    hidden: frozenset[str]
    evaluated: bool = True


def references(tree: ast.AST) -> Iterator[GlobalReference]:
    """Yield each reference to a global or a closure's name in the statements of `tree`, in order."""
    yield from _of(tree, frozenset(), True)


def _of(node: ast.AST, hidden: frozenset[str], evaluated: bool) -> Iterator[GlobalReference]:
    if isinstance(node, ast.Name | ast.Attribute):
        chain = _chain(node)
        if chain is None:
            yield from _of(node.value, hidden, evaluated)  # type: ignore[union-attr] # not a Name
        elif isinstance(chain[0], ast.Name) and chain[0].id not in hidden:
            path = tuple(part.id if isinstance(part, ast.Name) else part.attr for part in chain)  # type: ignore[attr-defined]
            yield GlobalReference(path, chain, hidden, evaluated)
        return
    if isinstance(node, _FUNCTIONS):
        yield from _of_function(node, hidden, evaluated)
        return
    if isinstance(node, ast.ClassDef):
        for child in (*node.decorator_list, *node.bases, *node.keywords):
            yield from _of(child, hidden, False)
        # Methods do not see the names of the class; its other statements do.
        class_hidden = hidden | {name for child in node.body for name in _assigned(child)}
        for child in node.body:
            yield from _of(child, hidden if isinstance(child, _FUNCTIONS) else class_hidden, False)
        return
    if isinstance(node, _COMPREHENSIONS):
        targets = (target for part in node.generators for target in ast.walk(part.target))
        hidden |= {target.id for target in targets if isinstance(target, ast.Name)}
    for child in ast.iter_child_nodes(node):
        yield from _of(child, hidden, evaluated)


def _of_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, hidden: frozenset[str], evaluated: bool
) -> Iterator[GlobalReference]:
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [parameter for parameter in (arguments.vararg, arguments.kwarg) if parameter is not None]
    outer: list[ast.expr | None] = [*arguments.defaults, *arguments.kw_defaults]
    outer += [parameter.annotation for parameter in every]
    if not isinstance(node, ast.Lambda):
        outer += [*node.decorator_list, node.returns]
    for expression in outer:
        if expression is not None:
            yield from _of(expression, hidden, False)
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    local = {parameter.arg for parameter in every} | {name for child in body for name in _assigned(child)}
    for child in body:
        yield from _of(child, hidden | local, True)


def _chain(node: ast.expr) -> tuple[ast.expr, ...] | None:
    """Return the beginnings of `a.b.c`, the shortest first.

    Returns None if it does not begin with a name that is read.
    """
    beginnings = [node]
    while isinstance(node, ast.Attribute):
        node = node.value
        beginnings.append(node)
    return tuple(reversed(beginnings)) if isinstance(node, ast.Name) else None


def _assigned(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement of a function assigns, without those of functions within it."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        yield node.name
        return
    if isinstance(node, ast.Lambda | ast.Global):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
    for child in ast.iter_child_nodes(node):
        yield from _assigned(child)


def rewritten(text: str, tree: ast.AST, edits: Mapping[ast.expr, str]) -> str:
    """Return `text`, of which `tree` is the syntax, with other text for some expressions.

    Before Python 3.12 expressions in f-strings have no position: such a text is then written by
    ast.unparse.
    """
    if not edits:
        return text
    inside = {child for part in ast.walk(tree) if isinstance(part, ast.JoinedStr) for child in ast.walk(part)}
    if any(node in inside for node in edits):
        return ast.unparse(ast.fix_missing_locations(_Replaced(edits).visit(tree)))
    content = text.encode()
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    spans = [
        (starts[node.lineno - 1] + node.col_offset, starts[(node.end_lineno or node.lineno) - 1], node, new)
        for node, new in edits.items()
    ]
    for start, last_line, node, new in sorted(spans, key=lambda place: -place[0]):
        content = content[:start] + new.encode() + content[last_line + (node.end_col_offset or 0) :]
    return content.decode()


class _Replaced(ast.NodeTransformer):
    def __init__(self, edits: Mapping[ast.expr, str]) -> None:
        self._edits = edits

    def visit(self, node: ast.AST) -> ast.AST:
        """Return the node, or the expression that takes its place."""
        if isinstance(node, ast.expr) and node in self._edits:
            return ast.parse(self._edits[node], mode="eval").body
        return self.generic_visit(node)
