"""A grid computed from a larger block size than the kernel runs with.

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
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from math import prod

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
                yield from _check_axis(module, launch, grid_divisors, {name: sizes[name] for name in blocks})


def _check_axis(
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
    yield module.diagnostic(RULE, divisors[0], message, fix, launch.kernel)


def _sizes(launch: LaunchSite, module: PythonModule) -> dict[str, list[int]]:
    """Return the values that each meta-parameter may have in this launch, one per config."""
    autotune = launch.kernel.autotune
    if autotune is not None:
        by_parameter = {name: autotune.values(name) for name in autotune.names()}
        return {name: values for name, values in by_parameter.items() if values}
    passed = {name: module.value(node, launch.scope) for name, node in launch.arguments.items()}
    constexprs = launch.kernel.constexprs
    return {name: [value] for name, value in passed.items() if name in constexprs and isinstance(value, int)}


RULE = SourceRule("IRS101", "grid-before-config", __doc__, grid_before_config)
