"""Autotuned kernels that change their input: each measurement begins with the last result."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.accesses import (
    ACCUMULATING_ATOMICS,
    PointerAccess,
    overwrites,
    pointer_accesses,
    unrestored,
)
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import PythonModule

_OVERWRITING = ("store", "atomic_xchg", "atomic_cas", "atomic_and")


def reset_to_zero_missing(module: PythonModule) -> Iterator[Diagnostic]:
    """Look for accumulations into parameters that the autotuner leaves as they are."""
    for kernel in module.kernels.values():
        unrestored_names = unrestored(kernel, module)
        accesses = pointer_accesses(kernel, module) if unrestored_names else ()
        reported: set[str] = set()
        for access in _atomics(accesses):
            if unrestored_names and access.parameter in unrestored_names and access.parameter not in reported:
                reported.add(access.parameter)
                what = f"tl.{access.operation} accumulates into"
                yield _diagnostic(module, kernel, access.call, access.parameter, what, "reset_to_zero")
        for overwrite in overwrites(kernel, accesses, module):
            name = overwrite.store.parameter
            if (
                unrestored_names
                and overwrite.accumulates
                and name in unrestored_names
                and name not in reported
            ):
                reported.add(name)
                what = f"the store adds to what line {overwrite.load.call.lineno} loaded from"
                yield _diagnostic(module, kernel, overwrite.store.call, name, what, "restore_value")


def _atomics(accesses: Sequence[PointerAccess]) -> Iterator[PointerAccess]:
    """Yield the accumulating atomics into arguments to which the same program does not also store."""
    for access in accesses:
        if access.operation in ACCUMULATING_ATOMICS and not any(
            store.operation in _OVERWRITING
            and store.parameter == access.parameter
            and not store.excludes(access)
            for store in accesses
        ):
            yield access


def _diagnostic(
    module: PythonModule, kernel: KernelSource, node: ast.AST, name: str, what: str, option: str
) -> Diagnostic:
    message = (
        f"{what} {name} of {kernel.name}, which is autotuned without restoring it: tuning runs every config "
        f"many times on the same {name}, so its result is wrong"
    )
    alternative = "; restore_value if it need not start at zero" if option == "reset_to_zero" else ""
    return module.diagnostic(
        RESET_TO_ZERO_MISSING,
        node,
        message,
        f'add {option}=["{name}"] to @triton.autotune{alternative}',
        kernel,
    )


RESET_TO_ZERO_MISSING = SourceRule(
    "IRS113",
    "reset-to-zero-missing",
    """\
A tuned kernel that adds to an argument that the autotuner does not reset.

**What it does.** Reports a parameter of a kernel under `@triton.autotune` that the kernel accumulates into,
by `tl.atomic_add` or by loading, adding and storing at the same address, if neither `reset_to_zero` nor
`restore_value` names it.

**Why is this bad?** The first launch runs every config many times on the same arguments, so the argument has
the sum of all these runs. Later launches are right, which makes the error hard to find.

**Example**

```python
@triton.autotune(CONFIGS, key=["M", "N"])
@triton.jit
def grad(x_ptr, dw_ptr, M, N, BLOCK: tl.constexpr):
    ...
    tl.atomic_add(dw_ptr + cols, dw, mask=cols < N)
```

**Use instead**

```python
@triton.autotune(CONFIGS, key=["M", "N"], reset_to_zero=["dw_ptr"])
```

**Limits.** Atomics that give the same result however often they run, such as `tl.atomic_max`, are not
reported, nor are kernels that also store to the argument, and autotuners with a single config or with a hook.
""",
    reset_to_zero_missing,
)


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
                yield module.diagnostic(RESTORE_VALUE_MISSING, write.store.call, message, fix, kernel)


RESTORE_VALUE_MISSING = SourceRule(
    "IRS114",
    "restore-value-missing",
    """\
A tuned kernel that overwrites its input, which the autotuner does not restore.

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
""",
    restore_value_missing,
)
