"""Constexprs for which the kernel is compiled too often, or not at all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from irscope.facts.source.tokens import function_node
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic, SourceRule
from irscope.lint.source.evaluate import StaticValue
from irscope.lint.source.kernel_body import needs_constant
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import LaunchSite, PythonModule, PythonScope
from irscope.model import Argument

_MAX_SHOWN = 4


def constexpr_recompiled(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for constants that no config sets, had several values and need not be constants."""
    function = function_node(compiled.kernel.source.text)
    if function is None:
        return
    set_by_configs = {name for variant in compiled.variants for name, _ in variant.config.values}
    values: dict[str, dict[int, int]] = {}
    for variant in compiled.variants:
        for argument in variant.specialization:
            size = _size(argument)
            if size is not None and argument.name not in set_by_configs:
                counts = values.setdefault(argument.name, {})
                counts[size] = counts.get(size, 0) + 1
    lines = {
        argument.arg: argument.lineno for argument in ast.walk(function) if isinstance(argument, ast.arg)
    }
    for name, counts in values.items():
        # Without tl.constexpr, a parameter is a constant only if it is 1, None or not a number.
        if len(counts) < 2 or name not in lines or needs_constant(function, name):
            continue
        values_text = ", ".join(map(str, sorted(counts)[:_MAX_SHOWN]))
        message = (
            f"{name} of {compiled.kernel.name} is tl.constexpr and was compiled for {len(counts)} values on "
            f"{compiled.target} ({values_text}{', ...' if len(counts) > _MAX_SHOWN else ''}), in "
            f"{sum(counts.values()):,} compilations, although the kernel only computes with it"
        )
        fix = f"drop tl.constexpr; Triton still specializes {name} on being 1 or divisible by 16"
        yield compiled.diagnostic(
            CONSTEXPR_RECOMPILED, message, fix, compiled.kernel.source.line + lines[name] - 1
        )


def _size(argument: Argument) -> int | None:
    """Return the value of a constexpr int greater than 1, or None.

    A flag or 1 need not be a size or stride.
    """
    value = argument.value
    sized = argument.type == "constexpr" and isinstance(value, int) and not isinstance(value, bool)
    return value if sized and isinstance(value, int) and value > 1 else None


CONSTEXPR_RECOMPILED = CaptureRule(
    "IRS204",
    "constexpr-recompiled",
    """\
A tl.constexpr number that the kernel was compiled again for, value by value.

**What it does.** Reports a `tl.constexpr` number that no config sets, that had two or more values greater
than 1 in the capture, and that the kernel does not need as a constant (as in
[constexpr-size](#constexpr-size)). It also finds strides, and sizes that vary only within one serving
process.

**Why is this bad?** The kernel is compiled once per value.
""",
    constexpr_recompiled,
)


# Names of weights and of model sizes: these are the same in every call.
_WEIGHTS = re.compile(r"^[bw]\d?$|^w_|_w$|weight|bias|table|cache|embed|freq|_log$|cos|sin", re.IGNORECASE)
_MODEL_SIZES = re.compile(r"dim|head|hidden|expert|vocab|class|cache", re.IGNORECASE)
# Names of what differs between the calls of a model, though it is no first size.
_LENGTHS = re.compile(r"^t$|^seq|len$|length|token|^n_?ctx$", re.IGNORECASE)


def constexpr_size(module: PythonModule) -> Iterator[Diagnostic]:
    """Look for launches that pass a tensor's size to a constexpr parameter that need not be one."""
    reported: set[tuple[str, str]] = set()
    for launch in module.launches:
        for name, node in launch.arguments.items():
            parameter = launch.kernel.parameter(name)
            skipped = parameter is None or not parameter.constexpr or (launch.kernel.name, name) in reported
            if skipped or _MODEL_SIZES.search(name):
                continue
            origin = _origin(node, launch.scope, name) or _counter(node, launch)
            if origin and not needs_constant(launch.kernel.node, name):
                reported.add((launch.kernel.name, name))
                yield _diagnostic(module, launch, name, origin)


def _diagnostic(module: PythonModule, launch: LaunchSite, name: str, origin: str) -> Diagnostic:
    parameter = launch.kernel.parameter(name)
    used = any(isinstance(node, ast.Name) and node.id == name for node in launch.kernel.nodes)
    usage = "only computes with" if used else "never reads"
    message = (
        f"{name} of {launch.kernel.name} is tl.constexpr and gets {origin} at line {launch.call.lineno}: "
        f"each new value is a new compilation, although the kernel {usage} it"
    )
    fix = f"drop tl.constexpr; Triton still specializes {name} on being 1 or divisible by 16"
    node = parameter.node if parameter else launch.call
    return module.diagnostic(CONSTEXPR_SIZE, node, message, fix, launch.kernel)


