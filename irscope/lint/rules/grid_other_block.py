"""A grid that divides by another meta-parameter than the kernel steps by.

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
Axes along which a program loops over several blocks are skipped.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import permutations

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.grids import blocks_by_axis, dimensions, divisors
from irscope.lint.source.python_module import LaunchSite, PythonModule

_MAX_BLOCKS = 3


def grid_other_block(module: PythonModule) -> Iterator[Diagnostic]:
    """Compare the names that each grid divides by with those by which the kernel steps."""
    for launch in module.launches:
        steps = blocks_by_axis(launch.kernel, module)
        for axis, dimension in enumerate(dimensions(launch) if steps else ()):
            blocks = [name for name in steps.get(axis, []) if name in launch.kernel.constexprs]
            grid_divisors = list(divisors(dimension, launch.scope, module))
            if blocks and blocks == steps[axis] and len(blocks) == len(grid_divisors) <= _MAX_BLOCKS:
                yield from _check_axis(module, launch, axis, blocks, grid_divisors)


def _check_axis(
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
        message = (
            f"the grid divides axis {axis} by {wrong}, but {launch.kernel.name} steps along it by {actual}: "
            f"if {wrong} is larger, part of the output is never written"
        )
        yield module.diagnostic(RULE, node, message, f"divide by {actual}", launch.kernel)


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


RULE = SourceRule("IRS117", "grid-other-block", __doc__, grid_other_block)
