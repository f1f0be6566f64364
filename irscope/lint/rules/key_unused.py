"""A meta-parameter in the tuning key.

**What it does.** Reports names in `key` that every config sets.

**Why is this bad?** The key is computed before a config is chosen, so the name changes nothing.

**Example**

```python
@triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 128)], key=["n", "BLOCK"])
```

**Use instead**

```python
@triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 128)], key=["n"])
```
"""

from __future__ import annotations

from collections.abc import Iterator

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.python_module import PythonModule, place_of, tuning_keys


def key_unused(module: PythonModule) -> Iterator[Diagnostic]:
    """Look for names in the key that every config sets."""
    for key in tuning_keys(module):
        for name in key.names:
            if name in key.autotune.names():
                message = (
                    f"the key of {key.kernel.name} has {name}, which every config sets: it has no value yet "
                    "when the key is computed, so it changes nothing"
                )
                fix = f"drop {name} from the key"
                yield module.diagnostic(RULE, place_of(name, key.node), message, fix, key.kernel)


RULE = SourceRule("IRS106", "key-unused", __doc__, key_unused)
