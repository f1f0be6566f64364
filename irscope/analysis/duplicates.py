"""Variants that are the same program: equal machine code, launched in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irscope.facts.fact import Facts, value_of
from irscope.facts.measurement import reused_stages
from irscope.facts.registry import CODE, REGISTERS, SHARED, STACK, THREADS
from irscope.model import Variant

# Facts and metadata that a launch depends on beside the code.
_LAUNCH_FACTS = (CODE, REGISTERS, STACK, SHARED, THREADS)
_LAUNCH_METADATA = ("num_ctas", "cluster_dims", "launch_cooperative_grid", "launch_pdl", "tmem_size")


def duplicate_groups(variants: Sequence[Variant], facts: Mapping[int, Facts]) -> list[tuple[Variant, ...]]:
    """The groups of two or more `variants` that are the same program, in order; `facts` by variant id.

    Variants of one group have one kernel, target, machine code and launch, so autotune measures the same
    thing for each. A variant whose code is not known is in no group.
    """
    found: dict[tuple[object, ...], list[Variant]] = {}
    for variant in variants:
        known = facts.get(variant.id, {})
        if value_of(known, CODE) is not None:
            found.setdefault(_program(variant, known), []).append(variant)
    return [tuple(group) for group in found.values() if len(group) > 1]


def are_duplicates(a: Variant, b: Variant, facts_a: Facts, facts_b: Facts) -> bool:
    """Whether two variants are the same program; False where that is not known."""
    known = value_of(facts_a, CODE) is not None and value_of(facts_b, CODE) is not None
    return known and _program(a, facts_a) == _program(b, facts_b)


def _program(variant: Variant, facts: Facts) -> tuple[object, ...]:
    launch = [value_of(facts, kind) for kind in _LAUNCH_FACTS]
    metadata = [repr(variant.metadata.get(name)) for name in _LAUNCH_METADATA]
    return (variant.kernel.name, variant.target, *launch, *metadata)


@dataclass(frozen=True, slots=True)
class StageReuse:
    """The variants (by id) that took their stages below TTGIR from another one of the same sweep.

    `seconds` is what these stages took where they were made, for each variant that took them: an
    estimate of what was saved. None where that is not known for all.
    """

    variants: tuple[int, ...]
    seconds: float | None


def stage_reuse(variants: Sequence[Variant], facts: Mapping[int, Facts]) -> StageReuse:
    """What of `variants` was shared; `facts` by variant id.

    A stage that was taken from another variant has no time of its own. What came from Triton's cache
    was not compiled in this sweep and saved nothing in it.
    """
    saved: dict[int, float | None] = {}
    for group in duplicate_groups(variants, facts):
        made = [variant for variant in group if not variant.cached]
        for variant in made:
            if taken := reused_stages(variant):
                saved[variant.id] = _cost(taken, made)
    known = [seconds for seconds in saved.values() if seconds is not None]
    return StageReuse(tuple(saved), sum(known) if known and len(known) == len(saved) else None)


def _cost(stages: Sequence[str], group: Sequence[Variant]) -> float | None:
    """The seconds that these stages took in the first of the group that made them all."""
    for variant in group:
        if all(stage in variant.seconds for stage in stages):
            return sum(variant.seconds[stage] for stage in stages)
    return None
