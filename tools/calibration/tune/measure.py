"""Measures how long each config of each kernel takes on a GPU: one JSON line per config and shape.

    python -m tools.calibration.tune.measure --output h100.jsonl [--only matmuls rows] [--seconds 540]

All kernels are compiled first, in processes side by side. Then each config is timed alone with
`triton.testing.do_bench` (`ms` is the median, `lo` and `hi` are the 10th and 90th percentiles), and all
configs of a shape once more in reverse order (`ms_again`). A line with `error` could not be compiled
or launched.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.calibration.tune.spaces import Config, Shape, Space

GROUPS = ("matmuls", "attentions", "rows", "streams")
# Kernels that were measured after the constants had been fitted.
TEST_GROUPS = ("others", "later", "moe")
_WARMUP, _REPEAT = 2, 10  # ms


def spaces(groups: Sequence[str]) -> list[Space]:
    """The spaces of the modules in this folder, in order."""
    return [
        space
        for group in groups
        for space in importlib.import_module(f"tools.calibration.tune.{group}").SPACES
    ]


def _compile(groups: Sequence[str], part: int, parts: int) -> int:
    """Compiles every `parts`-th config for each shape; returns the number of failures."""
    import torch

    failed = 0
    for space in spaces(groups):
        for shape in space.shapes:
            tensors = space.tensors(shape)
            for config in space.configs[part::parts]:
                try:
                    arguments, grid = space.launch(tensors, shape, config)
                    space.kernel.warmup(*arguments, **config, grid=grid)
                except Exception:  # noqa: BLE001, PERF203 - reported by the measurement
                    failed += 1
            del tensors
            torch.cuda.empty_cache()
    return failed


def _time(space: Space, tensors: Any, shape: Shape, config: Config) -> dict[str, Any]:
    import torch
    import triton

    try:
        arguments, grid = space.launch(tensors, shape, config)
        kernel = space.kernel[grid](*arguments, **config)
        torch.cuda.synchronize()
        median, low, high = triton.testing.do_bench(
            lambda: space.kernel[grid](*arguments, **config), _WARMUP, _REPEAT, quantiles=[0.5, 0.1, 0.9]
        )
    except Exception as error:  # noqa: BLE001 - too much shared memory, a compiler's failure
        return {"error": f"{type(error).__name__}: {str(error)[:160]}"}
    used = {"registers": kernel.n_regs, "spills": kernel.n_spills, "shared": kernel.metadata.shared}
    return {"ms": round(median, 5), "lo": round(low, 5), "hi": round(high, 5), **used, "grid": grid}


def _measure(space: Space, shape: Shape, deadline: float) -> list[dict[str, Any]]:
    tensors = space.tensors(shape)
    lines: list[dict[str, Any]] = []
    for config in space.configs:
        if time.monotonic() > deadline:
            return []
        key = {"kernel": space.name, "shape": shape, "config": config}
        lines.append(key | _time(space, tensors, shape, config))
    for line in reversed(lines):
        if "ms" in line:
            line["ms_again"] = _time(space, tensors, shape, line["config"]).get("ms")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures how long each config takes on a GPU.")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument(
        "--only", nargs="+", choices=GROUPS + TEST_GROUPS, default=GROUPS, help="groups of kernels"
    )
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after SECONDS")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    start = time.monotonic()
    os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp())
    parts = [(options.only, part, options.jobs) for part in range(options.jobs)]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        failed = sum(pool.starmap(_compile, parts))
    print(f"compiled in {time.monotonic() - start:.0f} s, {failed} failed", flush=True)

    import torch
    import triton

    device = torch.cuda.get_device_name(0)
    print(f"Triton {triton.__version__}, torch {torch.__version__}, {device}", flush=True)
    with options.output.open("w") as output:
        for space in spaces(options.only):
            for shape in space.shapes:
                lines = _measure(space, shape, start + options.seconds)
                for line in lines:
                    output.write(json.dumps(line) + "\n")
                output.flush()
                torch.cuda.empty_cache()
                if not lines:
                    sys.exit(f"out of time at {space.name} {shape}")
                times = [line["ms"] for line in lines if "ms" in line]
                bounds = f"{min(times):.4f} to {max(times):.4f} ms" if times else "none ran"
                print(f"{space.name} {shape}: {len(times)} of {len(lines)} configs, {bounds}", flush=True)


if __name__ == "__main__":
    main()
