"""A tl.arange whose length is not a power of two.

**What it does.** Reports lengths of `tl.arange` that are not powers of two, whether written in the kernel,
set by a config or passed at a launch.

**Why is this bad?** The kernel does not compile.

**Example**

```python
triton.Config({"BLOCK": 96})
```

**Use instead**

```python
kernel[grid](x, n, BLOCK=triton.next_power_of_2(n))  # and a mask in the kernel
```
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.evaluate import StaticValue
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import PythonModule

_Range = tuple[ast.Call, ast.expr, ast.expr]  # the call, its start and its end

FIX = "use a power of two (triton.next_power_of_2), and mask the elements past the end"


def block_not_power_of_two(module: PythonModule) -> Iterator[Diagnostic]:
    """Check lengths of `tl.arange` as written, as set by configs and as passed at launches."""
    for kernel in module.kernels.values():
        ranges = list(_ranges(kernel, module))
        for node, start, end in ranges:
            length = _length(start, end, {}, module)
            if _is_invalid(length):
                message = f"tl.arange has length {length}, which is not a power of two"
                yield module.diagnostic(RULE, node, message, FIX, kernel)
        yield from _check_configs(kernel, ranges, module)
    yield from _check_launches(module)


def _check_configs(kernel: KernelSource, ranges: list[_Range], module: PythonModule) -> Iterator[Diagnostic]:
    """Yield one diagnostic per expression: a comprehension makes many configs."""
    lengths: dict[tuple[ast.expr, str], list[int]] = {}
    for config in kernel.autotune.configs or () if kernel.autotune else ():
        values = {name: value for name, value in (config.kwargs or {}).items() if _is_int(value)}
        for name in _invalid_names(kernel, ranges, values, module):
            if config.node is not None:
                lengths.setdefault((config.node, name), []).append(values[name])
    for (node, name), invalid in lengths.items():
        message = _message(name, list(dict.fromkeys(invalid)), kernel)
        yield module.diagnostic(RULE, node, message, FIX, kernel)


def _message(name: str, values: list[int], kernel: KernelSource) -> str:
    return (
        f"{name} = {', '.join(map(str, values))} is the length of a tl.arange in {kernel.name} and must be a "
        "power of two: the kernel does not compile"
    )


def _check_launches(module: PythonModule) -> Iterator[Diagnostic]:
    for launch in module.called_launches:
        kernel = launch.kernel
        arguments = {name: node for name, node in launch.arguments.items() if name in kernel.constexprs}
        passed = {name: module.value(node, launch.scope) for name, node in arguments.items()}
        values = {name: value for name, value in passed.items() if _is_int(value)}
        for name in _invalid_names(kernel, list(_ranges(kernel, module)), values, module):
            message = _message(name, [values[name]], kernel)
            yield module.diagnostic(RULE, arguments[name], message, FIX, kernel)


def _invalid_names(
    kernel: KernelSource,
    ranges: list[_Range],
    values: dict[str, int],
    module: PythonModule,
) -> list[str]:
    """Return the constants among `values` that make the length of a range invalid."""
    invalid = []
    for _, start, end in ranges:
        is_set = isinstance(end, ast.Name) and end.id in values and end.id not in kernel.assigned
        if is_set and _is_invalid(_length(start, end, values, module)):
            invalid.append(ast.unparse(end))
    return list(dict.fromkeys(invalid))


def _ranges(kernel: KernelSource, module: PythonModule) -> Iterator[_Range]:
    for node in kernel.nodes:
        call = module.tl(node, "arange")
        if call and len(call.args) == 2:
            yield call, call.args[0], call.args[1]


def _length(start: ast.expr, end: ast.expr, values: dict[str, int], module: PythonModule) -> StaticValue:
    difference = ast.BinOp(end, ast.Sub(), start)
    return module.evaluate(difference, values)


def _is_int(value: StaticValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_invalid(length: StaticValue) -> bool:
    return _is_int(length) and (length <= 0 or length & (length - 1) != 0)


RULE = SourceRule("IRS109", "block-not-power-of-two", __doc__, block_not_power_of_two)
