"""The grids of launches as written, and the block sizes by which kernels step along each axis."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from irscope.facts.source.tokens import names_in
from irscope.lint.source.kernel_body import axes_of, program_axes, resolve_local, terms
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import LaunchSite, PythonModule, PythonScope, inside

_DIVISIONS = ("cdiv", "ceil_div", "ceildiv")


def dimensions(launch: LaunchSite) -> list[ast.expr]:
    """Return the dimensions of a grid that is a tuple, or a function that returns one, else none."""
    grid = launch.scope.resolve(launch.grid)
    if isinstance(grid, ast.Lambda):
        grid = grid.body
    elif isinstance(grid, ast.Name):
        grid = _returned(grid.id, launch.scope) or grid
    return list(grid.elts) if isinstance(grid, ast.Tuple | ast.List) else []


def _returned(name: str, scope: PythonScope) -> ast.expr | None:
    """Return the expression that the local function `name` returns, if it does nothing else."""
    owner = scope.owner(name)
    if owner is None or owner.bound[name] != 1:
        return None
    for node in inside(owner.node):
        match node:
            case ast.FunctionDef(name=found, body=[*rest, ast.Return(ast.expr() as value)]) if found == name:
                return value if all(isinstance(statement, ast.Expr) for statement in rest) else None
    return None


def divisors(node: ast.expr, scope: PythonScope, module: PythonModule) -> Iterator[ast.expr]:
    """Yield the divisors D of `triton.cdiv(n, D)`, `(n + D - 1) // D`, and products of these."""
    node = scope.resolve(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from divisors(node.left, scope, module)
        yield from divisors(node.right, scope, module)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        yield node.right
    elif isinstance(node, ast.Call) and module.dotted(node.func).rpartition(".")[2] in _DIVISIONS:
        yield from node.args[1:2]


@lru_cache(maxsize=64)
def blocks_by_axis(kernel: KernelSource, module: PythonModule) -> Mapping[int, list[str]]:
    """Return the block sizes by which a program steps along each axis.

    It is B for `program * B + tl.arange(0, B)`. Leaves out axes along which a program loops over
    several blocks.
    """
    axes_by_name = program_axes(kernel, module)
    iterated = _iterated(kernel)
    by_axis: dict[int, set[str]] = {}
    looped: set[int] = set()
    for node in kernel.nodes:
        match node:
            case ast.BinOp(_, ast.Add(), _):
                for name, factor in _steps(node, kernel, module):
                    for axis in axes_of(factor, axes_by_name, module):
                        by_axis.setdefault(axis, set()).add(name)
                        if names_in(factor) & iterated:
                            looped.add(axis)
            case ast.For():
                looped |= axes_of(node.iter, axes_by_name, module)
            case ast.While():
                looped |= axes_of(node.test, axes_by_name, module)
            case ast.Call() if module.tl(node, "num_programs"):
                return {}
    return {axis: sorted(names) for axis, names in by_axis.items() if axis not in looped}


def _iterated(kernel: KernelSource) -> set[str]:
    """Return the names that depend on a loop's counter, so that they change with each iteration."""
    loops = [node for node in kernel.nodes if isinstance(node, ast.For)]
    changing = {name for loop in loops for name in names_in(loop.target)}
    pending = list(changing)
    users: dict[str, set[str]] = {}
    for name, values in kernel.assigned.items():
        for value in values:
            for used in names_in(value):
                users.setdefault(used, set()).add(name)
    while pending:
        new = users.get(pending.pop(), set()) - changing
        changing |= new
        pending += new
    return changing


def _steps(node: ast.expr, kernel: KernelSource, module: PythonModule) -> Iterator[tuple[str, ast.expr]]:
    """Yield block sizes in a sum that are both the length of a `tl.arange` and a factor of a term.

    The other factor of the term comes with it.
    """
    parts = [resolve_local(kernel, term) for term in terms(node)]
    calls = [call for part in parts if (call := module.tl(part, "arange")) and len(call.args) == 2]
    lengths = {call.args[1].id for call in calls if isinstance(call.args[1], ast.Name)}
    for part in parts:
        match part:
            case ast.BinOp(left, ast.Mult(), right):
                for factor, block in ((left, right), (right, left)):
                    if isinstance(block, ast.Name) and block.id in lengths:
                        yield block.id, factor


def rounded_up(node: ast.expr, scope: PythonScope, module: PythonModule) -> ast.expr | None:
    """Return the n if a dimension of a grid is `triton.cdiv(n, B)` or `(n + B - 1) // B`, else None."""
    node = scope.resolve(node)
    match node:
        case ast.Call(args=[size, _]) if module.dotted(node.func).rpartition(".")[2] in _DIVISIONS:
            return size
        case ast.BinOp(ast.BinOp(_, ast.Add() | ast.Sub(), _) as total, ast.FloorDiv(), _):
            return next(terms(total.left if isinstance(total.op, ast.Sub) else total))
    return None
