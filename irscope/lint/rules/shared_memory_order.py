"""Accesses of shared memory that nothing orders, and barriers that are waited for in vain.

**What it does.** Executes the scalar part of the final TTGIR, a logical thread per partition, and reports:

- a buffer that is read before what fills it is visible, or overwritten before its last use;
- a barrier that is waited for and never arrived at, with each partition that waits;
- a wait for the wrong phase, arrivals or bytes that do not match, a barrier that nothing waits for;
- an accumulator or an operand of a product in flight that is used;
- a write by threads that the copy engine or a tensor core reads without a fence.

In PTX, and for AMD in LLVM IR, it also looks for barriers between warps: what one warp writes to shared
memory, another must not read before a barrier of the block.

**Why is this bad?** The result is wrong now and then, on some GPUs, or the kernel never ends. Triton inserts
barriers for its own pipelines; in Gluon, waits, phases, counts and fences are yours. A report about a kernel
without Gluon is a second opinion on the compiler.

**Limits.** Integers that depend on data are guessed, loops run a few times, and clusters are not executed. Of
specialized kernels, the barriers between warps are not looked at. Of a kernel, 24 variants with different
code are executed at most, and the barriers between warps of 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic
from irscope.model import Variant
from irscope.model.text import one_line
from irscope.targets import stage_named

if TYPE_CHECKING:
    from irscope.interpreting.events.hazards import Hazard

_MOST_VARIANTS, _MOST_LOWERED = 24, 4
# Where the barriers between warps are looked at: in the first of these that a variant has.
_LOWERED = ("ptx", "llir")


def shared_memory_order(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Report each hazard of a kernel once, at the line where it is."""
    from irscope.interpreting.events.hazards import line_of

    reported: set[tuple[str, int]] = set()
    for number, variant in enumerate(_different(compiled)):
        for hazard in _hazards(compiled, variant, lowered=number < _MOST_LOWERED):
            line = line_of(hazard.step)
            if (hazard.kind, line) in reported:
                continue
            reported.add((hazard.kind, line))
            message = f"{hazard.message}, in #{variant.id} {compiled.names[variant.id]} on {compiled.target}"
            if len(hazard.trace) > 1:
                message += f" ({'; '.join(hazard.trace)})"
            yield compiled.diagnostic(RULE, one_line(message), hazard.remedy, line or None)


def _different(compiled: CompiledKernel) -> list[Variant]:
    """Return the first variants of which no two have the same stages."""
    variants: dict[tuple[str, ...], Variant] = {}
    for variant in compiled.variants:
        artifacts = variant.artifacts
        digests = tuple(artifacts[name].digest for name in ("ttgir", *_LOWERED) if name in artifacts)
        if digests and variant.edit is None:
            variants.setdefault(digests, variant)
    return list(variants.values())[:_MOST_VARIANTS]


def _hazards(compiled: CompiledKernel, variant: Variant, lowered: bool) -> Iterator[Hazard]:
    from irscope.interpreting.events.lowered import check_barriers
    from irscope.interpreting.events.machine import check_order
    from irscope.layouts.convert import triton_version

    text = compiled.text(variant, "ttgir")
    if text is None:
        return
    ttir = compiled.text(variant, "ttir") or ""
    version = triton_version(variant.toolchain.versions.get("triton", ""))
    yield from check_order(compiled.located(variant, ttir, "ttgir", text), version).hazards
    stage = next((name for name in _LOWERED if name in variant.artifacts), None)
    code = compiled.text(variant, stage) if stage and lowered else None
    if stage and code is not None and ("shared" in code or "addrspace(3)" in code):
        document = compiled.located(variant, ttir, stage, code)
        yield from check_barriers(document, stage_named(stage).language or "")


RULE = CaptureRule("IRS311", "shared-memory-order", __doc__, shared_memory_order)
