"""Configs that use the target badly: cannot launch, spill, or leave threads idle."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from irscope.facts.accesses.axis_info import shapes_of
from irscope.facts.fact import status_of
from irscope.facts.occupancy import (
    count,
    reported_spills,
    spill_severity,
    spilled_registers_text,
    spills_only_scalars,
    threads_of,
)
from irscope.facts.registry import SCALAR_SPILLS
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic, SourceRule
from irscope.lint.source.evaluate import ConfigValue, StaticValue
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.offsets import most_elements
from irscope.lint.source.python_module import PythonModule
from irscope.model import Variant
from irscope.model.text import pluralize

CANNOT_LAUNCH_FIX = "leave them out for this target, in the list of configs or in early_config_prune"


def cannot_launch(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for variants that compiled and cannot launch."""
    bad = [
        variant for variant in compiled.variants if variant.failure is None and not compiled.launches(variant)
    ]
    if bad:
        status = status_of(bad[0], compiled.facts[bad[0].id])
        reason = status.reason if status else ""
        message = (
            f"{compiled.share(bad)} cannot launch on {compiled.target}: {compiled.listed(bad)} "
            f"({'the first needs' if len(bad) > 1 else 'it needs'} {reason})"
        )
        yield compiled.diagnostic(CANNOT_LAUNCH, message, CANNOT_LAUNCH_FIX)


CANNOT_LAUNCH = CaptureRule(
    "IRS201",
    "cannot-launch",
    """\
Configs that compile but cannot launch on the target.

**What it does.** Reports variants that need more shared memory, threads or tensor memory than the target
has.

**Why is this bad?** The autotuner compiles these configs, fails to launch them and drops them. Leave them out
for this target, in the list of configs or in `early_config_prune`.
""",
    cannot_launch,
)


CONFIG_SPILLS_FIX = "use more warps or smaller blocks, or drop these configs"
FIX_SCALAR = "pass fewer strides and sizes as arguments, or make those that never change tl.constexpr"


