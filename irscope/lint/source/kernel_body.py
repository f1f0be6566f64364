"""Data flow in a kernel's body: where names come from, and how the kernel uses its parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from irscope.facts.source.tokens import names_in
from irscope.lint.source.python_module import parameters

if TYPE_CHECKING:
    from irscope.lint.source.kernel_source import KernelSource
    from irscope.lint.source.python_module import PythonModule

_MAX_ROUNDS = 20
# Calls of triton.language whose arguments may be run-time numbers.
_PLAIN_CALLS = frozenset(
    [
        *("load", "store", "atomic_add", "where", "minimum", "maximum", "min", "max", "sum", "cdiv"),
        *("rand", "randn", "randint"),
    ]
)


def resolve_local(kernel: KernelSource, node: ast.expr) -> ast.expr:
    """Return `node` or, if it is a local name that the body assigns once, the expression assigned."""
    for _ in range(_MAX_ROUNDS):
        if not isinstance(node, ast.Name) or kernel.parameter(node.id):
            return node
        values = kernel.assigned.get(node.id, [])
        if len(values) != 1:
            return node
        node = values[0]
    return node


def terms(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the terms of a sum, from left to right."""
    pending = [node]
    while pending:
        term = pending.pop()
        if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Add):
            pending += [term.right, term.left]
        else:
            yield term


@lru_cache(maxsize=64)
def program_axes(kernel: KernelSource, module: PythonModule) -> Mapping[str, frozenset[int]]:
    """Map each name computed from `tl.program_id` to its axes. Loaded values do not count."""
    by_name: dict[str, frozenset[int]] = {}
    for _ in range(_MAX_ROUNDS):
        before = dict(by_name)
        for name, values in kernel.assigned.items():
            axes = frozenset().union(*(axes_of(value, by_name, module) for value in values))
            if axes:
                by_name[name] = axes
        if by_name == before:
            break
    return by_name


def axes_of(node: ast.expr, known: Mapping[str, frozenset[int]], module: PythonModule) -> frozenset[int]:
    """Return the axes of `tl.program_id` that an expression depends on.

    -1 stands for an axis that is not constant.
    """
    axes: set[int] = set()
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Name):
            axes |= known.get(part.id, frozenset())
        elif (axis := module.program_axis(part)) is not None:
            axes.add(axis)
        elif not module.tl(part, "load"):
            pending.extend(ast.iter_child_nodes(part))
    return frozenset(axes)


def needs_constant(function: ast.FunctionDef, name: str) -> bool:
    """Check whether the body uses a parameter where it must be constant: a shape, branch, call, ...

    Arithmetic does not require one, and its result with a run-time value is not a constant.
    """
    parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    constants = {arg.arg for arg in parameters(function) if "constexpr" in ast.dump(arg)}
    pending, visited = [name], {name}
    while pending:
        current = pending.pop()
        for node in ast.walk(function):
            if not isinstance(node, ast.Name) or node.id != current:
                continue
            if isinstance(node.ctx, ast.Store):
                if current == name:
                    return True
                continue
            target = _use(node, parents, constants | visited)
            if target is None:
                return True
            if target and target not in visited:
                visited.add(target)
                pending.append(target)
    return False


def _use(node: ast.AST, parents: Mapping[ast.AST, ast.AST], constants: set[str]) -> str | None:
    """Return the name that a use of a constant is assigned to.

    Returns "" if it is combined with run-time values, and None if it may have to be a constant.
    """
    while True:
        node = parents[node]
        match node:
            case ast.BinOp() | ast.UnaryOp() | ast.Compare():
                if _names(node) - constants:
                    return ""
            case ast.Call(func=ast.Attribute(ast.Name("tl" | "language"), method)) if method in _PLAIN_CALLS:
                if method != "cdiv":
                    return ""
            case ast.Call(func=ast.Name("min" | "max")) | ast.keyword():
                pass
            case ast.Assign(targets=[ast.Name() as target]):
                return target.id
            case _:
                return None


def _names(node: ast.AST) -> set[str]:
    """Return the names that an expression reads, except modules."""
    return names_in(node) - {"tl", "triton", "language", "min", "max"}
