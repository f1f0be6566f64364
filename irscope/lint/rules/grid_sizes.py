"""Grids that do not follow from the config."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from math import prod

from irscope.facts.source.tokens import names_in
from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.grids import blocks_by_axis, dimensions, divisors
from irscope.lint.source.python_module import LaunchSite, PythonModule


def grid_before_config(module: PythonModule) -> Iterator[Diagnostic]:
    """Compare what each grid divides by with the block sizes that the kernel may run with."""
    for launch in module.launches:
        sizes = _sizes(launch, module)
        if not sizes:
            continue
        steps = blocks_by_axis(launch.kernel, module)
        for axis, dimension in enumerate(dimensions(launch)):
            blocks = steps.get(axis, [])
            grid_divisors = list(divisors(dimension, launch.scope, module))
            if blocks and len(blocks) == len(grid_divisors) and set(blocks) <= sizes.keys():
                yield from _grid_before_config_check_axis(
                    module, launch, grid_divisors, {name: sizes[name] for name in blocks}
                )


def _grid_before_config_check_axis(
    module: PythonModule, launch: LaunchSite, divisors: list[ast.expr], sizes: Mapping[str, list[int]]
) -> Iterator[Diagnostic]:
    """Report an axis if some config's blocks are smaller than what the grid divides by."""
    divisor_values = [module.value(divisor, launch.scope) for divisor in divisors]
    if not all(isinstance(value, int) for value in divisor_values):
        return
    smallest = min(prod(values) for values in zip(*sizes.values(), strict=True))
    if smallest >= prod(divisor_values):
        return
    name, divisor = " * ".join(sizes), " * ".join(map(str, divisor_values))
    owner = "a config has" if launch.kernel.autotune else "this launch has"
    message = (
        f"the grid assumes a block of {divisor}, but {owner} {name} = {smallest}: "
        f"{launch.kernel.name} then leaves part of its output unwritten"
    )
    blocks = " and ".join(f'META["{block}"]' for block in sizes)
    fix = f"make the grid a function of the config, lambda META: (...,), that divides by {blocks}"
    yield module.diagnostic(GRID_BEFORE_CONFIG, divisors[0], message, fix, launch.kernel)


def _sizes(launch: LaunchSite, module: PythonModule) -> dict[str, list[int]]:
    """Return the values that each meta-parameter may have in this launch, one per config."""
    autotune = launch.kernel.autotune
    if autotune is not None:
        by_parameter = {name: autotune.values(name) for name in autotune.names()}
        return {name: values for name, values in by_parameter.items() if values}
    passed = {name: module.value(node, launch.scope) for name, node in launch.arguments.items()}
    constexprs = launch.kernel.constexprs
    return {name: [value] for name, value in passed.items() if name in constexprs and isinstance(value, int)}


GRID_BEFORE_CONFIG = SourceRule(
    "IRS101",
    "grid-before-config",
    """\
A grid computed from a larger block size than the kernel runs with.

**What it does.** Reports a launch whose grid divides by a block size that is larger than the block size of
the launch or of some config. It looks at axes along which the kernel steps by `tl.program_id(axis) * BLOCK
+ tl.arange(0, BLOCK)`.

**Why is this bad?** The grid has too few programs, so part of the output is never written, without an error.
The config looks fast to an autotuner because it does less work.

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
""",
    grid_before_config,
)


_MAX_BLOCKS = 3


def grid_other_block(module: PythonModule) -> Iterator[Diagnostic]:
    """Compare the names that each grid divides by with those by which the kernel steps."""
    for launch in module.launches:
        steps = blocks_by_axis(launch.kernel, module)
        for axis, dimension in enumerate(dimensions(launch) if steps else ()):
            blocks = [name for name in steps.get(axis, []) if name in launch.kernel.constexprs]
            grid_divisors = list(divisors(dimension, launch.scope, module))
            if blocks and blocks == steps[axis] and len(blocks) == len(grid_divisors) <= _MAX_BLOCKS:
                yield from _grid_other_block_check_axis(module, launch, axis, blocks, grid_divisors)


def _grid_other_block_check_axis(
    module: PythonModule, launch: LaunchSite, axis: int, blocks: Sequence[str], found: Sequence[ast.expr]
) -> Iterator[Diagnostic]:
    names = [_parameters_named(divisor, launch) for divisor in found]
    if not all(names) or any(
        all(block in candidates for block, candidates in zip(order, names, strict=True))
        for order in permutations(blocks)
    ):
        return
    for node, candidates in zip(found, names, strict=True):
        wrong = next((name for name in candidates if name not in blocks), None)
        actual = next((name for name in blocks if not any(name in choices for choices in names)), None)
        if wrong is None or actual is None or not _may_be_larger(launch, wrong, actual):
            continue
        if any(isinstance(loop, ast.For) and wrong in names_in(loop.iter) for loop in launch.kernel.nodes):
            continue
        message = (
            f"the grid divides axis {axis} by {wrong}, but {launch.kernel.name} steps along it by {actual}: "
            f"if {wrong} is larger, part of the output is never written"
        )
        yield module.diagnostic(GRID_OTHER_BLOCK, node, message, f"divide by {actual}", launch.kernel)


def _parameters_named(node: ast.expr, launch: LaunchSite) -> list[str]:
    """Return the kernel's constants that a divisor is: X for `META["X"]`, or for a name passed as X."""
    constexprs = launch.kernel.constexprs
    match node:
        case ast.Subscript(ast.Name(), ast.Constant(str() as name)) if name in constexprs:
            return [name]
        case ast.Name() | ast.Attribute():
            text = ast.dump(node)
            passed = [name for name, value in launch.arguments.items() if ast.dump(value) == text]
            return [name for name in passed if name in constexprs]
    return []


def _may_be_larger(launch: LaunchSite, wrong: str, wanted: str) -> bool:
    """Return True if `wrong` is larger than `wanted` in some config, or if the configs are unknown."""
    autotune, heuristics = launch.kernel.autotune, launch.kernel.heuristics
    if heuristics is not None and any(
        isinstance(node, ast.Constant) and node.value in (wrong, wanted) for node in ast.walk(heuristics)
    ):
        return False
    if autotune is None or autotune.configs is None:
        return True
    values = autotune.values(wrong), autotune.values(wanted)
    if values[0] is None or values[1] is None:
        return True
    return any(wrong_size > wanted_size for wrong_size, wanted_size in zip(values[0], values[1], strict=True))


GRID_OTHER_BLOCK = SourceRule(
    "IRS117",
    "grid-other-block",
    """\
A grid that divides by another meta-parameter than the kernel steps by.

**What it does.** Reports a launch whose grid divides an axis by one meta-parameter, such as
`META["BLOCK_N"]`, if the kernel steps along that axis by `tl.program_id(axis) * BLOCK_M + tl.arange(0,
BLOCK_M)`, with another one.

**Why is this bad?** In every config whose BLOCK_N is larger than its BLOCK_M, the grid has too few programs,
so part of the output is never written, without an error.

**Example**

```python
grid = lambda META: (triton.cdiv(M, META["BLOCK_N"]),)  # the kernel has program_id(0) * BLOCK_M
kernel[grid](x, out, M, N)
```

**Use instead**

```python
grid = lambda META: (triton.cdiv(M, META["BLOCK_M"]),)
```

**Limits.** Not reported if the two are equal in every config, or if the divided one is never the larger.
Axes along which a program loops over several blocks are skipped, and divisors that are the length of a
loop.
""",
    grid_other_block,
)
