"""Fitting the constants of the model behind estimates to the times that a user's captures have."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.model import UserError
from irscope.model.text import pluralize

if TYPE_CHECKING:
    from irscope.estimating.calibrate import Measurement, Measurements
    from irscope.estimating.constants import Fit
    from irscope.estimating.device_rates import DeviceRates


@dataclass(frozen=True, slots=True)
class CalibratedConstant:
    """A constant of the model before and after a calibration."""

    name: str
    unit: str
    meaning: str
    before: float
    after: float


@dataclass(frozen=True)
class Calibration:
    """The constants of a device, fitted to measured launches, and the file that has them.

    `error_before` and `error_after` are the typical deviation of estimates from measurements: 0.1 is 10 %.
    """

    device: str
    launches: int
    problems: int
    constants: tuple[CalibratedConstant, ...]
    error_before: float
    error_after: float
    path: Path


def calibrate_captures(
    paths: Sequence[Path], output: Path | None = None, device: str | None = None, force: bool = False
) -> Calibration:
    """Fits the constants of a device to the times in captures, and writes them.

    `device` is the name of a device (None: that of the captures' target). Without `output`, the file is the
    user's own, which estimates use from then on. Raises UserError if the captures have too few times, if they
    are of several targets, or if `output` exists (unless `force`).
    """
    from irscope.estimating.calibrate import Measurements, calibrate
    from irscope.estimating.constants import CONSTANTS, fit_of, user_path, write_fit

    if output is not None and output.exists() and not force:
        raise UserError(f"{output} exists; --force replaces it")
    found, rates = _measurements(paths, device)
    if not found:
        raise UserError(
            f"{', '.join(map(str, paths))}: no measured launches; irscope run on a GPU records what an "
            "autotuner measures"
        )
    measured = Measurements(found)
    before = fit_of(rates)
    kernels = ", ".join(sorted({_kernel(one) for one in found}))
    provenance = {
        "fitted": f"{pluralize(len(found), 'launch')} of {kernels}",
        "captures": ", ".join(path.name for path in paths),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
    }
    after = calibrate(measured, rates, before, provenance)
    path = output or user_path(rates.name)
    write_fit(after, path)
    constants = tuple(
        CalibratedConstant(one.name, one.unit, one.meaning, before.values[one.name], after.values[one.name])
        for one in CONSTANTS
    )
    first, last = (_error(measured, rates, fit.values) for fit in (before, after))
    return Calibration(rates.name, len(found), measured.problems, constants, first, last, path)


def device_named(text: str) -> tuple[DeviceRates, Fit | None]:
    """A device by its name, or by a file that a calibration wrote. Raises UserError if there is neither."""
    from irscope.estimating.constants import read_fit
    from irscope.estimating.device_rates import DEVICES

    path = Path(text)
    fit = read_fit(path) if path.suffix == ".json" or path.is_file() else None
    wanted = (fit.device if fit else text).lower()
    for name, rates in DEVICES.items():
        if wanted in (name.lower(), rates.name.lower()):
            return rates, fit
    raise UserError(f"no device '{fit.device if fit else text}'; known: {', '.join(DEVICES)}")


def _measurements(paths: Sequence[Path], device: str | None) -> tuple[list[Measurement], DeviceRates]:
    from irscope.estimating.calibrate import measurements_of
    from irscope.estimating.device_rates import rates_of
    from irscope.workspace.workspace import Workspace

    found: list[Measurement] = []
    rates = device_named(device)[0] if device else None
    for path in paths:
        with Workspace(path) as workspace:
            timed = [variant for variant in workspace.variants if variant.benchmarks]
            for variant in timed:
                own = rates_of(variant.target)
                rates = rates or own
                if own is None or rates is None or (device is None and own != rates):
                    raise UserError(
                        f"{path}: #{variant.id} was measured on {variant.target}; calibrate one device at a "
                        "time, --device says which"
                    )
            read = partial(partial, workspace.find_content)
            found += measurements_of(timed, read, rates) if rates else []
    if rates is None:
        raise UserError(f"{', '.join(map(str, paths))}: nothing was measured")
    return found, rates


def _kernel(one: Measurement) -> str:
    return str(one.problem[0]) if isinstance(one.problem, tuple) else str(one.problem)


def _error(measured: Measurements, device: DeviceRates, values: Mapping[str, float]) -> float:
    """The median deviation of estimates from times."""
    import numpy as np

    from irscope.estimating.model import term_times, total_time

    estimates = total_time(term_times(measured.numbers, device, values), values)
    return float(np.expm1(np.median(np.abs(np.log(estimates / measured.microseconds)))))
