"""A name in key, reset_to_zero, restore_value or do_not_specialize that is not a parameter of the kernel.

**What it does.** Reports names in `key`, `reset_to_zero`, `restore_value`, `do_not_specialize` and
`do_not_specialize_on_alignment` that the kernel does not have.

**Why is this bad?** The name has no effect: a kernel whose key is misspelled is tuned once, for the first
sizes it gets. Triton 3.9 raises a ValueError for the first three lists.

**Example**

```python
@triton.autotune(CONFIGS, key=["m", "n"])
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N): ...
```

**Use instead**

```python
@triton.autotune(CONFIGS, key=["M", "N"])
```
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.kernel_source import SPECIALIZATION_LISTS, strings
from irscope.lint.source.python_module import PythonModule, place_of

_AUTOTUNE_LISTS = ("key", "reset_to_zero", "restore_value")
_EFFECTS = dict.fromkeys(_AUTOTUNE_LISTS, "Triton 3.9 raises a ValueError, older versions ignore it")
_EFFECTS |= dict.fromkeys(SPECIALIZATION_LISTS, "Triton ignores it")


def unknown_parameter(module: PythonModule) -> Iterator[Diagnostic]:
    """Compare the names in each list with the kernel's parameters."""
    for kernel in module.kernels.values():
        # A kernel without parameters is a placeholder.
        if not kernel.decorators_known or not kernel.parameters:
            continue
        parameter_names = [parameter.name for parameter in kernel.parameters]
        lists = dict(kernel.autotune.arguments) if kernel.autotune else {}
        if isinstance(kernel.jit, ast.Call):
            lists |= {k.arg: k.value for k in kernel.jit.keywords if k.arg in SPECIALIZATION_LISTS}
        for argument, effect in _EFFECTS.items():
            node = lists.get(argument)
            names = strings(module.value(node, module.scope)) if node is not None else None
            for name in names or ():
                if node is not None and name not in parameter_names:
                    message = (
                        f"{argument} of {kernel.name} names '{name}', not one of its parameters: {effect}"
                    )
                    fix = f"the parameters are {', '.join(parameter_names)}"
                    yield module.diagnostic(RULE, place_of(name, node), message, fix, kernel)


RULE = SourceRule("IRS105", "unknown-parameter", __doc__, unknown_parameter)
