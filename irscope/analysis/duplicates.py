"""Variants that are the same program: equal machine code, launched in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irscope.facts.fact import Fact
from irscope.model import Variant

# Facts and metadata that a launch depends on beside the code.
_LAUNCH_FACTS = ("code", "registers", "stack", "shared", "threads")
_LAUNCH_METADATA = ("num_ctas", "cluster_dims", "launch_cooperative_grid", "launch_pdl", "tmem_size")


def duplicate_groups(
    variants: Sequence[Variant], facts: Mapping[int, Mapping[str, Fact]]
) -> list[tuple[Variant, ...]]:
    """The groups of two or more `variants` that are the same program, in order; `facts` by variant id.

    Variants of one group have one kernel, target, machine code and launch, so autotune measures the same
    thing for each. A variant whose code is not known is in no group.
    """
    found: dict[tuple[object, ...], list[Variant]] = {}
    for variant in variants:
        known = facts.get(variant.id, {})
        if _code_known(known):
            found.setdefault(_program(variant, known), []).append(variant)
    return [tuple(group) for group in found.values() if len(group) > 1]


def are_duplicates(a: Variant, b: Variant, facts_a: Mapping[str, Fact], facts_b: Mapping[str, Fact]) -> bool:
    """Whether two variants are the same program; False where that is not known."""
    known = _code_known(facts_a) and _code_known(facts_b)
    return known and _program(a, facts_a) == _program(b, facts_b)


def _code_known(facts: Mapping[str, Fact]) -> bool:
    return "code" in facts and facts["code"].value is not None


def _program(variant: Variant, facts: Mapping[str, Fact]) -> tuple[object, ...]:
    launch = [facts[name].value if name in facts else None for name in _LAUNCH_FACTS]
    metadata = [repr(variant.metadata.get(name)) for name in _LAUNCH_METADATA]
    return (variant.kernel.name, variant.target, *launch, *metadata)
