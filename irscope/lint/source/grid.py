"""A grid that was computed from another block size than the one that the kernel runs with."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from math import prod

from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.lint.source.body import axes_of, program_axes, single, sums
from irscope.lint.source.kernel import KernelSource
from irscope.lint.source.module import LaunchSite, PythonModule
from irscope.lint.source.scope import Scope

GRID = Rule(
    "IRS101",
    "grid-before-config",
    "a grid computed from another block size than the kernel runs with: part of the output is never written",
)

_DIVISIONS = ("cdiv", "ceil_div", "ceildiv")


def grid_before_config(module: PythonModule) -> Iterator[Diagnostic]:
    """Launches whose grid is too small for some block size that the kernel may run with."""
    for launch in module.launches:
        sizes = _sizes(launch, module)
        if not sizes:
            continue
        ties = _blocks_by_axis(launch.kernel, module)
        for axis, dimension in enumerate(_dimensions(launch)):
            blocks = ties.get(axis, [])
            divisors = list(_divisors(dimension, launch.scope, module))
            if blocks and len(blocks) == len(divisors) and set(blocks) <= sizes.keys():
                yield from _checked(module, launch, divisors, {name: sizes[name] for name in blocks})


def _checked(
    module: PythonModule, launch: LaunchSite, divisors: list[ast.expr], sizes: Mapping[str, list[int]]
) -> Iterator[Diagnostic]:
    """A problem where the blocks of some config together are smaller than what the grid was divided by."""
    known = [module.value(divisor, launch.scope) for divisor in divisors]
    if not all(isinstance(value, int) for value in known):
        return
    smallest = min(prod(values) for values in zip(*sizes.values(), strict=True))
    if smallest >= prod(known):
        return
    name, by = " * ".join(sizes), " * ".join(map(str, known))
    tuned = launch.kernel.autotune is not None
    who = "configs have" if tuned else "this launch has"
    message = (
        f"the grid is computed from a block of {by}, but {who} {name} = {smallest}: "
        f"{launch.kernel.name} then never writes part of its output"
    )
    wanted = " and ".join(f'META["{one}"]' for one in sizes)
    fix = f"make the grid a function of the config, lambda META: (...,), that divides by {wanted}"
    yield module.problem(GRID, divisors[0], message, fix, launch.kernel)


def _sizes(launch: LaunchSite, module: PythonModule) -> dict[str, list[int]]:
    """The values that each meta-parameter may have in this launch, config by config."""
    tuned = launch.kernel.autotune
    if tuned is not None:
        found = {name: tuned.values(name) for name in tuned.names()}
        return {name: values for name, values in found.items() if values}
    given = {name: module.value(node, launch.scope) for name, node in launch.arguments.items()}
    constants = {parameter.name for parameter in launch.kernel.parameters if parameter.constexpr}
    return {name: [value] for name, value in given.items() if name in constants and isinstance(value, int)}


def _dimensions(launch: LaunchSite) -> list[ast.expr]:
    """The grid, dimension by dimension, as far as it is written down as a tuple or a lambda of one."""
    grid = _resolved(launch.grid, launch.scope)
    if isinstance(grid, ast.Lambda):
        grid = grid.body
    return list(grid.elts) if isinstance(grid, ast.Tuple | ast.List) else []


def _resolved(node: ast.expr, scope: Scope) -> ast.expr:
    for _ in range(10):
        if not isinstance(node, ast.Name) or (value := scope.expression(node.id)) is None:
            return node
        node = value
    return node


def _divisors(node: ast.expr, scope: Scope, module: PythonModule) -> Iterator[ast.expr]:
    """By what an expression divides, rounded up or not: `triton.cdiv(n, D)`, `(n + D - 1) // D`.

    Nothing for what is no product of such divisions and plain numbers.
    """
    node = _resolved(node, scope)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _divisors(node.left, scope, module)
        yield from _divisors(node.right, scope, module)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        yield node.right
    elif isinstance(node, ast.Call) and module.dotted(node.func).rpartition(".")[2] in _DIVISIONS:
        yield from node.args[1:2]


def _blocks_by_axis(kernel: KernelSource, module: PythonModule) -> dict[int, list[str]]:
    """The block sizes by which a program steps along each axis: B in `program * B + tl.arange(0, B)`.

    An axis along which a program walks over several blocks is left out: there any grid covers all.
    """
    origin = program_axes(kernel, module)
    found: dict[int, set[str]] = {}
    walked: set[int] = set()
    for node in kernel.nodes:
        match node:
            case ast.BinOp(_, ast.Add(), _):
                for name, axes in _steps(node, kernel, origin, module):
                    for axis in axes:
                        found.setdefault(axis, set()).add(name)
            case ast.For():
                walked |= axes_of(node.iter, origin, module)
            case ast.While():
                walked |= axes_of(node.test, origin, module)
            case ast.Call() if module.tl(node, "num_programs"):
                return {}
    return {axis: sorted(names) for axis, names in found.items() if axis not in walked}


def _steps(
    node: ast.expr, kernel: KernelSource, origin: Mapping[str, frozenset[int]], module: PythonModule
) -> Iterator[tuple[str, frozenset[int]]]:
    """Block sizes in a sum that are both the length of a `tl.arange` and a factor of a program's place."""
    terms = [single(kernel, term) for term in sums(node)]
    calls = [call for term in terms if (call := module.tl(term, "arange")) and len(call.args) == 2]
    lengths = {call.args[1].id for call in calls if isinstance(call.args[1], ast.Name)}
    for term in terms:
        match term:
            case ast.BinOp(left, ast.Mult(), right):
                for one, other in ((left, right), (right, left)):
                    if isinstance(other, ast.Name) and other.id in lengths:
                        yield other.id, axes_of(one, origin, module)
