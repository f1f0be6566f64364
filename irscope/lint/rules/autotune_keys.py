"""Arguments of an autotuner: values that choose a config, and buffers that are reset or restored."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from irscope.facts.duplicates import are_duplicates
from irscope.facts.source.tokens import names_in
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic, SourceRule
from irscope.lint.source.accesses import (
    ACCUMULATING_ATOMICS,
    PointerAccess,
    overwrites,
    pointer_accesses,
    pointer_parameters,
    unrestored,
)
from irscope.lint.source.kernel_body import axes_of, program_axes
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import LaunchSite, PythonModule, TuningKey, place_of, tuning_keys
from irscope.model import Variant

# Constants that differ between the calls of a model: those of its layers, not flags.
_SIZES = re.compile(r"^[MNKD]$|hidden|seq_?len|n_?cols|n_?rows", re.IGNORECASE)


def key_missing(module: PythonModule) -> Iterator[Diagnostic]:
    """Compare the bounds of each kernel's loops with its key."""
    for key in tuning_keys(module):
        kernel = key.kernel
        tuned = {name for config in key.autotune.configs or () for name in config.kwargs or ()}
        sizes = {name for name in kernel.constexprs - tuned if _SIZES.search(name)}
        if key.autotune.configs is None or len(key.autotune.configs) < 2:
            sizes = set()
        runtime = kernel.runtime_parameters - pointer_parameters(kernel, module)
        if key.names and not runtime & set(key.names):
            continue
        for name, loop in _loop_bounds(kernel, module).items():
            if name in runtime | sizes and not _has_size(key, name, module):
                message = (
                    f"{name} bounds the loop at line {loop.lineno} of {kernel.name} and is not in the key: "
                    f"the config that was best for the first {name} is used for all"
                )
                yield module.diagnostic(KEY_MISSING, key.node, message, f'add "{name}" to the key', kernel)


def _has_size(key: TuningKey, name: str, module: PythonModule) -> bool:
    """Return True if a key has a size, or in each launch what it is computed from, or a bucket of it."""
    if any(name.lower() in key_name.lower() for key_name in key.names):
        return True
    launches = [site for site in module.launches if site.kernel is key.kernel and name in site.arguments]
    return bool(launches) and all(_follows(key.names, name, launch) for launch in launches)


def _follows(key_names: Sequence[str], name: str, launch: LaunchSite) -> bool:
    """Return True if a launch computes an argument from those in the key, or one of those from it."""
    size, scope = launch.arguments[name], launch.scope
    passed = [launch.arguments[key_name] for key_name in key_names if key_name in launch.arguments]
    variables = {value.id for value in passed if isinstance(value, ast.Name)}
    bucketed = isinstance(size, ast.Name) and any(
        size.id in names_in(scope.resolve(value)) for value in passed
    )
    return bucketed or names_in(scope.resolve(size)) <= variables


def _loop_bounds(kernel: KernelSource, module: PythonModule) -> dict[str, ast.For | ast.While]:
    """Map each parameter that bounds a loop to the first such loop.

    Leaves out loops over a program's own share of the grid.
    """
    axes_by_name = program_axes(kernel, module)
    names = {parameter.name for parameter in kernel.parameters}
    loops: dict[str, ast.For | ast.While] = {}
    for node in kernel.nodes:
        bounds = _bounds(node, module)
        if not bounds or any(axes_of(bound, axes_by_name, module) for bound in bounds):
            continue
        for name in _bound_names(bounds[-1], kernel, module) & names:
            if isinstance(node, ast.For | ast.While):
                loops.setdefault(name, node)
    return loops


def _bounds(node: ast.AST, module: PythonModule) -> list[ast.expr]:
    """Return the bounds of a loop over a range, or of one that counts up to a number."""
    match node:
        case ast.For(iter=ast.Call() as call):
            is_range = module.tl(call, "range") or module.dotted(call.func) == "range"
            return call.args[:2] if is_range else []
        case ast.While(test=ast.Compare(ast.Name(), [ast.Lt() | ast.LtE()], [bound])):
            return [bound]
    return []


def _bound_names(node: ast.expr, kernel: KernelSource, module: PythonModule) -> set[str]:
    """Return the names in a loop's bound, or in the one value assigned to it; none if that is loaded."""
    values = [node]
    if isinstance(node, ast.Name):
        values = kernel.assigned.get(node.id, [node])
    if len(values) != 1 or any(module.tl(part, "load") for part in ast.walk(values[0])):
        return set()
    return names_in(values[0])


