"""Lists of configs: doubles, single ones, names that the kernel lacks, wrong pruning, and other results."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator, Sequence

from irscope.facts.duplicates import duplicate_groups
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic, SourceRule
from irscope.lint.source.kernel_source import SPECIALIZATION_LISTS, KernelSource, strings
from irscope.lint.source.python_module import PythonModule, place_of, tuning_keys
from irscope.model import Argument, Variant
from irscope.model.text import one_line


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
                yield module.diagnostic(DUPLICATE_CONFIG, config.node, message, "drop it", kernel)


DUPLICATE_CONFIG = SourceRule(
    "IRS103",
    "duplicate-config",
    """\
A config that equals another config of the same list.

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
""",
    duplicate_config,
)


ONE_CONFIG_FIX = "add configs, or drop @triton.autotune and pass these values at the launch"


def one_config(module: PythonModule) -> Iterator[Diagnostic]:
    """Check how many configs each `@triton.autotune` has."""
    for kernel in module.kernels.values():
        autotune = kernel.autotune
        if autotune is None or autotune.configs is None or len(autotune.configs) > 1:
            continue
        if any("configs" in name for name in autotune.arguments.keys() - {"configs", "prune_configs_by"}):
            continue  # a fork of Triton makes configs
        number = "a single config" if autotune.configs else "no configs, so Triton adds a default one"
        message = f"{kernel.name} is autotuned over {number}: nothing is tuned"
        yield module.diagnostic(ONE_CONFIG, autotune.node, message, ONE_CONFIG_FIX, kernel)


ONE_CONFIG = SourceRule(
    "IRS102",
    "one-config",
    """\
An autotuned kernel with a single config.

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
""",
    one_config,
)


def same_code(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for duplicates among the variants with the same arguments."""
    pairs = [
        pair
        for group in duplicate_groups(compiled.variants, compiled.facts)
        for pair in _pairs_with_first(group)
        if pair[0].config != pair[1].config
    ]
    if not pairs:
        return
    share = len(pairs) / len(compiled.variants)
    spent = sum(sum(copy.seconds.values()) for _, copy in pairs)
    seconds = f" and took {spent:.1f} s to compile" if spent else ""
    first, copy = pairs[0]
    verb = "have" if len(pairs) > 1 else "has"
    message = (
        f"{compiled.share([copy for _, copy in pairs])} for {compiled.target} {verb} the same machine code "
        f"as another config: {share:.0%} of the sweep is redundant{seconds}; the first is "
        f"#{copy.id} {compiled.names[copy.id]}, identical to #{first.id} {compiled.names[first.id]}"
    )
    names = sorted({name for first, copy in pairs for name in _differing(first, copy)})
    fix = f"drop one config of each pair; they differ in {', '.join(names)}"
    yield compiled.diagnostic(SAME_CODE, message, fix)


def _pairs_with_first(group: Sequence[Variant]) -> Iterator[tuple[Variant, Variant]]:
    """Pair the first variant with the same arguments with each later one."""
    first: dict[tuple[Argument, ...], Variant] = {}
    for variant in group:
        by_config = {name for name, _ in variant.config.values}
        key = tuple(argument for argument in variant.specialization if argument.name not in by_config)
        if first.setdefault(key, variant) is not variant:
            yield first[key], variant


def _differing(a: Variant, b: Variant) -> set[str]:
    return {name for name, _ in set(a.config.values) ^ set(b.config.values)}


SAME_CODE = CaptureRule(
    "IRS203",
    "same-code",
    """\
Configs that compile to the same machine code.

**What it does.** Reports variants with the same arguments whose configs differ but whose machine code and
launch are identical, with their share of the sweep and of its compile time. Most such configs differ in
`num_stages` for a kernel that has no loop to pipeline.

**Why is this bad?** Benchmarking both is redundant.
""",
    same_code,
)


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
                    yield module.diagnostic(UNKNOWN_PARAMETER, place_of(name, node), message, fix, kernel)


UNKNOWN_PARAMETER = SourceRule(
    "IRS105",
    "unknown-parameter",
    """\
A name in key, reset_to_zero, restore_value or do_not_specialize that is not a parameter of the kernel.

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
""",
    unknown_parameter,
)


# Triton calls f(configs, named_args, **kwargs), and `kwargs` always has grid and warmup
# (Autotuner.prune_configs and KernelInterface.__getitem__ of 3.6 to 3.9).
_POSITIONAL = 2

PRUNE_SIGNATURE_FIX = "declare it as (configs, named_args, **kwargs)"


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
            yield module.diagnostic(PRUNE_SIGNATURE, function, message, PRUNE_SIGNATURE_FIX, kernel)


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


PRUNE_SIGNATURE = SourceRule(
    "IRS104",
    "prune-signature",
    """\
An early_config_prune function that does not accept (configs, named_args, **kwargs).

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
""",
    prune_signature,
)


# The source of a kernel has no imports.
_IMPORTS = "import triton\nimport triton.language as tl\nfrom triton import autotune, jit\n"
CHOICE_CHANGES_RESULTS_FIX = (
    "if results must not change, leave only configs of the same bits: irscope pick --same-bits-as, or "
    'irscope.prune(same_bits_as="first") in prune_configs_by'
)


def choice_changes_results(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Compare the bits of the configs of an autotuned kernel."""
    key = _autotune_key(compiled)
    if key is None:
        return
    change = compiled.changed_results([v for v in compiled.variants if compiled.launches(v)])
    if change is None:
        return
    names = " and ".join(change.names)
    verb = "decide" if len(change.names) > 1 else "decides"
    message = (
        f"the config that is chosen for {compiled.kernel.name} changes its results on {compiled.target}: "
        f"{names} {verb} at {change.launch} ({change.executed} of {len(compiled.variants):,} configs were "
        f"executed); {change.reason}"
    )
    if sizes := [name for name in key if name in change.sizes]:
        message += f"; its key has {', '.join(sizes)}, so results may change from one size to the next"
    yield compiled.diagnostic(
        CHOICE_CHANGES_RESULTS, one_line(message), CHOICE_CHANGES_RESULTS_FIX, change.line
    )


def _autotune_key(compiled: CompiledKernel) -> list[str] | None:
    """Return the names in the key of the kernel's autotuner; None if it has none."""
    source = compiled.kernel.source
    try:
        module = PythonModule(_IMPORTS + source.text, source.file)
    except (SyntaxError, ValueError, RecursionError):
        return None
    kernel = module.kernels.get(compiled.kernel.name)
    if kernel is None or kernel.autotune is None:
        return None
    return [name for key in tuning_keys(module) if key.kernel is kernel for name in key.names]


CHOICE_CHANGES_RESULTS = CaptureRule(
    "IRS213",
    "choice-changes-results",
    """\
An autotuner whose choice changes results.

**What it does.** Reports configs of one `@triton.autotune` that compute other bits from the same inputs at a
recorded launch, the config values that decide, and the first line where they do. Few configs are executed:
the first and the last and, if their bits differ, one for each value that differs.

**Why is this bad?** The autotuner picks by time, so another run, rank, machine or release may pick a config
that adds in another order. If a size is in its key, results may also change from one size to the next, for
rows that are equal. `irscope.prune(same_bits_as=...)` in the autotuner, or `irscope pick --same-bits-as`,
leave only configs that change nothing; [`irscope bits`](commands/bits.md) shows all classes.

**Limits.** Only one launch of each kernel, and about 24 configs of a capture, are executed; what cannot be
executed is not reported.
""",
    choice_changes_results,
)
