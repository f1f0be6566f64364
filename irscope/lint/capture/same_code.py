"""Configs that are one program: what a sweep measures twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.analysis.duplicates import duplicate_groups
from irscope.lint.capture.compiled import Compiled
from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.model import Argument, Variant

SAME = Rule("IRS203", "same-code", "configs that compile to the machine code of another: measured twice")


def same_code(compiled: Compiled) -> Iterator[Diagnostic]:
    """Variants with the same arguments, whose configs differ and whose program is another one's."""
    again = [
        pair
        for group in duplicate_groups(compiled.variants, compiled.facts)
        for pair in _with_first(group)
        if pair[0].config != pair[1].config
    ]
    if not again:
        return
    share = len(again) / len(compiled.variants)
    spent = sum(sum(other.seconds.values()) for _, other in again)
    seconds = f" and took {spent:.1f} s to compile" if spent else ""
    one, other = again[0]
    message = (
        f"{len(again):,} of {len(compiled.variants):,} variants for {compiled.target} have the machine code "
        f"of another config: {share:.0%} of the sweep measures nothing new{seconds}; the first is "
        f"#{other.id} {compiled.names[other.id]}, which is #{one.id} {compiled.names[one.id]}"
    )
    differing = sorted({name for one, other in again for name in _differing(one, other)})
    fix = f"leave one of each pair out of the configs; they differ in {', '.join(differing)}"
    yield compiled.problem(SAME, message, fix)


def _with_first(group: Sequence[Variant]) -> Iterator[tuple[Variant, Variant]]:
    """Each variant with the first that has the same arguments: other arguments are no matter of configs."""
    first: dict[tuple[Argument, ...], Variant] = {}
    for variant in group:
        by_config = {name for name, _ in variant.config.values}
        key = tuple(argument for argument in variant.specialization if argument.name not in by_config)
        if first.setdefault(key, variant) is not variant:
            yield first[key], variant


def _differing(a: Variant, b: Variant) -> set[str]:
    return {name for name, _ in set(a.config.values) ^ set(b.config.values)}
