"""A size that bounds a loop and is missing from the tuning key.

**What it does.** Reports a run-time size that determines how often a loop runs and is not in the key, if
the key is empty or has other run-time sizes. So is a `tl.constexpr` size that no config sets.

**Why is this bad?** The config that was best for the first value is used for all values.

**Example**

```python
@triton.autotune(CONFIGS, key=["M", "N"])
@triton.jit
def matmul(..., M, N, K, ...):
    for k in range(0, K, BLOCK_K): ...
```

**Use instead**

```python
@triton.autotune(CONFIGS, key=["M", "N", "K"])
```

**Limits.** A key with a name that contains this one (`K_BUCKET`) is accepted: tuning for ranges of sizes
is a good idea.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from irscope.facts.source.tokens import names_in
from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.accesses import pointer_parameters
from irscope.lint.source.kernel_body import axes_of, program_axes
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import PythonModule, tuning_keys

# Constants that differ between the calls of a model: those of its layers, not flags.
_SIZES = re.compile(r"^[MNKD]$|hidden|seq_?len|n_?cols|n_?rows", re.IGNORECASE)


def key_missing(module: PythonModule) -> Iterator[Diagnostic]:
    """Compare the bounds of each kernel's loops with its key."""
    for key in tuning_keys(module):
        kernel = key.kernel
        tuned = {name for config in key.autotune.configs or () for name in config.kwargs or ()}
        sizes = {name for name in kernel.constexprs - tuned if _SIZES.search(name)}
        if key.autotune.configs is None or len(key.autotune.configs) < 2:
            sizes = set()
        runtime = kernel.runtime_parameters - pointer_parameters(kernel, module)
        if key.names and not runtime & set(key.names):
            continue
        for name, loop in _loop_bounds(kernel, module).items():
            if name in runtime | sizes and not any(
                name.lower() in key_name.lower() for key_name in key.names
            ):
                message = (
                    f"{name} bounds the loop at line {loop.lineno} of {kernel.name} and is not in the key: "
                    f"the config that was best for the first {name} is used for all"
                )
                yield module.diagnostic(RULE, key.node, message, f'add "{name}" to the key', kernel)


def _loop_bounds(kernel: KernelSource, module: PythonModule) -> dict[str, ast.For | ast.While]:
    """Map each parameter that bounds a loop to the first such loop.

    Leaves out loops over a program's own share of the grid.
    """
    axes_by_name = program_axes(kernel, module)
    names = {parameter.name for parameter in kernel.parameters}
    loops: dict[str, ast.For | ast.While] = {}
    for node in kernel.nodes:
        bounds = _bounds(node, module)
        if not bounds or any(axes_of(bound, axes_by_name, module) for bound in bounds):
            continue
        for name in _bound_names(bounds[-1], kernel, module) & names:
            if isinstance(node, ast.For | ast.While):
                loops.setdefault(name, node)
    return loops


def _bounds(node: ast.AST, module: PythonModule) -> list[ast.expr]:
    """Return the bounds of a loop over a range, or of one that counts up to a number."""
    match node:
        case ast.For(iter=ast.Call() as call):
            is_range = module.tl(call, "range") or module.dotted(call.func) == "range"
            return call.args[:2] if is_range else []
        case ast.While(test=ast.Compare(ast.Name(), [ast.Lt() | ast.LtE()], [bound])):
            return [bound]
    return []


def _bound_names(node: ast.expr, kernel: KernelSource, module: PythonModule) -> set[str]:
    """Return the names in a loop's bound, or in the one value assigned to it; none if that is loaded."""
    values = [node]
    if isinstance(node, ast.Name):
        values = kernel.assigned.get(node.id, [node])
    if len(values) != 1 or any(module.tl(part, "load") for part in ast.walk(values[0])):
        return set()
    return names_in(values[0])


RULE = SourceRule("IRS108", "key-missing", __doc__, key_missing)
