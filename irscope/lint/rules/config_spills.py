"""Configs that spill registers to local memory.

**What it does.** Reports variants for which ptxas or the AMD backend reports spills, the worst first.
Variants that spill only AMD's scalar registers, to lanes of vector registers, are reported separately.

**Why is this bad?** Spilled values go to local memory, which is as slow as global memory. More warps, smaller
blocks or fewer stages leave more registers for each value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.facts.occupancy import (
    reported_spills,
    spill_severity,
    spilled_registers_text,
    spills_only_scalars,
)
from irscope.facts.registry import SCALAR_SPILLS
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic
from irscope.model import Variant

FIX = "use more warps or smaller blocks, or drop these configs"
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
        yield compiled.diagnostic(RULE, _message(compiled, to_memory, "", worst), FIX)
    if scalar := [variant for variant in bad if variant not in to_memory]:
        number = f"{compiled.number(scalar[0], SCALAR_SPILLS.name):,}, to lanes of vector registers"
        message = _message(compiled, scalar, " scalar registers", number)
        yield compiled.diagnostic(RULE, message, FIX_SCALAR)


def _message(compiled: CompiledKernel, bad: Sequence[Variant], what: str, worst: str) -> str:
    verb = "spill" if len(bad) > 1 else "spills"
    first = f"{compiled.share(bad)} {verb}{what} on {compiled.target}, the worst with {worst}: "
    return first + compiled.listed(bad)


RULE = CaptureRule("IRS202", "config-spills", __doc__, config_spills)
