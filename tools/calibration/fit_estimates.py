"""Fits the constants of time estimates to measured configs, and writes the file that irscope ships.

    python -m tools.calibration.fit_estimates CAPTURE... --measured FILE... --launches FILE... --output FILE
        [--held-out KERNEL...] [--configs 20]

Kernels under `--held-out` are left out, so that `pick_quality.py --only KERNEL...` can judge the fit on
kernels that it never saw. `--folds 5` also divides the kernels into five parts, fits once without each, and
prints how good the rankings of its kernels are, all of their configs, under that fit.
"""

from __future__ import annotations

import argparse
import datetime
import math
import random
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from irscope.estimating.calibrate import MeasuredLaunch, Measurements, calibrate
from irscope.estimating.constants import DEVICES, DeviceRates, Fit, write_fit
from irscope.estimating.model import term_times, total_time
from irscope.estimating.ranking import measuring_order
from irscope.estimating.work import work_of
from irscope.facts.artifacts import VariantArtifacts
from irscope.model import UserError
from tools.calibration.pick_quality import Spaces, Timed, quality, spaces

Row = tuple[Timed, MeasuredLaunch]


def kernel_of(row: Row) -> str:
    """Return the kernel of the space that a config belongs to."""
    space: Any = row[1].problem  # a key of Spaces
    name: str = space[0]
    return name


def measurements(judged: Spaces, device: DeviceRates, configs: int) -> list[Row]:
    """The configs of each space with their work, at most `configs` per space."""
    found = []
    for key, timed in judged.items():
        chosen = random.Random(1).sample(list(timed), min(configs, len(timed)))
        for one in chosen:
            artifacts = VariantArtifacts(one.variant, partial(one.workspace.contents.read, one.variant))
            try:
                work = work_of(artifacts, one.launch, device)
            except UserError as error:
                print(error)
                continue
            if not work.counts.unknown:
                found.append((one, MeasuredLaunch(work.numbers, one.ms, key)))
    return found


def efficiencies(rows: Sequence[Row], device: DeviceRates, fit: Fit) -> list[tuple[float, ...]]:
    """The efficiency of the ranking of each space with 0, 10 and 20 % measured."""
    columns = Measurements([own for _, own in rows])
    times = total_time(term_times(columns.numbers, device, fit.values), fit.values)
    found = []
    for problem in range(columns.problems):
        space = [rows[row][0] for row in np.flatnonzero(columns.problem == problem).tolist()]
        space_times = list(times[columns.problem == problem])
        order = measuring_order(space_times, [timed.variant.settings for timed in space])
        found.append(quality([space[position] for position in order]).efficiency)
    return found


def folds(judged: Spaces, fitted: Sequence[Row], device: DeviceRates, parts: int) -> list[tuple[float, ...]]:
    """The efficiencies of all spaces, each under a fit without the kernels of its part."""
    kernels = sorted({key[0] for key in judged})
    random.Random(5).shuffle(kernels)
    every = measurements(judged, device, sys.maxsize)
    found = []
    for part in range(parts):
        out = set(kernels[part::parts])
        others = Measurements([row[1] for row in fitted if kernel_of(row) not in out])
        without = calibrate(others, device, Fit(device.name), evaluations=1000)
        found += efficiencies([row for row in every if kernel_of(row) in out], device, without)
    return found


def _print(name: str, found: Sequence[tuple[float, ...]]) -> None:
    means = [math.exp(float(np.mean(np.log(column)))) for column in zip(*found, strict=True)]
    worst = min(row[1] for row in found)
    print(f"{name:<24}" + "".join(f"{mean:>8.3f}" for mean in means) + f"   worst at 10 %: {worst:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Fits the constants of time estimates to measured configs.")
    parser.add_argument("captures", nargs="+", type=Path)
    parser.add_argument("--measured", nargs="+", type=Path, required=True)
    parser.add_argument("--launches", nargs="*", type=Path, default=[])
    parser.add_argument("--device", choices=DEVICES, default="H100")
    parser.add_argument("--held-out", nargs="*", default=[], help="kernels to leave out")
    parser.add_argument("--folds", type=int, help="judge FOLDS parts of the kernels by fits to the others")
    parser.add_argument("--configs", type=int, default=20, help="configs of each space")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    device = DEVICES[options.device]
    every = spaces(options.captures, options.measured, options.launches)
    judged = {key: own for key, own in every.items() if key[0] not in options.held_out}
    rows = measurements(judged, device, options.configs)
    kernels = sorted({key[0] for key in judged})
    provenance = {
        "fitted": f"{len(rows):,} launches of {', '.join(kernels)}",
        "times": ", ".join(path.name for path in options.measured),
        "date": datetime.date.today().isoformat(),
    }
    fit = calibrate(Measurements([own for _, own in rows]), device, Fit(device.name), provenance)
    write_fit(fit, options.output)
    print(f"{len(rows):,} launches, median error {fit.provenance['error']}")
    _print("fitted to all", efficiencies(rows, device, fit))
    if options.folds:
        found = folds(judged, rows, device, options.folds)
        _print(f"{options.folds} folds by kernel", found)


if __name__ == "__main__":
    main()
