"""Configs with more threads than the kernel's largest tensor has elements.

**What it does.** Reports variants whose largest tensor in TTIR has fewer elements than a program has
threads, which are `num_warps` times 32, or times 64 on AMD's CDNA GPUs.

**Why is this bad?** As for [redundant-threads](#redundant-threads), these threads repeat the work of others.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from irscope.facts.accesses.axis_info import shapes_of
from irscope.facts.occupancy import count, threads_of
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic
from irscope.model import Variant
from irscope.model.text import pluralize

FIX = "use fewer warps or a larger block"


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
        yield compiled.diagnostic(RULE, message, FIX)


def _most_elements(compiled: CompiledKernel, variant: Variant) -> int:
    """Return the elements of the largest tensor, or 0 if there is none."""
    flow = compiled.flow(variant)
    texts = (operation.normalized for operation in flow.operations) if flow else ()
    return max((prod(shape) for text in texts for shape in shapes_of(text)), default=0)


RULE = CaptureRule("IRS210", "idle-threads", __doc__, idle_threads)
