"""Sizes and strides that are compile-time constants, and were compiled for again and again."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from irscope.lint.capture.compiled import Compiled
from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.lint.source.sizes import needs_constant
from irscope.model import Argument

RECOMPILED = Rule(
    "IRS204",
    "constexpr-recompiled",
    "a tl.constexpr number that the kernel was compiled again for, per value",
)

_MOST_SHOWN = 4


def constexpr_recompiled(compiled: Compiled) -> Iterator[Diagnostic]:
    """Constants that no config sets, that had several values, and that the kernel only computes with."""
    function = _function(compiled.kernel.source.text)
    if function is None:
        return
    by_hand = {name for variant in compiled.variants for name, _ in variant.config.values}
    values: dict[str, dict[int, int]] = {}
    for variant in compiled.variants:
        for argument in variant.specialization:
            size = _size(argument)
            if size is not None and argument.name not in by_hand:
                counts = values.setdefault(argument.name, {})
                counts[size] = counts.get(size, 0) + 1
    lines = {
        argument.arg: argument.lineno for argument in ast.walk(function) if isinstance(argument, ast.arg)
    }
    for name, counts in values.items():
        # A parameter without the annotation is a constant only where it is 1, None or of no number's type.
        if len(counts) < 2 or name not in lines or needs_constant(function, name):
            continue
        shown = ", ".join(map(str, sorted(counts)[:_MOST_SHOWN]))
        message = (
            f"{name} of {compiled.kernel.name} is tl.constexpr and was compiled for {len(counts)} values on "
            f"{compiled.target} ({shown}{', ...' if len(counts) > _MOST_SHOWN else ''}), "
            f"{sum(counts.values()):,} compilations; the kernel only computes with it"
        )
        fix = (
            f"drop tl.constexpr: of a run-time {name}, Triton still knows whether it is 1 or divisible by 16"
        )
        yield compiled.problem(RECOMPILED, message, fix, compiled.kernel.source.line + lines[name] - 1)


def _size(argument: Argument) -> int | None:
    """A constant that may be a size or a stride: no flag, and not 1, which is a constant of any number."""
    value = argument.value
    sized = argument.type == "constexpr" and isinstance(value, int) and not isinstance(value, bool)
    return value if sized and isinstance(value, int) and value > 1 else None


def _function(source: str) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(source))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)
