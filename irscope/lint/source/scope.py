"""Which expression a name stands for: where it is bound once, and nothing can have changed it since."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_CHANGING = frozenset(
    ["append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "setdefault"]
)


@dataclass(frozen=True)
class Scope:
    """The names of a function (or the module, `parent` None): `bindings` are those that stand for one
    expression, `own` says how often it binds each of its names.
    """

    node: ast.Module | Function
    bindings: Mapping[str, ast.expr]
    own: Mapping[str, int]
    parent: Scope | None = None

    def owner(self, name: str) -> Scope | None:
        """The scope that binds `name`; None where none does."""
        scope: Scope | None = self
        while scope is not None and name not in scope.own:
            scope = scope.parent
        return scope

    def expression(self, name: str) -> ast.expr | None:
        """What `name` stands for; None where that is not certain."""
        owner = self.owner(name)
        return None if owner is None else owner.bindings.get(name)

    @property
    def outermost(self) -> Scope:
        """The function that this one stands in, below the module; the module for itself."""
        return self if self.parent is None or self.parent.parent is None else self.parent.outermost


def scope_of(node: ast.Module | Function, parent: Scope | None) -> Scope:
    """The scope that a module or function makes."""
    names = Counter(_bound(node))
    simple: dict[str, ast.expr] = {}
    # A module's name counts only where it is bound whatever the branches do.
    for statement in node.body if isinstance(node, ast.Module) else inside(node):
        match statement:
            case ast.Assign(targets=[ast.Name() | ast.Tuple() as target], value=value):
                simple |= dict(_bindings(target, value))
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                simple[target.id] = value
    changed = set(_changed(node))
    bindings = {name: value for name, value in simple.items() if names[name] == 1 and name not in changed}
    return Scope(node, bindings, names, parent)


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function or module that are not in a function or class within it."""
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
    """What `target = value` lets each name stand for: `a, b = x` lets b stand for `x[1]`."""
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


def _bound(node: ast.Module | Function) -> Iterator[str]:
    """Each name that is bound, as often as it is."""
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


def _changed(node: ast.Module | Function) -> Iterator[str]:
    """The names whose value may be another one than what was bound: changed in place, or elsewhere."""
    for part in ast.walk(node):
        match part:
            case ast.Call(func=ast.Attribute(ast.Name() as name, method)) if method in _CHANGING:
                yield name.id
            case ast.Subscript(value=ast.Name() as name, ctx=ast.Store() | ast.Del()):
                yield name.id
            case ast.AugAssign(target=ast.Name() as name):
                yield name.id
            case ast.Global() | ast.Nonlocal():
                yield from part.names
