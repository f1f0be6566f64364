"""Arithmetic in float64 whose results are stored in a narrower type.

**What it does.** Reports the lines that compute in float64, in a kernel that stores no float64.

**Why is this bad?** One float64 argument, such as a tensor made from a NumPy array, makes what is computed
with it float64. GPUs for machine learning compute that at 1/2 to 1/64 of the speed of float32, with twice
the registers, and the result is rounded to the narrower type anyway.

**Limits.** A kernel that converts to `tl.float64` on purpose, for a long sum, is reported as well: suppress
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from irscope.facts.source.map import kernel_place
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic, lines_text
from irscope.model import Variant

_DOUBLE = re.compile(r"(?:x|\b)f64\b")
_STORED = re.compile(r"tt\.(?:store|atomic_rmw|descriptor_store|reduce\.return)\b[^\n]*f64")
_ARITHMETIC = re.compile(
    r"(?:arith\.(?:add|sub|mul|div|max|min|maximum|minimum|maxnum|minnum|cmp)f|math\.\w+)$"
)


def double_precision(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for arithmetic in float64 in kernels that store none."""
    by_lines: dict[tuple[int, ...], list[Variant]] = {}
    for variant in compiled.variants:
        ttir = compiled.text(variant, "ttir")
        if ttir is None or "f64" not in ttir or _STORED.search(ttir):
            continue
        lines = set()
        for operation in compiled.located(variant, ttir).operations:
            if _ARITHMETIC.match(operation.opcode) and _DOUBLE.search(operation.normalized):
                place = kernel_place(operation.location)
                lines.add(place[1] if place else compiled.kernel.source.line)
        if lines:
            by_lines.setdefault(tuple(sorted(lines)), []).append(variant)
    for places, variants in by_lines.items():
        message = (
            f"{compiled.kernel.name} computes in float64 at {lines_text(places)} and stores a narrower type, "
            f"in {compiled.share(variants)}: {compiled.listed(variants)}"
        )
        fix = "pass float32 (such as tensor.float()), or convert what is loaded with .to(tl.float32)"
        yield compiled.diagnostic(RULE, message, fix, places[0])


RULE = CaptureRule("IRS214", "double-precision", __doc__, double_precision)
