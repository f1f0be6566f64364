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
    """Looks for duplicates among the variants with the same arguments."""
    pairs = [
        pair
        for group in duplicate_groups(compiled.variants, compiled.facts)
        for pair in _pairs_with_first(group)
        if pair[0].config != pair[1].config
    ]
    if not pairs:
        return
    share = len(pairs) / len(compiled.variants)
    spent = sum(sum(other.seconds.values()) for _, other in pairs)
    seconds = f" and took {spent:.1f} s to compile" if spent else ""
    one, other = pairs[0]
    verb = "have" if len(pairs) > 1 else "has"
    message = (
        f"{compiled.share([other for _, other in pairs])} for {compiled.target} {verb} the same machine code "
        f"as another config: {share:.0%} of the sweep is redundant{seconds}; the first is "
        f"#{other.id} {compiled.names[other.id]}, identical to #{one.id} {compiled.names[one.id]}"
    )
    names = sorted({name for one, other in pairs for name in _differing(one, other)})
    fix = f"drop one config of each pair; they differ in {', '.join(names)}"
    yield compiled.diagnostic(RULE, message, fix)


def _pairs_with_first(group: Sequence[Variant]) -> Iterator[tuple[Variant, Variant]]:
    """The first variant with the same arguments and each later one, as pairs."""
    first: dict[tuple[Argument, ...], Variant] = {}
    for variant in group:
        by_config = {name for name, _ in variant.config.values}
        key = tuple(argument for argument in variant.specialization if argument.name not in by_config)
        if first.setdefault(key, variant) is not variant:
            yield first[key], variant


def _differing(a: Variant, b: Variant) -> set[str]:
    return {name for name, _ in set(a.config.values) ^ set(b.config.values)}


RULE = CaptureRule("IRS203", "same-code", __doc__, same_code)
