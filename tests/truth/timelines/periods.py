"""Cycles per iteration: those of `irscope timeline`, and those that a GPU took.

    python -m tests.truth.timelines.periods

`h200.jsonl` is what launches.py printed on an H200 under Triton 3.6, `h200.irscope` what `irscope run`
recorded of it. One constant of the clock, the rate of the way from L2, was fitted to these.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from irscope.workspace import Workspace

FOLDER = Path(__file__).parent
NEAR = 0.15


def periods() -> Iterator[tuple[str, float, float]]:
    """Yield each loop with its cycles per iteration: computed, and measured."""
    measured = [json.loads(line) for line in (FOLDER / "h200.jsonl").read_text().splitlines()]
    with Workspace(FOLDER / "h200.irscope") as workspace:
        for variant, loop in zip(workspace.variants, measured, strict=True):
            yield loop["name"], workspace.kernel_timeline(variant).period, loop["cycles"]


def main() -> None:
    loops = list(periods())
    for name, computed, cycles in loops:
        print(f"{name:22} {computed:6.0f} {cycles:6.0f} {100 * (computed / cycles - 1):+4.0f} %")
    near = sum(abs(computed / cycles - 1) <= NEAR for _, computed, cycles in loops)
    print(f"{near} of {len(loops)} within {100 * NEAR:.0f} %")


if __name__ == "__main__":
    main()
