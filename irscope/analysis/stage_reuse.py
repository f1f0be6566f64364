"""What a sweep saved by compiling equal TTGIR once below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irscope.analysis.duplicates import duplicate_groups
from irscope.facts.fact import Fact
from irscope.facts.measurement import reused_stages
from irscope.model import Variant


@dataclass(frozen=True, slots=True)
class Sharing:
    """The variants (by id) that took their stages below TTGIR from another one of the same sweep.

    `seconds` is what these stages took where they were made, for each variant that took them: an
    estimate of what was saved. None where that is not known for all.
    """

    variants: tuple[int, ...]
    seconds: float | None


def sharing(variants: Sequence[Variant], facts: Mapping[int, Mapping[str, Fact]]) -> Sharing:
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
    return Sharing(tuple(saved), sum(known) if known and len(known) == len(saved) else None)


def _cost(stages: Sequence[str], group: Sequence[Variant]) -> float | None:
    """The seconds that these stages took in the first of the group that made them all."""
    for variant in group:
        if all(stage in variant.seconds for stage in stages):
            return sum(variant.seconds[stage] for stage in stages)
    return None
