"""What a lesson quotes beside the stages: the Python, and what other commands of irscope say of a variant."""

from __future__ import annotations

import tokenize
from collections.abc import Iterator
from pathlib import Path

from irscope.languages.registry import parse
from irscope.layouts.describe import conflicts_text, ways_text
from irscope.layouts.kernel_layouts import KernelLayouts
from irscope.lint.rules import RULES
from irscope.lint.source.checks import lint_source
from irscope.lint.suppressions import chosen
from irscope.model import Variant


def file_text(variant: Variant) -> str:
    """The whole file that the kernel is in. Raises OSError where it is no longer there."""
    with tokenize.open(variant.kernel.source.file) as file:
        return file.read()


def layout_text(variant: Variant, ttgir: str, machine: str) -> str:
    """The accesses to shared memory and the layout conversions of a kernel, as `irscope layout` counts them.

    `machine` is the PTX.
    """
    version = variant.toolchain.versions.get("triton", "")
    layouts = KernelLayouts(parse(ttgir, "mlir"), variant.target, version, machine)
    return "".join(f"{line}\n" for line in _layout_lines(layouts))


def _layout_lines(layouts: KernelLayouts) -> Iterator[str]:
    for one in layouts.accesses:
        told = conflicts_text(one.conflicts) if one.conflicts else one.why_not
        yield f"{one.access.opcode} of line {one.access.line}, {one.access.buffer.type}: {told}"
        if one.plain:
            yield f"    without the swizzle: {ways_text(one.plain)}"
    for conversion in layouts.conversions:
        told = conversion.cost.value if conversion.cost else conversion.why_not
        both = f"{conversion.source.alias} -> {conversion.target.alias}"
        yield f"ttg.convert_layout of line {conversion.line}, {both}: {told}"


def lint_text(variant: Variant) -> str:
    """What `irscope lint` finds in the kernel's file. Raises OSError where that is no longer there."""
    name = Path(variant.kernel.source.file).name
    problems = lint_source(file_text(variant), name, chosen(RULES, [], []))
    return "".join(
        f"{one.file}:{one.line}:{one.column}: {one.rule.code} {one.rule.name}: {one.message}\n    {one.fix}\n"
        for one in problems
    )