def config_spills(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for variants with spills, the worst first."""
    facts = compiled.facts
    bad = [variant for variant in compiled.variants if reported_spills(facts[variant.id])]
    bad.sort(key=lambda variant: spill_severity(facts[variant.id]), reverse=True)
    to_memory = [variant for variant in bad if not spills_only_scalars(facts[variant.id])]
    if to_memory:
        worst = f"{compiled.number(to_memory[0], 'stack'):,} bytes of stack per thread"
        registers = spilled_registers_text(facts[to_memory[0].id])
        worst = f"{worst} ({registers})" if registers else worst
        yield compiled.diagnostic(CONFIG_SPILLS, _message(compiled, to_memory, "", worst), CONFIG_SPILLS_FIX)
    if scalar := [variant for variant in bad if variant not in to_memory]:
        number = f"{compiled.number(scalar[0], SCALAR_SPILLS.name):,}, to lanes of vector registers"
        message = _message(compiled, scalar, " scalar registers", number)
        yield compiled.diagnostic(CONFIG_SPILLS, message, FIX_SCALAR)


def _message(compiled: CompiledKernel, bad: Sequence[Variant], what: str, worst: str) -> str:
    verb = "spill" if len(bad) > 1 else "spills"
    first = f"{compiled.share(bad)} {verb}{what} on {compiled.target}, the worst with {worst}: "
    return first + compiled.listed(bad)


CONFIG_SPILLS = CaptureRule(
    "IRS202",
    "config-spills",
    """\
Configs that spill registers to local memory.

**What it does.** Reports variants for which ptxas or the AMD backend reports spills, the worst first.
Variants that spill only AMD's scalar registers, to lanes of vector registers, are reported separately.

**Why is this bad?** Spilled values go to local memory, which is as slow as global memory. More warps, smaller
blocks or fewer stages leave more registers for each value.
""",
    config_spills,
)


IDLE_THREADS_FIX = "use fewer warps or a larger block"


def idle_threads(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Compare the threads of each variant with its largest tensor."""
    bad: list[tuple[Variant, int, int]] = []
    for variant in compiled.variants:
        threads, elements = threads_of(variant), _most_elements(compiled, variant)
        if threads and elements and elements < threads and (count(variant, "num_warps") or 1) > 1:
            bad.append((variant, threads, elements))
    if bad:
        bad.sort(key=lambda one: one[2] / one[1])
        variants = [variant for variant, _, _ in bad]
        _, threads, elements = bad[0]
        message = (
            f"{compiled.share(variants)} of {compiled.kernel.name} have more threads than elements on "
            f"{compiled.target}: {compiled.listed(variants)} (the first has {threads:,} threads, "
            f"and tensors of at most {pluralize(elements, 'element')})"
        )
        yield compiled.diagnostic(IDLE_THREADS, message, IDLE_THREADS_FIX)


def _most_elements(compiled: CompiledKernel, variant: Variant) -> int:
    """Return the elements of the largest tensor, or 0 if there is none."""
    flow = compiled.flow(variant)
    texts = (operation.normalized for operation in flow.operations) if flow else ()
    return max((prod(shape) for text in texts for shape in shapes_of(text)), default=0)


IDLE_THREADS = CaptureRule(
    "IRS210",
    "idle-threads",
    """\
Configs with more threads than the kernel's largest tensor has elements.

**What it does.** Reports variants whose largest tensor in TTIR has fewer elements than a program has
threads, which are `num_warps` times 32, or times 64 on AMD's CDNA GPUs.

**Why is this bad?** As for [redundant-threads](#redundant-threads), these threads repeat the work of others.
""",
    idle_threads,
)


_WARP = 32
REDUNDANT_THREADS_FIX = "use fewer warps or a larger block"


def redundant_threads(module: PythonModule) -> Iterator[Diagnostic]:
    """Compare the threads of configs and launches with the elements of the largest tensor."""
    for kernel in module.kernels.values():
        if kernel.autotune is not None and kernel.autotune.configs:
            yield from _check_configs(kernel, kernel.autotune.configs, module)
    for launch in module.launches:
        kernel = launch.kernel
        passed = {name: module.value(node, launch.scope) for name, node in launch.arguments.items()}
        values = {name: value for name, value in passed.items() if isinstance(value, int)}
        if kernel.autotune is None and "num_warps" in values:
            elements = most_elements(kernel, module, values)
            if elements is not None and _redundant(values["num_warps"], elements):
                message = f"this launch of {kernel.name} has {_compared(values['num_warps'], elements)}"
                yield module.diagnostic(
                    REDUNDANT_THREADS, launch.arguments["num_warps"], message, REDUNDANT_THREADS_FIX, kernel
                )


def _check_configs(
    kernel: KernelSource, configs: tuple[ConfigValue, ...], module: PythonModule
) -> Iterator[Diagnostic]:
    """Yield one diagnostic per expression: a comprehension makes many configs."""
    defaults = {p.name: module.value(p.default, module.scope) for p in kernel.parameters if p.default}
    by_expression: dict[ast.expr, list[tuple[int, int]]] = {}
    for config in configs:
        warps = config.options.get("num_warps")
        # A launch may pass what has a default, unless the config sets it.
        values: Mapping[str, StaticValue] = {
            k: v for k, v in (config.kwargs or {}).items() if k not in defaults
        }
        elements = most_elements(kernel, module, values) if isinstance(warps, int) else None
        if isinstance(warps, int) and elements is not None and _redundant(warps, elements) and config.node:
            by_expression.setdefault(config.node, []).append((warps, elements))
    for node, bad in by_expression.items():
        warps, elements = max(bad, key=lambda one: one[0] * _WARP / max(1, one[1]))
        count = (
            f"{len(bad)} configs of {kernel.name} have more threads than elements: one"
            if len(bad) > 1
            else (f"this config of {kernel.name}")
        )
        yield module.diagnostic(
            REDUNDANT_THREADS,
            node,
            f"{count} has {_compared(warps, elements)}",
            REDUNDANT_THREADS_FIX,
            kernel,
        )


def _redundant(warps: int, elements: int) -> bool:
    """Return True if fewer warps suffice; a program has at least one."""
    return warps > 1 and elements < warps * _WARP


def _compared(warps: int, elements: int) -> str:
    return (
        f"num_warps={warps}, {warps * _WARP} threads, for tensors of at most "
        f"{pluralize(elements, 'element')}: threads repeat the same work"
    )


REDUNDANT_THREADS = SourceRule(
    "IRS118",
    "redundant-threads",
    """\
A config with more threads than its block has elements.

**What it does.** Reports configs of `@triton.autotune`, and launches with `num_warps`, in which the
kernel's largest tensor has fewer elements than a program has threads (32 per warp; 64 on AMD's CDNA GPUs).

**Why is this bad?** The other threads load the same elements, and occupy registers and issue slots that
another program could use.

**Example**

```python
triton.Config({"BLOCK": 64}, num_warps=8)  # 256 threads for 64 elements
```

**Use instead**

```python
triton.Config({"BLOCK": 64}, num_warps=2)
```

**Limits.** Only kernels whose block sizes the text determines, and that call no other kernel.
""",
    redundant_threads,
)
