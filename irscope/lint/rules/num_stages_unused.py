"""A num_stages for a kernel that has no loop.

**What it does.** Reports configs that differ in `num_stages`, and launches that set it to more than 1, if the
kernel has no loop and calls no function that may have one.

**Why is this bad?** `num_stages` is how many iterations of a loop the compiler overlaps. Without a loop, the
machine code is the same: tuning measures the same kernel again.

**Example**

```python
@triton.autotune([triton.Config({"BLOCK": 1024}, num_stages=s) for s in (2, 3, 4)], key=["n"])
@triton.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)
```

**Use instead**

```python
@triton.autotune([triton.Config({"BLOCK": b}) for b in (512, 1024, 2048)], key=["n"])
```
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.evaluate import UNKNOWN
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import PythonModule


def num_stages_unused(module: PythonModule) -> Iterator[Diagnostic]:
    """Look for numbers of stages of kernels without a loop."""
    for kernel in module.kernels.values():
        if kernel.decorators_known and not _may_loop(kernel, module):
            yield from _check_configs(kernel, module)
            yield from _check_launches(kernel, module)


def _may_loop(kernel: KernelSource, module: PythonModule) -> bool:
    for node in (part for statement in kernel.node.body for part in ast.walk(statement)):
        match node:
            case ast.While() | ast.Try() | ast.With():
                return True
            case ast.For():
                if not (isinstance(node.iter, ast.Call) and module.tl(node.iter, "static_range")):
                    return True
            case ast.Call(func=function):
                name = module.dotted(function)
                package, _, short = name.rpartition(".")
                is_method = isinstance(function, ast.Attribute) and not name
                is_value = package.partition(".")[0] in {*kernel.assigned, *kernel.runtime_parameters}
                if not (is_method or is_value or package.startswith("triton") or hasattr(builtins, short)):
                    return True
    return False


def _check_configs(kernel: KernelSource, module: PythonModule) -> Iterator[Diagnostic]:
    """Report the first config that only repeats another one with other stages."""
    by_rest: dict[str, int] = {}
    for config in kernel.autotune.configs or () if kernel.autotune else ():
        stages = config.options.get("num_stages", UNKNOWN)
        rest = {name: value for name, value in config.options.items() if name != "num_stages"}
        if config.kwargs is None or not isinstance(stages, int):
            return
        key = repr((sorted(config.kwargs.items()), sorted(rest.items(), key=str)))
        first = by_rest.setdefault(key, stages)
        if first != stages and "num_stages" not in config.kwargs and UNKNOWN not in rest.values():
            message = (
                f"{kernel.name} has no loop, so num_stages = {first} and {stages} make the same code: "
                "tuning measures it again"
            )
            yield module.diagnostic(RULE, config.node or kernel.jit, message, "tune something else", kernel)
            return


def _check_launches(kernel: KernelSource, module: PythonModule) -> Iterator[Diagnostic]:
    for launch in module.launches:
        for keyword in launch.call.keywords if launch.kernel is kernel else ():
            if keyword.arg == "num_stages" and not kernel.parameter("num_stages"):
                stages = module.value(keyword.value, launch.scope)
                if isinstance(stages, int) and stages > 1:
                    message = f"num_stages={stages} changes nothing: {kernel.name} has no loop to pipeline"
                    yield module.diagnostic(RULE, launch.call, message, "drop num_stages", kernel)


RULE = SourceRule("IRS122", "num-stages-unused", __doc__, num_stages_unused)
