"""Duplicates, which have the same machine code and launch, and the stages that they share in a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irscope.facts.fact import Facts, columns_of, value_of
from irscope.facts.registry import CODE, REGISTERS, SHARED, STACK, THREADS, reused_stages
from irscope.model import Variant
from irscope.model.records import frozen

# Facts that a launch depends on, next to `Variant.launch_metadata`.
LAUNCH_FACTS = (CODE, REGISTERS, STACK, SHARED, THREADS)


def duplicate_groups(variants: Sequence[Variant], facts: Mapping[int, Facts]) -> list[tuple[Variant, ...]]:
    """Return the groups of two or more duplicates among `variants`, in order; `facts` by variant id.

    The variants of a group have the same kernel, target, machine code and launch, so benchmarking
    more than one is redundant. A variant whose machine code is unknown is in no group.
    """
    by_identity: dict[tuple[object, ...], list[Variant]] = {}
    fact_rows = [facts.get(variant.id, {}) for variant in variants]
    columns = columns_of(fact_rows, [kind.name for kind in LAUNCH_FACTS])
    for variant, (code, *launch) in zip(variants, zip(*columns, strict=True), strict=True):
        if code is not None:
            identity = (variant.kernel.name, variant.target, code, *launch, *variant.launch_metadata)
            by_identity.setdefault(identity, []).append(variant)
    return [tuple(group) for group in by_identity.values() if len(group) > 1]


def are_duplicates(a: Variant, b: Variant, facts_a: Facts, facts_b: Facts) -> bool:
    """Check whether two variants are duplicates, whatever their kernels are called.

    Returns False if that is unknown.
    """
    both_known = value_of(facts_a, CODE) is not None and value_of(facts_b, CODE) is not None
    return both_known and _launched_code(a, facts_a) == _launched_code(b, facts_b)


def _launched_code(variant: Variant, facts: Facts) -> tuple[object, ...]:
    launch = [value_of(facts, kind) for kind in LAUNCH_FACTS]
    return (variant.target, *launch, *variant.launch_metadata)


@frozen
class StageReuse:
    """The variants (by id) that reused the stages below TTGIR of another variant of the same sweep.

    `seconds` estimates the time saved: what these stages took in the other variant. None if that is
    unknown for any of them.
    """

    variants: tuple[int, ...]
    seconds: float | None


def stage_reuse(variants: Sequence[Variant], facts: Mapping[int, Facts]) -> StageReuse:
    """Find the variants that reused stages; `facts` by variant id.

    A reused stage has no compile time. A variant from Triton's cache was not compiled in this
    sweep and is not counted.
    """
    saved: dict[int, float | None] = {}
    for group in duplicate_groups(variants, facts):
        compiled = [variant for variant in group if not variant.cached]
        for variant in compiled:
            if reused := reused_stages(variant):
                saved[variant.id] = _cost(reused, compiled)
    known_seconds = [seconds for seconds in saved.values() if seconds is not None]
    return StageReuse(
        tuple(saved), sum(known_seconds) if known_seconds and len(known_seconds) == len(saved) else None
    )


def _cost(stages: Sequence[str], group: Sequence[Variant]) -> float | None:
    """Return the seconds that these stages took in the first variant that compiled them all."""
    for variant in group:
        if all(stage in variant.seconds for stage in stages):
            return sum(variant.seconds[stage] for stage in stages)
    return None
