"""A load, an addition and a store to an address that several programs share.

**What it does.** Reports stores that add to what the same program loaded from the same address, if the
address does not depend on an axis of the grid, or is looked up in a tensor of indices.

**Why is this bad?** Two programs load the same number, and the store of one is lost. Within a program, all
but one of the elements with equal indices are lost.

**Example**

```python
total = tl.load(sum_ptr)
tl.store(sum_ptr, total + tl.sum(x))  # by each program
```

**Use instead**

```python
tl.atomic_add(sum_ptr, tl.sum(x))
```

**Limits.** Kernels with a lock (`tl.atomic_cas`, `tl.atomic_xchg`), and stores under a condition on the
program's index, are skipped.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.accesses import Overwrite, overwrites, pointer_accesses
from irscope.lint.source.grids import dimensions
from irscope.lint.source.kernel_body import axes_of, program_axes, resolve_local
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import PythonModule

_LOCKS = ("atomic_cas", "atomic_xchg")


def accumulation_not_atomic(module: PythonModule) -> Iterator[Diagnostic]:
    """Compare the address of each accumulation with the axes of the grid."""
    for kernel in module.kernels.values():
        accesses = pointer_accesses(kernel, module)
        if any(access.operation in _LOCKS for access in accesses) or _has_other_index(kernel, module):
            continue
        for overwrite in overwrites(kernel, accesses, module):
            reason = _shared(kernel, overwrite, module) if overwrite.accumulates else ""
            if reason:
                store, line = overwrite.store, overwrite.load.call.lineno
                name = store.parameter
                message = f"the store adds to what line {line} loaded from {name} of {kernel.name}, {reason}"
                yield module.diagnostic(RULE, store.call, message, "use tl.atomic_add", kernel)


def _has_other_index(kernel: KernelSource, module: PythonModule) -> bool:
    """Return True if a kernel gets its index from a function of its own package."""
    calls = [module.dotted(node.func) for node in kernel.nodes if isinstance(node, ast.Call)]
    return any(name.endswith("program_id") and not name.startswith("triton.") for name in calls)


def _shared(kernel: KernelSource, overwrite: Overwrite, module: PythonModule) -> str:
    """Say which programs or elements share the address of an accumulation, or return ""."""
    pointer, by_name = overwrite.store.pointer, program_axes(kernel, module)
    if any(axes_of(branch.test, by_name, module) for branch, _ in overwrite.store.branches):
        return ""
    loads = _loads(kernel, pointer, module)
    if loads:
        gathers = [load for load in loads if _is_block(kernel, load.args[0], module)]
        if gathers and len(gathers) == len(loads) and not _has_rows(kernel, pointer):
            return f"at indices from line {gathers[0].lineno}: additions to equal indices are lost"
        return ""
    used = axes_of(pointer, by_name, module)
    if -1 in used:
        return ""
    missing = sorted(_grid_axes(kernel, module) - used)
    if not missing:
        return ""
    axes = " and ".join(map(str, missing))
    return f"and all programs along axis {axes} of the grid use the same address: additions are lost"


def _grid_axes(kernel: KernelSource, module: PythonModule) -> set[int]:
    """Return the axes along which a kernel has several programs.

    These are the axes of its launches in this file, or those that it asks for.
    """
    launches = [launch for launch in module.launches if launch.kernel is kernel]
    if not launches:
        axes = {axis for node in kernel.nodes if (axis := module.program_axis(node)) is not None}
        return set() if -1 in axes else axes
    sets = []
    for launch in launches:
        sizes = [module.value(size, launch.scope) for size in dimensions(launch)]
        sets.append({axis for axis, size in enumerate(sizes) if size != 1})
    return set.intersection(*sets)


def _loads(kernel: KernelSource, pointer: ast.expr, module: PythonModule) -> list[ast.Call]:
    """Return the loads that an address is computed from."""
    pending: list[ast.AST] = [pointer]
    visited: set[str] = set()
    loads = []
    while pending:
        for part in ast.walk(pending.pop()):
            if call := module.tl(part, "load"):
                loads.append(call)
            elif isinstance(part, ast.Name) and part.id not in visited and not kernel.parameter(part.id):
                visited.add(part.id)
                pending += kernel.assigned.get(part.id, [])
    return loads


def _has_rows(kernel: KernelSource, pointer: ast.expr) -> bool:
    """Return True if an address has more than one axis: indices of whole rows are often different."""
    names = [part for part in ast.walk(pointer) if isinstance(part, ast.Name)]
    expressions = [pointer, *(resolve_local(kernel, name) for name in names)]
    return any(isinstance(part, ast.Subscript) for expression in expressions for part in ast.walk(expression))


def _is_block(kernel: KernelSource, pointer: ast.expr, module: PythonModule) -> bool:
    """Return True if a pointer of a load certainly has a `tl.arange` in it."""
    for part in ast.walk(pointer):
        resolved = resolve_local(kernel, part) if isinstance(part, ast.Name) else part
        if any(module.tl(node, "arange") for node in ast.walk(resolved)):
            return True
    return False


RULE = SourceRule("IRS121", "accumulation-not-atomic", __doc__, accumulation_not_atomic)
