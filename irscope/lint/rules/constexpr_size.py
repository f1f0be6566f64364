"""A tensor's size that is declared tl.constexpr without need.

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
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.kernel_body import needs_constant
from irscope.lint.source.python_module import LaunchSite, PythonModule, PythonScope

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
    return module.diagnostic(RULE, node, message, fix, launch.kernel)


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


RULE = SourceRule("IRS111", "constexpr-size", __doc__, constexpr_size)
