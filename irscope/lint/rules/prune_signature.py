"""An early_config_prune function that does not accept (configs, named_args, **kwargs).

**What it does.** Reports an `early_config_prune` function of the file whose parameters do not match how
Triton calls it, `f(configs, named_args, **kwargs)`.

**Why is this bad?** Triton always passes the grid in `kwargs`, so the first launch fails with a TypeError.

**Example**

```python
def prune(configs, named_args): ...
```

**Use instead**

```python
def prune(configs, named_args, **kwargs): ...
```
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import PythonModule

# Triton calls f(configs, named_args, **kwargs), and `kwargs` always has grid and warmup
# (Autotuner.prune_configs and KernelInterface.__getitem__ of 3.6 to 3.9).
_POSITIONAL = 2

FIX = "declare it as (configs, named_args, **kwargs)"


def prune_signature(module: PythonModule) -> Iterator[Diagnostic]:
    """Check the parameters of each kernel's prune function."""
    for kernel in module.kernels.values():
        function = _prune_function(kernel, module)
        if function is None:
            continue
        if wrong := _mismatch(function.args):
            name = function.name if isinstance(function, ast.FunctionDef) else "the lambda"
            message = (
                f"{name} prunes the configs of {kernel.name} but {wrong}: Triton calls it as "
                "f(configs, named_args, **kwargs), so the launch fails with a TypeError"
            )
            yield module.diagnostic(RULE, function, message, FIX, kernel)


def _prune_function(kernel: KernelSource, module: PythonModule) -> ast.FunctionDef | ast.Lambda | None:
    by = kernel.autotune.arguments.get("prune_configs_by") if kernel.autotune else None
    if isinstance(by, ast.Name):
        by = module.scope.expression(by.id)
    if not isinstance(by, ast.Dict):
        return None
    for key, value in zip(by.keys, by.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == "early_config_prune":
            return _function(value, module)
    return None


def _function(node: ast.expr, module: PythonModule) -> ast.FunctionDef | ast.Lambda | None:
    """Return the function that an expression names, if it is an undecorated function of the file."""
    if isinstance(node, ast.Lambda):
        return node
    if not isinstance(node, ast.Name):
        return None
    functions = [
        statement
        for statement in module.tree.body
        if isinstance(statement, ast.FunctionDef)
        and statement.name == node.id
        and not statement.decorator_list
    ]
    return functions[0] if len(functions) == 1 and module.scope.bound[node.id] == 1 else None


def _mismatch(own: ast.arguments) -> str:
    """Return the problem with the parameters, or ""."""
    positional = [*own.posonlyargs, *own.args]
    if len(positional) < _POSITIONAL and own.vararg is None:
        return f"takes {len(positional)} positional argument{'s' if len(positional) != 1 else ''}"
    names = {
        parameter.arg for parameter in [*own.args[_POSITIONAL - len(own.posonlyargs) :], *own.kwonlyargs]
    }
    if own.kwarg is None and not {"grid", "warmup"} <= names:
        return "takes no **kwargs"
    return ""


RULE = SourceRule("IRS104", "prune-signature", __doc__, prune_signature)
