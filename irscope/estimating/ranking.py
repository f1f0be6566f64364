"""Ranks the variants of one kernel for one problem: which to measure first, and which need no measurement."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from irscope.analysis.duplicates import duplicate_groups
from irscope.backends import in_words_of
from irscope.estimating.device_rates import DeviceRates
from irscope.estimating.estimate import Estimate, estimate
from irscope.estimating.measuring_order import measuring_order
from irscope.estimating.terms import SPILLS
from irscope.facts.artifacts import VariantArtifacts
from irscope.facts.fact import Facts, ReadStage
from irscope.facts.measure import measure
from irscope.facts.occupancy import launch_problem
from irscope.model import Launch, UserError, Variant

# A variant with an estimate of this multiple of the fastest one is not worth measuring.
_HOPELESS = 3.0

ReadVariant = Callable[[Variant], ReadStage]


@dataclass(frozen=True)
class Ranked:
    """A variant with its launch, its estimate, and why it needs no measurement (None: it may be the best).

    `reason` is the kind of the rejection: "not compiled", "cannot launch", "duplicate", "dominated" or
    "spills"; "" if it is not rejected.
    """

    variant: Variant
    launch: Launch | None
    estimate: Estimate | None
    rejected: str | None = None
    reason: str = ""


@dataclass(frozen=True)
class Ranking:
    """All variants of a problem: in the order to measure them, rejected ones last."""

    ranked: tuple[Ranked, ...]

    @property
    def accepted(self) -> tuple[Ranked, ...]:
        """The variants worth measuring, best first."""
        return tuple(own for own in self.ranked if own.rejected is None)

    def top(self, number: int) -> tuple[Ranked, ...]:
        """The variants to measure if there is time for `number` of them."""
        return self.accepted[:number]


def rank(
    variants: Sequence[Variant],
    launches: Launch | Mapping[int, Launch],
    read: ReadVariant,
    device: DeviceRates | None = None,
    estimates: Mapping[int, Estimate] | None = None,
) -> Ranking:
    """Ranks `variants` in the order to measure them; the first has the lowest estimate.

    `launches` are by variant id, since the grid depends on the config, or one for all. `read` returns the
    stages of a variant. `estimates` are those that are known already, by variant id. A variant that cannot
    be estimated is ranked after those that can, and not rejected.
    """
    by_id = {v.id: launches if isinstance(launches, Launch) else launches.get(v.id) for v in variants}
    rejected = {v.id: reason for v in variants if (reason := _unlaunchable(v, read)) is not None}
    rejected |= _duplicates([v for v in variants if v.id not in rejected], by_id, read)
    found: dict[int, Estimate] = dict(estimates or {})
    for variant in variants:
        launch = by_id[variant.id]
        if variant.id not in rejected and variant.id not in found and launch is not None:
            try:
                found[variant.id] = estimate(variant, launch, read(variant), device)
            except UserError:
                continue
    rejected |= _dominated(found)
    ranked = sorted((_ranked(v, by_id, found, rejected) for v in variants), key=_order)
    accepted = [own for own in ranked if own.rejected is None]
    times = [_time(own.estimate) for own in accepted]
    order = measuring_order(times, [own.variant.settings for own in accepted])
    return Ranking((*(accepted[at] for at in order), *(own for own in ranked if own.rejected is not None)))


def _ranked(
    variant: Variant,
    launches: Mapping[int, Launch | None],
    estimates: Mapping[int, Estimate],
    rejected: Mapping[int, tuple[str, str]],
) -> Ranked:
    reason, text = rejected.get(variant.id, ("", None))
    return Ranked(variant, launches[variant.id], estimates.get(variant.id), text, reason)


def _order(ranked: Ranked) -> tuple[bool, float, int]:
    return ranked.rejected is not None, _time(ranked.estimate), ranked.variant.id


def _time(estimate: Estimate | None) -> float:
    """The estimate in microseconds; infinite if it is not known."""
    return estimate.microseconds if estimate is not None and estimate.complete else math.inf


def _dominated(estimates: Mapping[int, Estimate]) -> dict[int, tuple[str, str]]:
    """The variants that take so much longer than the fastest that no error of the model explains it."""
    fastest = min(estimates, key=lambda at: _time(estimates[at]), default=None)
    if fastest is None or _time(estimates[fastest]) == math.inf:
        return {}
    best = estimates[fastest]
    found = {}
    for at, own in estimates.items():
        if own.microseconds <= _HOPELESS * best.microseconds:
            continue
        largest = own.terms[0]
        other = best.term(largest.name)
        against = other.microseconds if other else 0.0
        reason = "spills" if largest.name == SPILLS else "dominated"
        text = f"{largest.name} takes {largest.microseconds:,.0f} us, {against:,.0f} us in #{fastest}"
        found[at] = reason, f"{'spills' if reason == 'spills' else f'dominated by #{fastest}'}: {text}"
    return found


def _unlaunchable(variant: Variant, read: ReadVariant) -> tuple[str, str] | None:
    if variant.failure is not None:
        return "not compiled", f"not compiled: {variant.failure.summary}"
    problem = launch_problem(variant)
    if problem is not None:
        return "cannot launch", f"cannot launch: {problem}"
    resident = VariantArtifacts(variant, read(variant)).occupancy
    if resident is not None and not resident.blocks:
        problem = in_words_of(variant.target, "no block fits")
        return "cannot launch", f"cannot launch: {problem}, limited by {' and '.join(resident.limits)}"
    return None


def _stored(variant: Variant, read: ReadStage) -> ReadStage:
    """Reads the stages that are stored: no fact that ranking needs is worth a disassembly."""
    return lambda stage: read(stage) if stage in variant.artifacts else None


def _duplicates(
    variants: Sequence[Variant], launches: Mapping[int, Launch | None], read: ReadVariant
) -> dict[int, tuple[str, str]]:
    """The variants whose machine code and launch equal those of an earlier one."""
    facts: dict[int, Facts] = {v.id: measure(v, _stored(v, read(v))) for v in variants}
    found: dict[int, tuple[str, str]] = {}
    for group in duplicate_groups(variants, facts):
        first: dict[Launch | None, Variant] = {}
        for variant in group:
            original = first.setdefault(launches[variant.id], variant)
            if original is not variant:
                found[variant.id] = "duplicate", f"duplicate of #{original.id}"
    return found
