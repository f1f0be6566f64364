"""A tuned kernel that overwrites its input, which the autotuner does not restore.

**What it does.** Reports a parameter of a kernel under `@triton.autotune` that the kernel loads and then
overwrites at the same address with a value computed from it, if `restore_value` does not name it.

**Why is this bad?** The first launch runs every config many times on the same arguments, and each run reads
what the run before it wrote. Later launches are right.

**Example**

```python
@triton.autotune(CONFIGS, key=["n"])
@triton.jit
def scale(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(x_ptr + at, x * 2, mask=at < n)
```

**Use instead**

```python
@triton.autotune(CONFIGS, key=["n"], restore_value=["x_ptr"])
```

**Limits.** Values that a second run leaves as they are (a copy, a clamp, a selection by a mask) are not
reported, nor are autotuners with a single config or with a hook.
"""

from __future__ import annotations

from collections.abc import Iterator

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.accesses import overwrites, pointer_accesses, unrestored
from irscope.lint.source.python_module import PythonModule


def restore_value_missing(module: PythonModule) -> Iterator[Diagnostic]:
    """Look for stores in place to parameters that the autotuner leaves as they are."""
    for kernel in module.kernels.values():
        unrestored_names = unrestored(kernel, module)
        in_place = (
            list(overwrites(kernel, pointer_accesses(kernel, module), module)) if unrestored_names else []
        )
        sums = {write.store.parameter for write in in_place if write.accumulates}
        reported: set[str] = set()
        for write in in_place:
            name = write.store.parameter
            if unrestored_names and name in unrestored_names - sums - reported:
                reported.add(name)
                message = (
                    f"{kernel.name} overwrites {name}, which it loaded at line {write.load.call.lineno}, and "
                    f"is autotuned without restoring it: each run reads what the run before it wrote"
                )
                fix = f'add restore_value=["{name}"] to @triton.autotune'
                yield module.diagnostic(RULE, write.store.call, message, fix, kernel)


RULE = SourceRule("IRS114", "restore-value-missing", __doc__, restore_value_missing)
