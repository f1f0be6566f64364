"""A tensor in the tuning key.

**What it does.** Reports names in `key` that the kernel uses as pointers.

**Why is this bad?** Tensors in the key are compared by identity: the kernel is tuned again for every new
tensor, and the key keeps each tensor alive.

**Example**

```python
@triton.autotune(CONFIGS, key=["x_ptr"])
```

**Use instead**

```python
@triton.autotune(CONFIGS, key=["n"])  # the key includes the dtypes of all arguments anyway
```
"""

from __future__ import annotations

from collections.abc import Iterator

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.accesses import pointer_parameters
from irscope.lint.source.python_module import PythonModule, place_of, tuning_keys


def key_pointer(module: PythonModule) -> Iterator[Diagnostic]:
    """Look for pointers in the key."""
    for key in tuning_keys(module):
        pointers = pointer_parameters(key.kernel, module)
        for name in key.names:
            if name in pointers:
                message = (
                    f"the key of {key.kernel.name} has the tensor {name}: tensors are compared by identity, "
                    "so the kernel is tuned again for every new one, and none is ever freed"
                )
                fix = f"drop {name}, and name its sizes; the key includes the dtypes of all arguments anyway"
                yield module.diagnostic(RULE, place_of(name, key.node), message, fix, key.kernel)


RULE = SourceRule("IRS107", "key-pointer", __doc__, key_pointer)
