"""A config that equals another config of the same list.

**What it does.** Reports configs with the same meta-parameters and options, including Triton's defaults.

**Why is this bad?** The autotuner benchmarks the config twice.

**Example**

```python
configs = [triton.Config({"BLOCK": 64}, num_stages=3), triton.Config({"BLOCK": 64})]  # the default is 3
```

**Use instead**

```python
configs = [triton.Config({"BLOCK": 64}, num_stages=3), triton.Config({"BLOCK": 64}, num_stages=2)]
```
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.python_module import PythonModule


def duplicate_config(module: PythonModule) -> Iterator[Diagnostic]:
    """Compare the configs of each `@triton.autotune`."""
    for kernel in module.kernels.values():
        first_numbers: dict[Hashable, int] = {}
        for number, config in enumerate(kernel.autotune.configs or () if kernel.autotune else (), 1):
            identity = config.identity
            if identity is None or config.node is None:
                continue
            first = first_numbers.setdefault(identity, number)
            if first != number:
                message = f"config {number} of {kernel.name} equals config {first}: it is benchmarked twice"
                yield module.diagnostic(RULE, config.node, message, "drop it", kernel)


RULE = SourceRule("IRS103", "duplicate-config", __doc__, duplicate_config)
