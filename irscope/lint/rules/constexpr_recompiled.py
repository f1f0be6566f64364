"""A tl.constexpr number that the kernel was compiled again for, value by value.

**What it does.** Reports a `tl.constexpr` number that no config sets, that had two or more values greater
than 1 in the capture, and that the kernel does not need as a constant (as in
[constexpr-size](#constexpr-size)). It also finds strides, and sizes that vary only within one serving
process.

**Why is this bad?** The kernel is compiled once per value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from irscope.facts.source.tokens import function_node
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic
from irscope.lint.source.kernel_body import needs_constant
from irscope.model import Argument

_MAX_SHOWN = 4


def constexpr_recompiled(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for constants that no config sets, had several values and need not be constants."""
    function = function_node(compiled.kernel.source.text)
    if function is None:
        return
    set_by_configs = {name for variant in compiled.variants for name, _ in variant.config.values}
    values: dict[str, dict[int, int]] = {}
    for variant in compiled.variants:
        for argument in variant.specialization:
            size = _size(argument)
            if size is not None and argument.name not in set_by_configs:
                counts = values.setdefault(argument.name, {})
                counts[size] = counts.get(size, 0) + 1
    lines = {
        argument.arg: argument.lineno for argument in ast.walk(function) if isinstance(argument, ast.arg)
    }
    for name, counts in values.items():
        # Without tl.constexpr, a parameter is a constant only if it is 1, None or not a number.
        if len(counts) < 2 or name not in lines or needs_constant(function, name):
            continue
        values_text = ", ".join(map(str, sorted(counts)[:_MAX_SHOWN]))
        message = (
            f"{name} of {compiled.kernel.name} is tl.constexpr and was compiled for {len(counts)} values on "
            f"{compiled.target} ({values_text}{', ...' if len(counts) > _MAX_SHOWN else ''}), in "
            f"{sum(counts.values()):,} compilations, although the kernel only computes with it"
        )
        fix = f"drop tl.constexpr; Triton still specializes {name} on being 1 or divisible by 16"
        yield compiled.diagnostic(RULE, message, fix, compiled.kernel.source.line + lines[name] - 1)


def _size(argument: Argument) -> int | None:
    """Return the value of a constexpr int greater than 1, or None.

    A flag or 1 need not be a size or stride.
    """
    value = argument.value
    sized = argument.type == "constexpr" and isinstance(value, int) and not isinstance(value, bool)
    return value if sized and isinstance(value, int) and value > 1 else None


RULE = CaptureRule("IRS204", "constexpr-recompiled", __doc__, constexpr_recompiled)
