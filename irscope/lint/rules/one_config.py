"""An autotuned kernel with a single config.

**What it does.** Reports `@triton.autotune` with one config or none.

**Why is this bad?** A single config is taken without being measured, and the decorator costs a lookup per
launch.

**Example**

```python
@triton.autotune([triton.Config({"BLOCK": 1024})], key=["n"])
```

**Use instead**

```python
@triton.autotune([triton.Config({"BLOCK": b}) for b in (256, 1024)], key=["n"])
```
"""

from __future__ import annotations

from collections.abc import Iterator

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.python_module import PythonModule

FIX = "add configs, or drop @triton.autotune and pass these values at the launch"


def one_config(module: PythonModule) -> Iterator[Diagnostic]:
    """Check how many configs each `@triton.autotune` has."""
    for kernel in module.kernels.values():
        autotune = kernel.autotune
        if autotune is None or autotune.configs is None or len(autotune.configs) > 1:
            continue
        number = "a single config" if autotune.configs else "no configs, so Triton adds a default one"
        message = f"{kernel.name} is autotuned over {number}: nothing is tuned"
        yield module.diagnostic(RULE, autotune.node, message, FIX, kernel)


RULE = SourceRule("IRS102", "one-config", __doc__, one_config)
