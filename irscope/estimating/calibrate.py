"""Fits the constants of the model to measured times of a device.

A coordinate search (R. Hooke and T. A. Jeeves, "Direct search solution of numerical and statistical
problems", Journal of the ACM 8(2), 1961): each constant in turn is multiplied or divided by its step; steps
grow if that helps and shrink if not. A pull to the first values keeps constants in place about which the data
say nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.constants import CONSTANTS, Constants, DeviceRates, Fit
from irscope.estimating.model import Numbers, Values, term_times, total_time
from irscope.estimating.ranking import ReadVariant
from irscope.estimating.work import work_of
from irscope.facts.artifacts import VariantArtifacts
from irscope.model import Benchmark, Launch, UserError, Variant
from irscope.model.records import frozen

# Configs that are slow do not matter for the best: a config counts by how near to the best it is.
_PULL = 2e-4
_LARGEST_ERROR = 0.8
_SMALLEST_STEP = 0.01
_BIAS = 0.05


@frozen
class MeasuredLaunch:
    """A measured launch: the numbers of its work, the time in ms, and the problem that it is a config of."""

    numbers: Mapping[str, float]
    ms: float
    problem: Hashable


class Measurements:
    """Measured launches as columns. Raises UserError if there are fewer than three."""

    def __init__(self, measured: Sequence[MeasuredLaunch]) -> None:
        if len(measured) < 3:
            raise UserError(
                f"{len(measured)} measured launches are too few to calibrate; measure more configs"
            )
        names = sorted({name for measurement in measured for name in measurement.numbers})
        self.numbers: Numbers = {
            name: np.array([measurement.numbers.get(name, 0.0) for measurement in measured]) for name in names
        }
        self.microseconds = np.array([measurement.ms * 1e3 for measurement in measured])
        problems = {
            problem: index
            for index, problem in enumerate(dict.fromkeys(measurement.problem for measurement in measured))
        }
        self.problem: NDArray[np.int64] = np.array(
            [problems[measurement.problem] for measurement in measured]
        )
        self.problems = len(problems)
        best = np.full(self.problems, np.inf)
        np.minimum.at(best, self.problem, self.microseconds)
        weight = best[self.problem] / self.microseconds
        self.weight: Values = weight / self._sums(weight)[self.problem]

    def _sums(self, values: Values) -> Values:
        sums = np.zeros(self.problems)
        np.add.at(sums, self.problem, values)
        return sums

    def errors(self, device: DeviceRates, constants: Constants) -> Values:
        """Return the loss of each problem: the spread of log(estimate / time), and a little of its mean."""
        estimates = total_time(term_times(self.numbers, device, constants), constants)
        ratio = np.log(estimates / self.microseconds)
        mean = self._sums(self.weight * ratio)
        away = np.abs(ratio - mean[self.problem])
        spread = self._sums(self.weight * np.minimum(away * away, away * _LARGEST_ERROR))
        result: Values = spread + _BIAS * mean * mean
        return result

    def loss(self, device: DeviceRates, constants: Constants, start: Constants) -> float:
        """Return the loss that a fit minimizes.

        It is the mean error, plus a penalty for constants far from `start`.
        """
        moved = [_distance(constants[constant.name], start[constant.name]) for constant in CONSTANTS]
        return float(self.errors(device, constants).mean() + _PULL * sum(move * move for move in moved))


def _distance(value: float, start: float) -> float:
    return math.log((value + 0.01) / (start + 0.01))


def calibrate(
    measured: Measurements,
    device: DeviceRates,
    start: Fit,
    provenance: Mapping[str, str] | None = None,
    evaluations: int = 3000,
) -> Fit:
    """Fit the constants that explain the measurements best, near `start`."""
    values = dict(start.values)
    steps = {constant.name: 0.25 for constant in CONSTANTS}
    loss, used = measured.loss(device, values, start.values), 0
    while used < evaluations and max(steps.values()) > _SMALLEST_STEP:
        for constant in CONSTANTS:
            for sign in (1, -1):
                moved = (
                    values[constant.name] * math.exp(sign * steps[constant.name])
                    if constant.low > 0
                    else (
                        values[constant.name]
                        + sign * steps[constant.name] * (constant.high - constant.low) / 3
                    )
                )
                tried = values | {constant.name: min(constant.high, max(constant.low, moved))}
                new_loss, used = measured.loss(device, tried, start.values), used + 1
                if new_loss < loss:
                    values, loss = tried, new_loss
                    steps[constant.name] *= 1.3
                    break
            else:
                steps[constant.name] /= 2
    return Fit(
        device.name, values, dict(provenance or {}) | {"error": f"{_error(measured, device, values):.1%}"}
    )


def _error(measured: Measurements, device: DeviceRates, values: Constants) -> float:
    """Return the typical deviation of estimates from times."""
    estimates = total_time(term_times(measured.numbers, device, values), values)
    return float(np.expm1(np.median(np.abs(np.log(estimates / measured.microseconds)))))


def measurements_of(
    variants: Sequence[Variant], read: ReadVariant, device: DeviceRates
) -> list[MeasuredLaunch]:
    """Return the measurements of a capture: autotuner benchmarks of variants with a launch to match."""
    measurements = []
    for variant in variants:
        for benchmark in variant.benchmarks:
            launch = _launch_of(variant, benchmark)
            if launch is None or not 0 < benchmark.ms < math.inf:
                continue
            try:
                work = work_of(VariantArtifacts(variant, read(variant)), launch, device)
            except UserError:
                continue
            problem = (variant.kernel.name, benchmark.key, str(variant.target))
            measurements.append(MeasuredLaunch(work.numbers, benchmark.ms, problem))
    return measurements


def _launch_of(variant: Variant, benchmark: Benchmark) -> Launch | None:
    """Find the launch that a benchmark timed: its arguments have the values of the tuning key."""
    key = dict(re.findall(r"(\w+)=([^,]+)", benchmark.key))
    for launch in variant.launches:
        arguments = dict(launch.arguments)
        if all(arguments.get(name, value) == value for name, value in key.items()):
            return launch
    return None
