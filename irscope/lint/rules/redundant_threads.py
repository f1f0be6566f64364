"""A config with more threads than its block has elements.

**What it does.** Reports configs of `@triton.autotune`, and launches with `num_warps`, in which the
kernel's largest tensor has fewer elements than a program has threads (32 per warp; 64 on AMD's CDNA GPUs).

**Why is this bad?** The other threads load the same elements, and occupy registers and issue slots that
another program could use.

**Example**

```python
triton.Config({"BLOCK": 64}, num_warps=8)  # 256 threads for 64 elements
```

**Use instead**

```python
triton.Config({"BLOCK": 64}, num_warps=2)
```

**Limits.** Only kernels whose block sizes the text determines, and that call no other kernel.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.evaluate import ConfigValue, StaticValue
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.offsets import most_elements
from irscope.lint.source.python_module import PythonModule
from irscope.model.text import pluralize

_WARP = 32
FIX = "use fewer warps or a larger block"


def redundant_threads(module: PythonModule) -> Iterator[Diagnostic]:
    """Compare the threads of configs and launches with the elements of the largest tensor."""
    for kernel in module.kernels.values():
        if kernel.autotune is not None and kernel.autotune.configs:
            yield from _check_configs(kernel, kernel.autotune.configs, module)
    for launch in module.launches:
        kernel = launch.kernel
        passed = {name: module.value(node, launch.scope) for name, node in launch.arguments.items()}
        values = {name: value for name, value in passed.items() if isinstance(value, int)}
        if kernel.autotune is None and "num_warps" in values:
            elements = most_elements(kernel, module, values)
            if elements is not None and _redundant(values["num_warps"], elements):
                message = f"this launch of {kernel.name} has {_compared(values['num_warps'], elements)}"
                yield module.diagnostic(RULE, launch.arguments["num_warps"], message, FIX, kernel)


def _check_configs(
    kernel: KernelSource, configs: tuple[ConfigValue, ...], module: PythonModule
) -> Iterator[Diagnostic]:
    """Yield one diagnostic per expression: a comprehension makes many configs."""
    defaults = {p.name: module.value(p.default, module.scope) for p in kernel.parameters if p.default}
    by_expression: dict[ast.expr, list[tuple[int, int]]] = {}
    for config in configs:
        warps = config.options.get("num_warps")
        # A launch may pass what has a default, unless the config sets it.
        values: Mapping[str, StaticValue] = {
            k: v for k, v in (config.kwargs or {}).items() if k not in defaults
        }
        elements = most_elements(kernel, module, values) if isinstance(warps, int) else None
        if isinstance(warps, int) and elements is not None and _redundant(warps, elements) and config.node:
            by_expression.setdefault(config.node, []).append((warps, elements))
    for node, bad in by_expression.items():
        warps, elements = max(bad, key=lambda one: one[0] * _WARP / max(1, one[1]))
        count = (
            f"{len(bad)} configs of {kernel.name} have more threads than elements: one"
            if len(bad) > 1
            else (f"this config of {kernel.name}")
        )
        yield module.diagnostic(RULE, node, f"{count} has {_compared(warps, elements)}", FIX, kernel)


def _redundant(warps: int, elements: int) -> bool:
    """Return True if fewer warps suffice; a program has at least one."""
    return warps > 1 and elements < warps * _WARP


def _compared(warps: int, elements: int) -> str:
    return (
        f"num_warps={warps}, {warps * _WARP} threads, for tensors of at most "
        f"{pluralize(elements, 'element')}: threads repeat the same work"
    )


RULE = SourceRule("IRS118", "redundant-threads", __doc__, redundant_threads)
