"""Resolves a name to the expression it is bound to, if it is bound once and never changed in place."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_MUTATING_METHODS = frozenset(
    ["append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "setdefault"]
)


_MAX_ALIASES = 10


@dataclass(frozen=True)
class Scope:
    """The names of a function, or of the module (`parent` is None).

    `bindings` maps each name that is bound once to its expression; `bound` counts how often each is bound.
    """

    node: ast.Module | Function
    bindings: Mapping[str, ast.expr]
    bound: Mapping[str, int]
    parent: Scope | None = None

    def owner(self, name: str) -> Scope | None:
        """The scope that binds `name`; None if none does."""
        scope: Scope | None = self
        while scope is not None and name not in scope.bound:
            scope = scope.parent
        return scope

    def expression(self, name: str) -> ast.expr | None:
        """The expression that `name` is bound to; None if that is uncertain."""
        owner = self.owner(name)
        return None if owner is None else owner.bindings.get(name)

    def resolve(self, node: ast.expr) -> ast.expr:
        """`node`; if it is a name, the expression that it is bound to, followed through other names."""
        for _ in range(_MAX_ALIASES):
            if not isinstance(node, ast.Name) or (value := self.expression(node.id)) is None:
                return node
            node = value
        return node

    @property
    def outermost(self) -> Scope:
        """The outermost function around this scope; for the module, the module itself."""
        return self if self.parent is None or self.parent.parent is None else self.parent.outermost


def scope_of(node: ast.Module | Function, parent: Scope | None) -> Scope:
    """The scope of a module or function."""
    counts = Counter(_bound_names(node))
    simple: dict[str, ast.expr] = {}
    # In a module, only unconditional assignments count.
    for statement in node.body if isinstance(node, ast.Module) else inside(node):
        match statement:
            case ast.Assign(targets=[ast.Name() | ast.Tuple() as target], value=value):
                simple |= dict(_bindings(target, value))
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                simple[target.id] = value
    changed = set(_mutated_names(node))
    bindings = {name: value for name, value in simple.items() if counts[name] == 1 and name not in changed}
    return Scope(node, bindings, counts, parent)


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function or module, without the bodies of nested functions and classes."""
    body = getattr(node, "body", [])
    pending = list(body) if isinstance(body, list) else [body]
    while pending:
        current = pending.pop()
        yield current
        if not isinstance(current, (*_FUNCTIONS, ast.ClassDef)):
            pending.extend(ast.iter_child_nodes(current))


def parameters(node: Function) -> list[ast.arg]:
    """All parameters of a function."""
    own = node.args
    more = [one for one in (own.vararg, own.kwarg) if one is not None]
    return [*own.posonlyargs, *own.args, *own.kwonlyargs, *more]


def _bindings(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The expression that `target = value` binds each name to: `a, b = x` binds b to `x[1]`."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and not any(isinstance(one, ast.Starred) for one in target.elts):
        for index, one in enumerate(target.elts):
            if isinstance(value, ast.Tuple | ast.List):
                if len(value.elts) == len(target.elts) and not isinstance(value.elts[index], ast.Starred):
                    yield from _bindings(one, value.elts[index])
            else:
                part = ast.Subscript(value, ast.Constant(index), ast.Load())
                yield from _bindings(one, ast.copy_location(part, value))


def _bound_names(node: ast.Module | Function) -> Iterator[str]:
    """Each name that is bound, once per binding."""
    if not isinstance(node, ast.Module):
        yield from (parameter.arg for parameter in parameters(node))
    for part in inside(node):
        match part:
            case ast.Name(ctx=ast.Store() | ast.Del()):
                yield part.id
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield part.name
            case ast.Import() | ast.ImportFrom():
                yield from ((alias.asname or alias.name).partition(".")[0] for alias in part.names)
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                yield name


def _mutated_names(node: ast.Module | Function) -> Iterator[str]:
    """The names whose value may change after they are bound: in place, or from another scope."""
    for part in ast.walk(node):
        match part:
            case ast.Call(func=ast.Attribute(ast.Name() as name, method)) if method in _MUTATING_METHODS:
                yield name.id
            case ast.Subscript(value=ast.Name() as name, ctx=ast.Store() | ast.Del()):
                yield name.id
            case ast.AugAssign(target=ast.Name() as name):
                yield name.id
            case ast.Global() | ast.Nonlocal():
                yield from part.names
