"""The order in which to measure configs: each next one is the most likely to beat the best before it.

Estimates of similar configs err alike, so that measuring the neighbors of a config says little new. The
logarithm of time over estimate is taken as a Gaussian process over the configs, and each next config is the
one with the largest expected improvement (J. Mockus, 1975; D. Jones et al., "Efficient global optimization of
expensive black-box functions", 1998), from samples of that process with a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

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
    """The indices of configs in the order to measure them.

    `estimates` are in microseconds, `settings` the values of each config. Equal estimates keep their order.
    """
    fastest = sorted(range(len(estimates)), key=lambda at: estimates[at])
    known = [at for at in fastest if math.isfinite(estimates[at]) and estimates[at] > 0]
    if len(known) < 3:
        return fastest
    considered = known[:_CONSIDERED]
    times = np.log([estimates[at] for at in considered])[None, :] + _errors(
        [settings[at] for at in considered]
    )
    chosen = [considered[at] for at in _greedy(np.exp(times - times.min()))]
    first = set(chosen)
    return chosen + [at for at in fastest if at not in first]


def _greedy(times: NDArray[np.float64]) -> list[int]:
    """The first column, then those that lower the expected minimum most, one by one."""
    chosen, best = [0], times[:, 0]
    left = np.arange(times.shape[1]) > 0
    for _ in range(min(_CHOSEN, times.shape[1]) - 1):
        expected = np.where(left, np.minimum(best[:, None], times).mean(axis=0), np.inf)
        at = int(expected.argmin())
        chosen.append(at)
        left[at] = False
        best = np.minimum(best, times[:, at])
    return chosen


def _errors(settings: Sequence[Mapping[str, object]]) -> NDArray[np.float64]:
    """Samples of log(time / estimate), one row per sample."""
    places = _places(settings)
    squared = ((places[:, None, :] - places[None, :, :]) ** 2).sum(axis=2)
    covariance = (1 - _OWN) * np.exp(-squared / (2 * _DISTANCE**2)) + _OWN * np.eye(len(places))
    root = np.linalg.cholesky(covariance + 1e-9 * np.eye(len(places)))
    draws = np.random.default_rng(0).standard_normal((_SAMPLES, len(places)))
    result: NDArray[np.float64] = _ERROR * (draws - draws.mean(axis=0)) @ root.T
    return result


def _places(settings: Sequence[Mapping[str, object]]) -> NDArray[np.float64]:
    """Configs as points: numbers by their binary logarithm, other values by whether they are equal."""
    columns: list[list[float]] = []
    for name in dict.fromkeys(name for own in settings for name in own):
        values = [own.get(name) for own in settings]
        numbers = [value for value in values if isinstance(value, int | float) and value > 0]
        if len(numbers) == len(values) and not any(isinstance(value, bool) for value in values):
            columns.append([math.log2(number) for number in numbers])
        else:
            kinds = list(dict.fromkeys(map(str, values)))[:_MOST_KINDS]
            columns.extend([float(str(value) == kind) for value in values] for kind in kinds)
    return np.array(columns, np.float64).T if columns else np.zeros((len(settings), 1))
