"""Configs that spill registers to local memory.

**What it does.** Reports variants for which ptxas or the AMD backend reports spills, the worst first. A
stack without spills is not reported: it may hold an array of the kernel.

**Why is this bad?** Spilled values go to local memory, which is as slow as global memory. More warps,
smaller blocks or fewer stages leave more registers for each value.
"""

from __future__ import annotations

from collections.abc import Iterator

from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic
from irscope.model import Variant

FIX = "use more warps or smaller blocks, or drop these configs"
_SPILL_FACTS = ("spill_store_bytes", "spill_load_bytes", "vector_spills", "scalar_spills")


def config_spills(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Looks for variants with spills, the worst first."""
    bad = [variant for variant in compiled.variants if _spills(compiled, variant)]
    bad.sort(key=lambda variant: -compiled.number(variant, "stack"))
    if bad:
        worst = f"{compiled.number(bad[0], 'stack'):,} bytes of stack per thread"
        verb = "spill" if len(bad) > 1 else "spills"
        message = f"{compiled.share(bad)} {verb} on {compiled.target}, the worst with {worst}: "
        yield compiled.diagnostic(RULE, message + compiled.listed(bad), FIX)


def _spills(compiled: CompiledKernel, variant: Variant) -> bool:
    return any(compiled.number(variant, name) > 0 for name in _SPILL_FACTS)


RULE = CaptureRule("IRS202", "config-spills", __doc__, config_spills)
