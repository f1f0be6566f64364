"""Configs that cannot launch, and those that spill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.facts.fact import status_of
from irscope.lint.capture.compiled import Compiled
from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.model import Variant

LAUNCH = Rule("IRS201", "cannot-launch", "configs that the target has not the resources to launch")
SPILLS = Rule("IRS202", "config-spills", "configs whose registers do not suffice: they spill to local memory")


def cannot_launch(compiled: Compiled) -> Iterator[Diagnostic]:
    """The variants that compile and cannot be launched."""
    bad = [
        variant for variant in compiled.variants if variant.failure is None and not compiled.launches(variant)
    ]
    if bad:
        status = status_of(bad[0], compiled.facts[bad[0].id])
        why = status.reason if status else ""
        message = (
            f"{_share(bad, compiled)} cannot launch on {compiled.target}: {compiled.listed(bad)} "
            f"({'the first needs' if len(bad) > 1 else 'it needs'} {why})"
        )
        fix = "leave them out for this target, in the list of configs or in early_config_prune"
        yield compiled.problem(LAUNCH, message, fix)


def config_spills(compiled: Compiled) -> Iterator[Diagnostic]:
    """The variants with spills, the worst first."""
    bad = [variant for variant in compiled.variants if _spilled(compiled, variant)]
    bad.sort(key=lambda variant: -compiled.number(variant, "stack"))
    if bad:
        worst = f"{compiled.number(bad[0], 'stack'):,} bytes of stack a thread"
        message = (
            f"{_share(bad, compiled)} spill on {compiled.target}, the worst with {worst}: "
            f"{compiled.listed(bad)}"
        )
        fix = "take more warps or smaller blocks for them, or leave them out"
        yield compiled.problem(SPILLS, message, fix)


def _spilled(compiled: Compiled, variant: Variant) -> bool:
    """Whether ptxas or the AMD backend says that it spilled; a stack alone may be an array of the kernel."""
    stored = ("spill_store_bytes", "spill_load_bytes", "vector_spills", "scalar_spills")
    return any(compiled.number(variant, name) > 0 for name in stored)


def _share(bad: Sequence[Variant], compiled: Compiled) -> str:
    return f"{len(bad):,} of {len(compiled.variants):,} variants"
