"""A grid computed from a larger block size than the kernel runs with.

**What it does.** Reports a launch whose grid divides by a block size that is larger than the block size of
the launch or of some config. It looks at axes along which the kernel steps by `tl.program_id(axis) * BLOCK
+ tl.arange(0, BLOCK)`.

**Why is this bad?** The grid has too few programs, so part of the output is never written. Nothing reports
an error, and the config looks fast to an autotuner because it does less work.

**Example**

```python
grid = (triton.cdiv(n, 1024),)  # but a config has BLOCK = 256
kernel[grid](x, out, n)
```

**Use instead**

```python
grid = lambda META: (triton.cdiv(n, META["BLOCK"]),)
kernel[grid](x, out, n)
```

**Limits.** Axes along which a program loops over several blocks are skipped, because any grid covers them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from math import prod

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.kernel_body import axes_of, program_axes, resolve_local, terms
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import LaunchSite, PythonModule
from irscope.lint.source.scope import Scope

_DIVISIONS = ("cdiv", "ceil_div", "ceildiv")


def grid_before_config(module: PythonModule) -> Iterator[Diagnostic]:
    """Compares what each grid divides by with the block sizes that the kernel may run with."""
    for launch in module.launches:
        sizes = _sizes(launch, module)
        if not sizes:
            continue
        blocks_by_axis = _blocks_by_axis(launch.kernel, module)
        for axis, dimension in enumerate(_dimensions(launch)):
            blocks = blocks_by_axis.get(axis, [])
            divisors = list(_divisors(dimension, launch.scope, module))
            if blocks and len(blocks) == len(divisors) and set(blocks) <= sizes.keys():
                yield from _check_axis(module, launch, divisors, {name: sizes[name] for name in blocks})


def _check_axis(
    module: PythonModule, launch: LaunchSite, divisors: list[ast.expr], sizes: Mapping[str, list[int]]
) -> Iterator[Diagnostic]:
    """Reports an axis if some config's blocks are smaller than what the grid divides by."""
    known = [module.value(divisor, launch.scope) for divisor in divisors]
    if not all(isinstance(value, int) for value in known):
        return
    smallest = min(prod(values) for values in zip(*sizes.values(), strict=True))
    if smallest >= prod(known):
        return
    name, divisor = " * ".join(sizes), " * ".join(map(str, known))
    owner = "a config has" if launch.kernel.autotune else "this launch has"
    message = (
        f"the grid assumes a block of {divisor}, but {owner} {name} = {smallest}: "
        f"{launch.kernel.name} then leaves part of its output unwritten"
    )
    blocks = " and ".join(f'META["{one}"]' for one in sizes)
    fix = f"make the grid a function of the config, lambda META: (...,), that divides by {blocks}"
    yield module.diagnostic(RULE, divisors[0], message, fix, launch.kernel)


def _sizes(launch: LaunchSite, module: PythonModule) -> dict[str, list[int]]:
    """The values that each meta-parameter may have in this launch, one per config."""
    autotune = launch.kernel.autotune
    if autotune is not None:
        found = {name: autotune.values(name) for name in autotune.names()}
        return {name: values for name, values in found.items() if values}
    given = {name: module.value(node, launch.scope) for name, node in launch.arguments.items()}
    constexprs = launch.kernel.constexprs
    return {name: [value] for name, value in given.items() if name in constexprs and isinstance(value, int)}


def _dimensions(launch: LaunchSite) -> list[ast.expr]:
    """The dimensions of a grid written as a tuple or as a lambda that returns one, else nothing."""
    grid = launch.scope.resolve(launch.grid)
    if isinstance(grid, ast.Lambda):
        grid = grid.body
    return list(grid.elts) if isinstance(grid, ast.Tuple | ast.List) else []


def _divisors(node: ast.expr, scope: Scope, module: PythonModule) -> Iterator[ast.expr]:
    """The divisors D of `triton.cdiv(n, D)`, `(n + D - 1) // D`, and products of such expressions."""
    node = scope.resolve(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _divisors(node.left, scope, module)
        yield from _divisors(node.right, scope, module)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        yield node.right
    elif isinstance(node, ast.Call) and module.dotted(node.func).rpartition(".")[2] in _DIVISIONS:
        yield from node.args[1:2]


def _blocks_by_axis(kernel: KernelSource, module: PythonModule) -> dict[int, list[str]]:
    """The block sizes by which a program steps along each axis: B in `program * B + tl.arange(0, B)`.

    Leaves out axes along which a program loops over several blocks.
    """
    axes_by_name = program_axes(kernel, module)
    found: dict[int, set[str]] = {}
    looped: set[int] = set()
    for node in kernel.nodes:
        match node:
            case ast.BinOp(_, ast.Add(), _):
                for name, axes in _steps(node, kernel, axes_by_name, module):
                    for axis in axes:
                        found.setdefault(axis, set()).add(name)
            case ast.For():
                looped |= axes_of(node.iter, axes_by_name, module)
            case ast.While():
                looped |= axes_of(node.test, axes_by_name, module)
            case ast.Call() if module.tl(node, "num_programs"):
                return {}
    return {axis: sorted(names) for axis, names in found.items() if axis not in looped}


def _steps(
    node: ast.expr, kernel: KernelSource, axes_by_name: Mapping[str, frozenset[int]], module: PythonModule
) -> Iterator[tuple[str, frozenset[int]]]:
    """Block sizes in a sum that are both the length of a `tl.arange` and a factor of a program's index."""
    parts = [resolve_local(kernel, term) for term in terms(node)]
    calls = [call for part in parts if (call := module.tl(part, "arange")) and len(call.args) == 2]
    lengths = {call.args[1].id for call in calls if isinstance(call.args[1], ast.Name)}
    for part in parts:
        match part:
            case ast.BinOp(left, ast.Mult(), right):
                for one, other in ((left, right), (right, left)):
                    if isinstance(other, ast.Name) and other.id in lengths:
                        yield other.id, axes_of(one, axes_by_name, module)


RULE = SourceRule("IRS101", "grid-before-config", __doc__, grid_before_config)
