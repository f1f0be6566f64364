"""An offset that overflows 32 bits for the sizes that the file launches with.

**What it does.** Reports additions and multiplications of `int32` in an address whose result is more than
2,147,483,647 in the last program of a launch, if the text determines the grid, the sizes and the strides.

**Why is this bad?** The result wraps around to a negative offset: the kernel reads and writes the wrong
elements, or fails with an illegal memory access, for large tensors only.

**Example**

```python
row = tl.program_id(0)
x = tl.load(x_ptr + row * 32768 + tl.arange(0, 32768))  # launched with 70,000 rows
```

**Use instead**

```python
row = tl.program_id(0).to(tl.int64)
```

**Limits.** [launch-overflow](#launch-overflow) finds more: it knows the sizes of recorded launches.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from irscope.facts.source.tokens import names_in
from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.accesses import pointer_accesses
from irscope.lint.source.evaluate import StaticValue
from irscope.lint.source.grids import dimensions
from irscope.lint.source.offsets import LIMIT, OffsetEvaluator
from irscope.lint.source.python_module import LaunchSite, PythonModule

FIX = "compute it in 64 bits, such as tl.program_id(0).to(tl.int64)"
_MAX_CONFIGS = 100
_MAX_SHOWN = 80


def offset_overflow(module: PythonModule) -> Iterator[Diagnostic]:
    """Evaluate the addresses of each kernel for the last program of each launch."""
    reported: set[ast.AST] = set()
    for launch in module.called_launches:
        kernel = launch.kernel
        for values in _values(launch, module):
            grid = _grid(launch, values, module)
            # Without a large grid or argument, nothing can overflow.
            if not grid or not _is_large(grid, values):
                continue
            evaluate = OffsetEvaluator(kernel, module, values, grid)
            for access in pointer_accesses(kernel, module):
                evaluate(access.pointer)
            for node, value in evaluate.overflows.items():
                if node not in reported:
                    reported.add(node)
                    message = (
                        f"{ast.unparse(node)[:_MAX_SHOWN]} in {kernel.name} is {value:,} for the launch at "
                        f"line {launch.call.lineno} in its last program, more than int32 holds "
                        f"({LIMIT:,}): it wraps around"
                    )
                    yield module.diagnostic(RULE, node, message, FIX, kernel)


def _values(launch: LaunchSite, module: PythonModule) -> Iterator[Mapping[str, int]]:
    """Yield the known integer arguments, once per config."""
    passed = {name: module.value(node, launch.scope) for name, node in launch.arguments.items()}
    autotune = launch.kernel.autotune
    configs = autotune.configs or () if autotune is not None else ()
    for kwargs in [config.kwargs or {} for config in configs[:_MAX_CONFIGS]] or [{}]:
        all_values = passed | dict(kwargs)
        yield {
            name: value
            for name, value in all_values.items()
            if isinstance(value, int) and not isinstance(value, bool)
        }


def _grid(launch: LaunchSite, values: Mapping[str, int], module: PythonModule) -> Mapping[int, int]:
    """Map each axis of the grid to its size, if known."""
    sizes = {}
    for axis, dimension in enumerate(dimensions(launch)):
        names = names_in(dimension)
        name_values: dict[str, StaticValue] = {
            name: module.value(ast.Name(name, ast.Load()), launch.scope) for name in names
        }
        # The parameter of a grid function is the only name that no scope binds.
        name_values |= {
            name: dict(values) for name in names if launch.scope.owner(name) is None and name != "triton"
        }
        size = module.evaluate(dimension, name_values)
        if isinstance(size, int) and size > 0:
            sizes[axis] = size
    return sizes


def _is_large(grid: Mapping[int, int], values: Mapping[str, int]) -> bool:
    product = 1
    for size in (*grid.values(), *(abs(value) for value in values.values() if value)):
        product *= size
    return product > LIMIT


RULE = SourceRule("IRS116", "offset-overflow", __doc__, offset_overflow)
