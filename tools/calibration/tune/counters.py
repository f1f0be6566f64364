"""Profiles some configs of each kernel with Nsight Compute: one JSON line per launch with all its metrics.

    python -m tools.calibration.tune.counters --times h100.jsonl.gz --output counters.jsonl [--configs 8]

The configs are spread over the measured times of the kernel's first shape, fastest and slowest included. The
program starts itself under `ncu`, which must be on the path and may need administrator rights. Clocks are not
locked, so that times are comparable with those of `measure`.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.calibration.tune.measure import GROUPS, spaces
from tools.calibration.tune.spaces import Space, read_lines

_SECTIONS = (
    "SpeedOfLight", "ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis", "MemoryWorkloadAnalysis_Tables",
    "SchedulerStats", "WarpStateStats", "InstructionStats", "LaunchStats", "Occupancy",
)  # fmt: skip
# The metrics to keep: totals, averages per SM as a share of the peak, stalls per instruction, the launch.
_KEPT = re.compile(
    r".*(\.sum|\.ratio|\.avg\.pct_of_peak_sustained_elapsed|\.avg\.per_cycle_active)|launch__.*"
)
# The compiler needs minutes for one config.
_SKIPPED = ("sort_rows",)


def chosen(times: Path, count: int) -> list[tuple[Space, dict[str, Any]]]:
    """`count` measured configs of each kernel's first shape, spread over their times."""
    measured = read_lines(times)
    found = []
    for space in spaces(GROUPS):
        if space.name in _SKIPPED:
            continue
        shape = list(space.shapes[0])
        lines = [m for m in measured if m["kernel"] == space.name and m["shape"] == shape and "ms" in m]
        lines.sort(key=lambda line: line["ms"])
        places = sorted({round(at * (len(lines) - 1) / (count - 1)) for at in range(count)})
        found += [(space, lines[place]) for place in places]
    return found


def _launch(launches: Sequence[tuple[Space, dict[str, Any]]], *, run: bool) -> None:
    """Launches, or only compiles, each config once."""
    import torch

    before, tensors = None, None
    for space, line in launches:
        shape = tuple(line["shape"])
        if space is not before:
            del tensors
            torch.cuda.empty_cache()
            before, tensors = space, space.tensors(shape)
        arguments, grid = space.launch(tensors, shape, line["config"])
        if run:
            space.kernel[grid](*arguments, **line["config"])
            torch.cuda.synchronize()
        else:
            space.kernel.warmup(*arguments, **line["config"], grid=grid)


def _compile(options: argparse.Namespace, part: int) -> None:
    _launch(chosen(options.times, options.configs)[part :: options.jobs], run=False)


def _kept(row: Mapping[str, str]) -> dict[str, Any]:
    """The name of the kernel, and the metrics to keep that are not 0."""
    values = {name: _number(text) for name, text in row.items() if _KEPT.fullmatch(name)}
    return {"Kernel Name": row["Kernel Name"]} | {name: value for name, value in values.items() if value}


def _number(text: str) -> float | None:
    try:
        return float(f"{float(text.replace(',', '')):.6g}")
    except ValueError:
        return None


def _profile(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The metrics of each launch, in order."""
    names = "|".join(sorted({re.escape(space.kernel.__name__) for space in spaces(GROUPS)}))
    sections = [word for section in _SECTIONS for word in ("--section", section)]
    child = [sys.executable, "-m", "tools.calibration.tune.counters", *sys.argv[1:], "--launch"]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        command = [
            "ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
            "--kernel-name", f"regex:^({names})$", "--log-file", str(log), *sections,
        ]  # fmt: skip
        done = subprocess.run([*command, *child], check=False)
        text = log.read_text() if log.exists() else ""
    at = text.find('"ID"')
    if done.returncode or at < 0:
        sys.exit(f"ncu ended with {done.returncode}:\n{text[-2000:]}")
    rows = list(csv.DictReader(io.StringIO(text[at:])))
    # The first row has the units.
    return [_kept(row) for row in rows[1:]]


def main() -> None:
    parser = argparse.ArgumentParser(description="Profiles some configs of each kernel with Nsight Compute.")
    parser.add_argument("--times", type=Path, required=True, help="what tools.calibration.tune.measure wrote")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--configs", type=int, default=8, help="configs per kernel")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--launch", action="store_true", help="only launch: the part that runs under ncu")
    options = parser.parse_args()
    if options.launch:
        _launch(chosen(options.times, options.configs), run=True)
        return
    os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp())
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        pool.starmap(_compile, [(options, part) for part in range(options.jobs)])
    launches = chosen(options.times, options.configs)
    profiles = _profile(options)
    print(f"{len(profiles)} of {len(launches)} launches profiled")
    with options.output.open("w") as output:
        for (space, line), metrics in zip(launches, profiles, strict=True):
            if (profiled := metrics.pop("Kernel Name")) != space.kernel.__name__:
                sys.exit(f"{space.name}: the profile is of {profiled}")
            key = {name: line[name] for name in ("kernel", "shape", "config", "ms")}
            output.write(json.dumps(key | {"metrics": metrics}) + "\n")


if __name__ == "__main__":
    main()
