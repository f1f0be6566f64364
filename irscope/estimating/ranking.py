"""Ranks the variants of one kernel for one problem: which to measure first, and which need no measurement.

The order in which to measure configs: each next one is the most likely to beat the best before it.

Estimates of similar configs err alike, so that measuring the neighbors of a config says little new. The
logarithm of time over estimate is taken as a Gaussian process over the configs, and each next config is the
one with the largest expected improvement (J. Mockus, 1975; D. Jones et al., "Efficient global optimization of
expensive black-box functions", 1998), from samples of that process with a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.constants import DeviceRates
from irscope.estimating.estimate import estimate
from irscope.estimating.terms import ATOMICS, SPILLS, Estimate
from irscope.facts.artifacts import VariantArtifacts
from irscope.facts.duplicates import LAUNCH_FACTS, duplicate_groups
from irscope.facts.fact import Facts, ReadStage
from irscope.facts.measure import measure
from irscope.facts.occupancy import launch_problem
from irscope.model import Launch, UserError, Variant
from irscope.model.records import frozen
from irscope.targets import in_words_of

# The typical error of an estimate (a factor of 1.1), the distance at which errors are unrelated (in
# doublings of a config's values), and the part of the error that configs do not share.
_ERROR = 0.1
_DISTANCE = 0.7
_OWN = 0.5
_SAMPLES = 400
# The number of configs to put in order, and of the fastest by estimate to choose from; the rest keep the
# order of their estimates.
_CHOSEN, _CONSIDERED = 48, 256
_MOST_KINDS = 16


def measuring_order(estimates: Sequence[float], settings: Sequence[Mapping[str, object]]) -> list[int]:
    """Return the indices of configs in the order to measure them.

    `estimates` are in microseconds, `settings` the values of each config. Equal estimates keep
    their order.
    """
    fastest = sorted(range(len(estimates)), key=lambda at: estimates[at])
    estimated = [at for at in fastest if math.isfinite(estimates[at]) and estimates[at] > 0]
    if len(estimated) < 3:
        return fastest
    considered = estimated[:_CONSIDERED]
    times = np.log([estimates[at] for at in considered])[None, :] + _errors(
        [settings[at] for at in considered]
    )
    chosen = [considered[at] for at in _greedy(np.exp(times - times.min()))]
    first = set(chosen)
    return chosen + [at for at in fastest if at not in first]


def expected_losses(
    estimates: Sequence[float], settings: Sequence[Mapping[str, object]], error: float = 1.0
) -> list[float]:
    """Return by how much the best of the first 1, 2, ... configs is slower than the best of all: 0.05 is 5 %.

    It is the mean over likely errors of the estimates. The configs are in the order to measure
    them; `error` is how many times larger than usual the errors may be.
    """
    known = [at for at, time in enumerate(estimates) if math.isfinite(time) and time > 0][:_CONSIDERED]
    if len(known) < 2:
        return [0.0] * len(known)
    errors = _errors([settings[at] for at in known]) * (error * _LOSS_ERROR / _ERROR)
    times = np.log([estimates[at] for at in known])[None, :] + errors
    best = np.minimum.accumulate(times, axis=1)
    losses: list[float] = np.expm1((best - best[:, -1:]).mean(axis=0)).tolist()
    return losses


def enough_measured(
    estimates: Sequence[float], settings: Sequence[Mapping[str, object]], error: float = 1.0
) -> int:
    """Return how many configs to measure so that the best of them is hardly slower than the best of all.

    They are at least four, if there are as many. The arguments are those of `expected_losses`.
    """
    losses = expected_losses(estimates, settings, error)
    enough = next((count for count, loss in enumerate(losses, 1) if loss <= _NEGLIGIBLE), len(losses))
    return max(enough, _FEWEST_MEASURED)


def doubts(estimate: Estimate) -> dict[str, float]:
    """Return why an estimate may be further off than usual, and how many times as far."""
    found = {}
    if estimate.depends:
        found[f"depends on the values of {', '.join(estimate.depends)}"] = 4.0
    if not estimate.complete:
        found["the work was not counted to its end"] = 4.0
    atomics = estimate.term(ATOMICS)
    if atomics is not None and atomics.microseconds >= _LARGE * estimate.microseconds:
        found["much of the time is that of atomics"] = 2.0
    if estimate.cache_risk >= _LARGE_RISK:
        found[f"L2 may lose what programs read again: then {estimate.cache_risk:.0%} longer"] = 3.0
    if any("taken as random" in note for note in estimate.notes):
        found["places in memory depend on values that are not known"] = 1.5
    if not _MEASURED_DEVICES.intersection(estimate.device.split()):
        found[f"the constants were fitted to an H100, not to {estimate.device}"] = 1.5
    return found


def confidence_text(estimate: Estimate, loss: float) -> str:
    """Say how sure a ranking is, in one line.

    `loss` is the expected loss of the best of the first tenth. The line names it, what makes the
    estimate of the first config doubtful, and the two largest terms of that.
    """
    largest = " and ".join(term.name for term in estimate.terms[:2])
    reasons = [*doubts(estimate)] or ["many estimates are close"] * (loss >= UNSURE)
    parts = (f"the best of a tenth is likely {loss:.0%} slower than the best", *reasons)
    return f"{'unsure' if loss >= UNSURE else 'sure'}: {'; '.join(parts)}; {largest} take longest"


def _greedy(times: NDArray[np.float64]) -> list[int]:
    """Choose the first column, then those that lower the expected minimum most, one by one."""
    chosen, best = [0], times[:, 0]
    left = np.arange(times.shape[1]) > 0
    for _ in range(min(_CHOSEN, times.shape[1]) - 1):
        expected = np.where(left, np.minimum(best[:, None], times).mean(axis=0), np.inf)
        column = int(expected.argmin())
        chosen.append(column)
        left[column] = False
        best = np.minimum(best, times[:, column])
    return chosen


def _errors(settings: Sequence[Mapping[str, object]]) -> NDArray[np.float64]:
    """Return samples of log(time / estimate), one row per sample."""
    points = _places(settings)
    squared = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    covariance = (1 - _OWN) * np.exp(-squared / (2 * _DISTANCE**2)) + _OWN * np.eye(len(points))
    root = np.linalg.cholesky(covariance + 1e-9 * np.eye(len(points)))
    draws = np.random.default_rng(0).standard_normal((_SAMPLES, len(points)))
    result: NDArray[np.float64] = _ERROR * (draws - draws.mean(axis=0)) @ root.T
    return result


def _places(settings: Sequence[Mapping[str, object]]) -> NDArray[np.float64]:
    """Return configs as points: numbers by their binary logarithm, other values by equality."""
    columns: list[list[float]] = []
    for name in dict.fromkeys(name for values_by_name in settings for name in values_by_name):
        values = [values_by_name.get(name) for values_by_name in settings]
        numbers = [value for value in values if isinstance(value, int | float) and value > 0]
        if len(numbers) == len(values) and not any(isinstance(value, bool) for value in values):
            columns.append([math.log2(number) for number in numbers])
        else:
            kinds = list(dict.fromkeys(map(str, values)))[:_MOST_KINDS]
            columns.extend([float(str(value) == kind) for value in values] for kind in kinds)
    return np.array(columns, np.float64).T if columns else np.zeros((len(settings), 1))


# The typical error of an estimate that decides what an order loses, and a large share of a time; by how much
# longer a launch takes with a smaller L2 if it depends on the size of that.
_LOSS_ERROR, _LARGE, _LARGE_RISK = 0.05, 0.2, 0.1
# The expected loss at which nothing more is measured, and that of a tenth at which a ranking is unsure.
_NEGLIGIBLE, UNSURE = 0.01, 0.05
_FEWEST_MEASURED = 4
_MEASURED_DEVICES = frozenset(("H100", "H200"))

# A variant with an estimate of this multiple of the fastest one is not worth measuring.
_HOPELESS = 3.0

# The kinds of rejections of variants that cannot be launched.
NOT_COMPILED, CANNOT_LAUNCH = "not compiled", "cannot launch"

ReadVariant = Callable[[Variant], ReadStage]


@frozen
class Ranked:
    """A variant with its launch, its estimate, and why it needs no measurement (None: it may be the best).

    `reason` is the kind of the rejection: "not compiled", "cannot launch", "duplicate", "dominated" or
    "spills"; "" if it is not rejected.
    """

    variant: Variant
    launch: Launch | None
    estimate: Estimate | None
    rejected: str | None
    reason: str


@frozen
class Ranking:
    """All variants of a problem: in the order to measure them, rejected ones last."""

    ranked: tuple[Ranked, ...]


def rank(
    variants: Sequence[Variant],
    launches: Launch | Mapping[int, Launch],
    read: ReadVariant,
    device: DeviceRates | None = None,
    estimates: Mapping[int, Estimate] | None = None,
) -> Ranking:
    """Rank `variants` in the order to measure them; the first has the lowest estimate.

    `launches` are by variant id, since the grid depends on the config, or one for all. `read`
    returns the stages of a variant. `estimates` are those that are known already, by variant id. A
    variant that cannot be estimated is ranked after those that can, and not rejected.
    """
    by_id = {v.id: launches if isinstance(launches, Launch) else launches.get(v.id) for v in variants}
    rejected = {v.id: reason for v in variants if (reason := why_not_launchable(v, read)) is not None}
    rejected |= _duplicates([v for v in variants if v.id not in rejected], by_id, read)
    by_variant: dict[int, Estimate] = dict(estimates or {})
    for variant in variants:
        launch = by_id[variant.id]
        if variant.id not in rejected and variant.id not in by_variant and launch is not None:
            try:
                by_variant[variant.id] = estimate(variant, launch, read(variant), device)
            except UserError:
                continue
    rejected |= _dominated(by_variant)
    ranked = sorted((_ranked(v, by_id, by_variant, rejected) for v in variants), key=_order)
    accepted = [candidate for candidate in ranked if candidate.rejected is None]
    times = [_time(candidate.estimate) for candidate in accepted]
    order = measuring_order(times, [candidate.variant.settings for candidate in accepted])
    return Ranking(
        (
            *(accepted[index] for index in order),
            *(candidate for candidate in ranked if candidate.rejected is not None),
        )
    )


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
    """Return the estimate in microseconds, or infinity if it is not known."""
    return estimate.microseconds if estimate is not None and estimate.complete else math.inf


def _dominated(estimates: Mapping[int, Estimate]) -> dict[int, tuple[str, str]]:
    """Find the variants that take too much longer than the fastest for an error of the model."""
    fastest = min(estimates, key=lambda at: _time(estimates[at]), default=None)
    if fastest is None or _time(estimates[fastest]) == math.inf:
        return {}
    best = estimates[fastest]
    dominated = {}
    for at, candidate in estimates.items():
        if candidate.microseconds <= _HOPELESS * best.microseconds:
            continue
        largest = candidate.terms[0]
        best_term = best.term(largest.name)
        against = best_term.microseconds if best_term else 0.0
        reason = "spills" if largest.name == SPILLS else "dominated"
        text = f"{largest.name} takes {largest.microseconds:,.0f} us, {against:,.0f} us in #{fastest}"
        dominated[at] = reason, f"{'spills' if reason == 'spills' else f'dominated by #{fastest}'}: {text}"
    return dominated


def why_not_launchable(variant: Variant, read: ReadVariant) -> tuple[str, str] | None:
    """Return the kind and the text of what prevents a launch; None if nothing does."""
    if variant.failure is not None:
        return NOT_COMPILED, f"not compiled: {variant.failure.summary}"
    problem = launch_problem(variant)
    if problem is not None:
        return CANNOT_LAUNCH, f"cannot launch: {problem}"
    resident = VariantArtifacts(variant, read(variant)).occupancy
    if resident is not None and not resident.blocks:
        problem = in_words_of(variant.target, "no block fits")
        return CANNOT_LAUNCH, f"cannot launch: {problem}, limited by {' and '.join(resident.limits)}"
    return None


def _stored(variant: Variant, read: ReadStage) -> ReadStage:
    """Read only the stages that are stored: no fact that ranking needs is worth a disassembly."""
    return lambda stage: read(stage) if stage in variant.artifacts else None


def _duplicates(
    variants: Sequence[Variant], launches: Mapping[int, Launch | None], read: ReadVariant
) -> dict[int, tuple[str, str]]:
    """Find the variants whose machine code and launch equal those of an earlier one."""
    facts: dict[int, Facts] = {v.id: measure(v, _stored(v, read(v)), LAUNCH_FACTS) for v in variants}
    duplicates: dict[int, tuple[str, str]] = {}
    for group in duplicate_groups(variants, facts):
        first: dict[Launch | None, Variant] = {}
        for variant in group:
            original = first.setdefault(launches[variant.id], variant)
            if original is not variant:
                duplicates[variant.id] = "duplicate", f"duplicate of #{original.id}"
    return duplicates