def _counter(node: ast.expr, launch: LaunchSite) -> str:
    """Return the variable of a loop around a launch over a `range` if it is what is passed, else ""."""
    for loop in ast.walk(launch.scope.node):
        match loop:
            case ast.For(target=ast.Name(name), iter=ast.Call(func=ast.Name("range" | "count"))):
                if isinstance(node, ast.Name) and node.id == name and launch.call in ast.walk(loop):
                    return f"the counter {name} of a loop"
    return ""


def _origin(node: ast.expr, scope: PythonScope, name: str) -> str:
    """Return `node` as text if it is a tensor's number of elements or rows (batches), else ""."""
    node = scope.resolve(node)
    match node:
        case (
            ast.Call(ast.Attribute(ast.Name() as tensor, "numel" | "nelement"), [])
            | ast.Call(ast.Attribute(ast.Name() as tensor, "size"), [ast.Constant(0)])
            | ast.Subscript(ast.Attribute(ast.Name() as tensor, "shape"), ast.Constant(0))
            | ast.Subscript(ast.Call(ast.Attribute(ast.Name() as tensor, "size"), []), ast.Constant(0))
        ):
            return "" if _WEIGHTS.search(tensor.id) else ast.unparse(node)
        case ast.Subscript(ast.Attribute(ast.Name() as tensor, "shape"), ast.Constant(1)) | ast.Call(
            ast.Attribute(ast.Name() as tensor, "size"), [ast.Constant(1)]
        ):
            is_length = _LENGTHS.search(name) and not _WEIGHTS.search(tensor.id)
            return ast.unparse(node) if is_length else ""
    return ""


CONSTEXPR_SIZE = SourceRule(
    "IRS111",
    "constexpr-size",
    """\
A tensor's size that is declared tl.constexpr without need.

**What it does.** Reports a `tl.constexpr` parameter that a launch sets to a number of rows or elements
(`x.numel()`, `x.shape[0]`, `x.size(0)`; `x.shape[1]` for a length of sequences), or to the counter of a
loop, and that the kernel only uses for addresses, masks and values, or
not at all.

**Why is this bad?** Each new batch size or sequence length compiles the kernel again. Triton specializes a
run-time number too, but only on being 1 or divisible by 16.

**Example**

```python
def add(x_ptr, n: tl.constexpr, BLOCK: tl.constexpr): ...
```

**Use instead**

```python
def add(x_ptr, n, BLOCK: tl.constexpr): ...
```

**Limits.** Strides, and sizes that belong to a model (heads, hidden size, experts, weights), are left to
[constexpr-recompiled](#constexpr-recompiled), which knows whether they vary.
""",
    constexpr_size,
)


_Range = tuple[ast.Call, ast.expr, ast.expr]  # the call, its start and its end

BLOCK_NOT_POWER_OF_TWO_FIX = "use a power of two (triton.next_power_of_2), and mask the elements past the end"


def block_not_power_of_two(module: PythonModule) -> Iterator[Diagnostic]:
    """Check lengths of `tl.arange` as written, as set by configs and as passed at launches."""
    for kernel in module.kernels.values():
        ranges = list(_ranges(kernel, module))
        for node, start, end in ranges:
            length = _length(start, end, {}, module)
            if _is_invalid(length):
                message = f"tl.arange has length {length}, which is not a power of two"
                yield module.diagnostic(
                    BLOCK_NOT_POWER_OF_TWO, node, message, BLOCK_NOT_POWER_OF_TWO_FIX, kernel
                )
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
        yield module.diagnostic(BLOCK_NOT_POWER_OF_TWO, node, message, BLOCK_NOT_POWER_OF_TWO_FIX, kernel)


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
            yield module.diagnostic(
                BLOCK_NOT_POWER_OF_TWO, arguments[name], message, BLOCK_NOT_POWER_OF_TWO_FIX, kernel
            )


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


BLOCK_NOT_POWER_OF_TWO = SourceRule(
    "IRS109",
    "block-not-power-of-two",
    """\
A tl.arange whose length is not a power of two.

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
""",
    block_not_power_of_two,
)
