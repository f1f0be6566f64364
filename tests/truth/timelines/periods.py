"""Cycles per iteration: those of `irscope timeline`, and those that a GPU took.

    python -m tests.truth.timelines.periods [CAPTURE MEASURED]

`h200.jsonl` is what launches.py printed on an H200 under Triton 3.6, `h200.irscope` what `irscope run`
recorded of it. Four constants of the clock were fitted to these: see irscope/estimating/timeline_clock.py.
Nothing was fitted to `held_out.jsonl` and `held_out.irscope`, which are those of held_out.py.

If events were timed (held_out.py), also says whether they come in the same order. Two events that are less
than a twentieth of an iteration apart, computed or measured, come together.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from irscope.model.kernel_timeline import KernelTimeline
from irscope.workspace import Workspace

FOLDER = Path(__file__).parent
NEAR = 0.15
_TOGETHER = 0.05
# The events that held_out.py times, by kernel: their columns, what ends, of which partition or buffer, and in
# how many iterations after that of its data. It also times when `timed` has issued a product.
_TIMED: dict[str, dict[str, tuple[int, str, str, int]]] = {
    "timed": {
        "free": (0, "wait", "partition0", 0),
        "copied": (1, "copy", "", 0),
        "full": (2, "wait", "default", 0),
        "multiplied": (4, "product", "default", 1),
    },
    "timed_copiers": {
        "free": (0, "wait", "partition0", 0),
        "copied": (1, "copy", "a_tiles", 0),
        "free for B": (2, "wait", "partition1", 0),
        "copied to B": (3, "copy", "b_tiles", 0),
        "full": (4, "wait", "default", 0),
        "multiplied": (5, "product", "default", 0),
    },
    "timed_halves": {
        "free": (0, "wait", "partition1", 0),
        "copied": (1, "copy", "", 0),
        "full": (2, "wait", "default", 0),
        "multiplied": (3, "product", "default", 0),
        "full below": (4, "wait", "partition0", 0),
        "multiplied below": (5, "product", "partition0", 0),
    },
    "timed_groups": {
        "full": (0, "wait", "", 0),
        "multiplied": (1, "product", "", 1),
        "copied": (2, "copy", "", -3),
    },
}


def periods(
    capture: Path = FOLDER / "h200.irscope", measured: Path = FOLDER / "h200.jsonl"
) -> Iterator[tuple[dict[str, Any], KernelTimeline]]:
    """Yield each measured loop with its timeline, in the order in which both were recorded."""
    loops = [json.loads(line) for line in measured.read_text().splitlines() if line.startswith("{")]
    with Workspace(capture) as workspace:
        variants = [variant for variant in workspace.variants if variant.failure is None]
        launched = [loop for loop in loops if "error" not in loop]
        if len(variants) != len(launched):
            by_kernel = defaultdict(list)
            for variant in variants:
                by_kernel[variant.kernel.name].append(variant)
            print(f"{len(variants)} variants, {len(launched)} loops: those of a kernel may be confused")
            variants = [by_kernel[loop["kernel"]].pop(0) for loop in launched]
        for variant, loop in zip(variants, launched, strict=True):
            yield loop, workspace.kernel_timeline(variant)
    for loop in loops:
        if "error" in loop:
            print(f"{loop['name']:24} {loop['error']}")


def misordered(loop: Mapping[str, Any], timeline: KernelTimeline) -> list[str]:
    """Return the pairs of events whose measured order is not the computed one, over an iteration."""
    columns = {name: column for name, (column, *_) in _TIMED[loop["kernel"]].items()}
    measured = _offsets([{name: row[at] for name, at in columns.items()} for row in loop["events"]])
    computed = _offsets(_computed_events(timeline, loop["kernel"]))
    wrong = []
    for (name, ahead), (other, later) in combinations(sorted(measured), 2):
        seen = (measured[other, later] - measured[name, ahead]) / loop["cycles"]
        shown = (computed[other, later] - computed[name, ahead]) / timeline.period
        if abs(seen) > _TOGETHER and abs(shown) > _TOGETHER and (seen < 0) != (shown < 0):
            pair = f"{name} {ahead:+} and {other} {later:+}"
            wrong.append(f"{pair}: {shown:+.2f} computed, {seen:+.2f} measured")
    return wrong


def _computed_events(timeline: KernelTimeline, kernel: str) -> list[dict[str, float]]:
    """Return when the events of each iteration of the steady state happen."""
    by_iteration: dict[int, dict[str, float]] = defaultdict(dict)
    releasing = {edge.waiting: timeline.spans[edge.releasing].kind for edge in timeline.dependencies}
    for number, span in enumerate(timeline.spans):
        kind, owner, time = span.kind, timeline.lanes[span.lane].partition, span.end
        if kind == "copy":
            owner, time = span.buffers[0], span.issued
        elif kind == "wait" and not span.barrier:
            kind = "product" if releasing.get(number) == "product" else "wait"
        elif kind == "product":
            continue
        for name, (_, ends, whose, later) in _TIMED[kernel].items():
            if kind == ends and owner.startswith(whose):
                times = by_iteration[span.iteration + later]
                times[name] = max(times.get(name, 0.0), time)
    steady = range(timeline.steady[0], timeline.steady[1] + 1)
    return [by_iteration[number] for number in steady if len(by_iteration[number]) == len(_TIMED[kernel])]


def _offsets(events: list[dict[str, float]]) -> dict[tuple[str, int], float]:
    """Return the median time of each event, of the same and of the next two iterations, after `full`."""
    offsets = {}
    for name in events[0]:
        for ahead in range(3):
            pairs = zip(events, events[ahead:], strict=False)
            offsets[name, ahead] = median(later[name] - event["full"] for event, later in pairs)
    return offsets


def main() -> None:
    near = count = ordered = timed = 0
    for loop, timeline in periods(*map(Path, sys.argv[1:])):
        ratio = timeline.period / loop["cycles"] - 1 if loop["cycles"] else 0.0
        near, count = near + (abs(ratio) <= NEAR), count + 1
        line = f"{loop['name']:24} {timeline.period:6.0f} {loop['cycles']:6.0f} {100 * ratio:+4.0f} %"
        print(f"{line}  {timeline.clock}")
        if "events" in loop:
            wrong = misordered(loop, timeline)
            ordered, timed = ordered + (not wrong), timed + 1
            print(f"    {'; '.join(wrong) or 'events in order'}")
    print(f"{near} of {count} within {100 * NEAR:.0f} %")
    if timed:
        print(f"{ordered} of {timed} have their events in order")


if __name__ == "__main__":
    main()
