"""Configs that compile but cannot launch on the target.

**What it does.** Reports variants that need more shared memory, threads or tensor memory than the target
has.

**Why is this bad?** The autotuner compiles these configs, fails to launch them and drops them. Leave them out
for this target, in the list of configs or in `early_config_prune`.
"""

from __future__ import annotations

from collections.abc import Iterator

from irscope.facts.fact import status_of
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic

FIX = "leave them out for this target, in the list of configs or in early_config_prune"


def cannot_launch(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for variants that compiled and cannot launch."""
    bad = [
        variant for variant in compiled.variants if variant.failure is None and not compiled.launches(variant)
    ]
    if bad:
        status = status_of(bad[0], compiled.facts[bad[0].id])
        reason = status.reason if status else ""
        message = (
            f"{compiled.share(bad)} cannot launch on {compiled.target}: {compiled.listed(bad)} "
            f"({'the first needs' if len(bad) > 1 else 'it needs'} {reason})"
        )
        yield compiled.diagnostic(RULE, message, FIX)


RULE = CaptureRule("IRS201", "cannot-launch", __doc__, cannot_launch)
