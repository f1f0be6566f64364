"""Launches every config of each kernel once, at each shape: the program to capture.

    irscope run -o tune.irscope tools/calibration/tune/launches.py [--only matmuls rows] [--configs 4]
    python tools/calibration/tune/launches.py --list launches.jsonl.gz

With `--target cuda:90` it needs no GPU. A config that cannot be compiled or launched is reported and left.
A capture has the first launch of each variant. `--list` launches nothing and writes the launches at all
shapes, as the capture describes them, for `tools/calibration/pick_quality.py`; it needs no GPU either.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from tools.calibration.tune.measure import GROUPS, TEST_GROUPS, spaces
from tools.calibration.tune.spaces import Config, Shape, Space, without_data


def listed(space: Space) -> Iterator[dict[str, Any]]:
    """The launches of a space, of tensors without data."""
    with without_data():
        for shape in space.shapes:
            tensors = space.tensors(shape)
            for config in space.configs:
                yield listed_launch(space, tensors, shape, config)


def listed_launch(space: Space, tensors: Any, shape: Shape, config: Config) -> dict[str, Any]:
    """One launch: the space, shape and config of a measurement, the function's name, grid and arguments."""
    from irscope.recording.launch_records import described

    given, grid = space.launch(tensors, shape, config)
    names = [parameter.name for parameter in space.kernel.params if not parameter.is_constexpr]
    arguments = [(name, described(value)) for name, value in zip(names, given, strict=False)]
    key = {"kernel": space.name, "shape": shape, "config": config}
    return key | {"function": space.kernel.__name__, "grid": grid, "arguments": arguments}


def _launch(space: Space, limit: int | None) -> None:
    failed = 0
    for shape in space.shapes:
        tensors = space.tensors(shape)
        for config in space.configs[:limit]:
            try:
                arguments, grid = space.launch(tensors, shape, config)
                space.kernel[grid](*arguments, **config)
            except Exception as error:  # noqa: BLE001, PERF203 - too much shared memory, a compiler's failure
                failed += 1
                if failed == 1:
                    print(f"{space.name}: {type(error).__name__}: {str(error)[:160]}")
    print(f"{space.name}: {len(space.shapes)} shapes, {failed} launches failed", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Launches every config of each kernel once, at each shape.")
    parser.add_argument("--only", nargs="+", default=GROUPS, help="groups of kernels, or kernels")
    parser.add_argument("--configs", type=int, help="only the first CONFIGS configs of each kernel")
    parser.add_argument("--list", type=Path, help="write the launches to this file instead of launching")
    options = parser.parse_args()
    groups = [name for name in options.only if name in GROUPS + TEST_GROUPS] or GROUPS + TEST_GROUPS
    kernels = [name for name in options.only if name not in GROUPS + TEST_GROUPS]
    chosen = [space for space in spaces(groups) if not kernels or space.name in kernels]
    if options.list:
        lines = (json.dumps(line) for space in chosen for line in listed(space))
        with gzip.open(options.list, "wt") as output:
            output.writelines(f"{line}\n" for line in lines)
        return
    for space in chosen:
        _launch(space, options.configs)


if __name__ == "__main__":
    main()