KEY_MISSING = SourceRule(
    "IRS108",
    "key-missing",
    """\
A size that bounds a loop and is missing from the tuning key.

**What it does.** Reports a run-time size that determines how often a loop runs and is not in the key, if
the key is empty or has other run-time sizes. So is a `tl.constexpr` size that no config sets.

**Why is this bad?** The config that was best for the first value is used for all values.

**Example**

```python
@triton.autotune(CONFIGS, key=["M", "N"])
@triton.jit
def matmul(..., M, N, K, ...):
    for k in range(0, K, BLOCK_K): ...
```

**Use instead**

```python
@triton.autotune(CONFIGS, key=["M", "N", "K"])
```

**Limits.** A key with a name that contains this one (`K_BUCKET`), or that launches compute from it, is
accepted: tuning for ranges of sizes is a good idea. So is one with the sizes from which launches compute this
one (`SPLIT = K // PARTS`).
""",
    key_missing,
)


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
                yield module.diagnostic(KEY_UNUSED, place_of(name, key.node), message, fix, key.kernel)


KEY_UNUSED = SourceRule(
    "IRS106",
    "key-unused",
    """\
A meta-parameter in the tuning key.

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
""",
    key_unused,
)


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
                yield module.diagnostic(KEY_POINTER, place_of(name, key.node), message, fix, key.kernel)


KEY_POINTER = SourceRule(
    "IRS107",
    "key-pointer",
    """\
A tensor in the tuning key.

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
""",
    key_pointer,
)


_MIN_VALUES = 3  # fewer prove little
_MAX_SHOWN = 4
_ARGUMENT = re.compile(r"(?:^|, )([A-Za-z_]\w*)=")


def key_changed_nothing(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Compare the configs chosen for keys that differ in one argument."""
    chosen = _chosen(compiled)
    for name in dict.fromkeys(name for key, _ in chosen for name in key):
        groups: dict[tuple[tuple[str, str], ...], dict[str, Variant]] = {}
        for key, variant in chosen:
            rest = tuple(pair for pair in key.items() if pair[0] != name)
            groups.setdefault(rest, {})[key.get(name, "")] = variant
        compared = [group for group in groups.values() if len(group) > 1]
        values = {value for group in compared for value in group}
        if len(values) < _MIN_VALUES or not all(_same_choice(group, compiled) for group in compared):
            continue
        tunings = sum(len(group) - 1 for group in compared)
        listed = f"{', '.join(sorted(values)[:_MAX_SHOWN])}{', ...' if len(values) > _MAX_SHOWN else ''}"
        message = (
            f"{name} is in the key of {compiled.kernel.name} and changed nothing: for its {len(values)} "
            f"values ({listed}) the same config was chosen on {compiled.target}; {tunings:,} of the tunings "
            "were redundant"
        )
        fix = f"drop {name} from the key if these values are representative"
        yield compiled.diagnostic(KEY_CHANGED_NOTHING, message, fix)


def _chosen(compiled: CompiledKernel) -> list[tuple[dict[str, str], Variant]]:
    """Return each tuning key, parsed, with the variant that was chosen for it."""
    return [
        (parse_key(benchmark.key), variant)
        for variant in compiled.variants
        for benchmark in variant.benchmarks
        if benchmark.chosen
    ]


def parse_key(key: str) -> dict[str, str]:
    """Parse the arguments of a tuning key: "M=512, N=64" has M and N. Values may contain commas."""
    matches = list(_ARGUMENT.finditer(key))
    ends = [*(match.start() for match in matches[1:]), len(key)]
    # A key without names has no matches and one end.
    return {match[1]: key[match.end() : end] for match, end in zip(matches, ends, strict=False)}


def _same_choice(group: Mapping[str, Variant], compiled: CompiledKernel) -> bool:
    """Check whether the variants have the same config or the same machine code."""
    first, *rest = group.values()
    return all(
        first.config == later.config
        or are_duplicates(first, later, compiled.facts[first.id], compiled.facts[later.id])
        for later in rest
    )


KEY_CHANGED_NOTHING = CaptureRule(
    "IRS205",
    "key-changed-nothing",
    """\
A key argument whose value never changed which config was chosen.

**What it does.** Reports an argument of the tuning key with at least three measured values for which, with
the rest of the key equal, the same config was chosen every time, or one with the same machine code. It
needs a capture with measurements: `irscope run` on a GPU, or an import of autotune results.

**Why is this bad?** The kernel is tuned again for each value, with the same result.
""",
    key_changed_nothing,
)


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
