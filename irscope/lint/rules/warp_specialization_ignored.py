"""Loops with warp_specialize=True that the compiler did not split.

**What it does.** Reports variants whose TTIR has a loop marked `tt.warp_specialize` and whose TTGIR, after
all passes, has no `ttg.warp_specialize`: all warps execute all of the kernel, as without the request.

**Why is this bad?** The compiler does not say so, and an autotuner measures the same machine code twice.

**Limits.** Nothing is reported if any loop of the kernel was split.
"""

from __future__ import annotations

from collections.abc import Iterator

from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic, lines_text
from irscope.model import Variant

_REQUEST, _SPLIT = "tt.warp_specialize", "ttg.warp_specialize"
FIX = (
    "drop warp_specialize=True for this target, or change the block sizes, num_warps or the loop until TTGIR "
    f"has {_SPLIT}"
)


def warp_specialization_ignored(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Compare the loops that request warp specialization in TTIR with the final TTGIR's operations."""
    lines = {variant.id: _ignored(compiled, variant) for variant in compiled.variants}
    bad = [variant for variant in compiled.variants if lines[variant.id] is not None]
    if bad:
        all_lines = sorted({line for variant in bad for line in lines[variant.id] or ()})
        where = f" at {lines_text(all_lines)}" if all_lines else ""
        message = (
            f"the warp specialization requested{where} of {compiled.kernel.name} has no effect on "
            f"{compiled.target} in {compiled.share(bad)}, whose TTGIR has no {_SPLIT}: {compiled.listed(bad)}"
        )
        yield compiled.diagnostic(RULE, message, FIX, all_lines[0] if all_lines else None)


def _ignored(compiled: CompiledKernel, variant: Variant) -> set[int] | None:
    """Return the lines of the kernel's file whose request had no effect, or None without a request."""
    ttir = compiled.text(variant, "ttir")
    if ttir is None or _REQUEST not in ttir:
        return None
    ttgir = compiled.text(variant, "ttgir")
    if ttgir is None or _SPLIT in ttgir:
        return None
    loops = [
        operation
        for operation in compiled.located(variant, ttir).operations
        if operation.opcode == "scf.for" and _REQUEST in operation.normalized
    ]
    locations = [loop.location.outermost for loop in loops if loop.location]
    return (
        {location.line for location in locations if location.file == variant.kernel.source.file}
        if loops
        else None
    )


RULE = CaptureRule("IRS211", "warp-specialization-ignored", __doc__, warp_specialization_ignored)
