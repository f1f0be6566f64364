"""Configs that compile to the same machine code.

**What it does.** Reports variants with the same arguments whose configs differ but whose machine code and
launch are identical, with their share of the sweep and of its compile time. Most such configs differ in
`num_stages` for a kernel that has no loop to pipeline.

**Why is this bad?** Benchmarking both is redundant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.facts.duplicates import duplicate_groups
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic
from irscope.model import Argument, Variant


def same_code(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for duplicates among the variants with the same arguments."""
    pairs = [
        pair
        for group in duplicate_groups(compiled.variants, compiled.facts)
        for pair in _pairs_with_first(group)
        if pair[0].config != pair[1].config
    ]
    if not pairs:
        return
    share = len(pairs) / len(compiled.variants)
    spent = sum(sum(copy.seconds.values()) for _, copy in pairs)
    seconds = f" and took {spent:.1f} s to compile" if spent else ""
    first, copy = pairs[0]
    verb = "have" if len(pairs) > 1 else "has"
    message = (
        f"{compiled.share([copy for _, copy in pairs])} for {compiled.target} {verb} the same machine code "
        f"as another config: {share:.0%} of the sweep is redundant{seconds}; the first is "
        f"#{copy.id} {compiled.names[copy.id]}, identical to #{first.id} {compiled.names[first.id]}"
    )
    names = sorted({name for first, copy in pairs for name in _differing(first, copy)})
    fix = f"drop one config of each pair; they differ in {', '.join(names)}"
    yield compiled.diagnostic(RULE, message, fix)


def _pairs_with_first(group: Sequence[Variant]) -> Iterator[tuple[Variant, Variant]]:
    """Pair the first variant with the same arguments with each later one."""
    first: dict[tuple[Argument, ...], Variant] = {}
    for variant in group:
        by_config = {name for name, _ in variant.config.values}
        key = tuple(argument for argument in variant.specialization if argument.name not in by_config)
        if first.setdefault(key, variant) is not variant:
            yield first[key], variant


def _differing(a: Variant, b: Variant) -> set[str]:
    return {name for name, _ in set(a.config.values) ^ set(b.config.values)}


RULE = CaptureRule("IRS203", "same-code", __doc__, same_code)
