"""Compares the classes that irscope predicts with the bits that an H200 computed (Triton 3.6 to 3.9, torch 2.11).

    python -m tests.truth.bits.predict [--file measured/own.jsonl.xz] [--configs N] [GLOB ...]

`measured/own.jsonl.xz` has the launches of `measure.py` with their TTGIR, `tuned.jsonl.xz` those of everyday kernels
(matmul, attention, softmax, RMS norm, ...). Prints per space the pairs of equal bits that were recognized and missed,
the pairs called the same that differ (which must be none), the unknown pairs, and the time per variant.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import combinations
from pathlib import Path
from typing import Any

from irscope.interpreting.bits.classes import Evaluation, classify, evaluate
from irscope.interpreting.stage_interpreter import KernelLaunch
from irscope.interpreting.stage_program import StageProgram
from irscope.languages.mlir.parser import parse
from irscope.layouts.convert import Version, triton_version

_FOLDER = Path(__file__).parent / "measured"
FILES = (_FOLDER / "tuned.jsonl.xz", _FOLDER / "own.jsonl.xz")
# What Triton 3.7.1, 3.8.0 and 3.9.0 compiled of the spaces of own.jsonl.xz.
LATER = tuple(_FOLDER / f"triton{version}.jsonl.xz" for version in (37, 38, 39))
# Of files that do not say it.
_TRITON = "3.6.0"


@dataclass(frozen=True)
class Measured:
    """A launch on the GPU: launches of one kernel with equal `number` computed the same bits."""

    kernel: str
    config: Mapping[str, Any]
    grid: tuple[int, ...]
    fusion: bool
    number: int
    repeatable: bool
    arguments: Mapping[str, Any]
    ttgir: str
    triton: Version


@dataclass
class Score:
    """Pairs of launches of one kernel, counted."""

    kernel: str
    launches: int = 0
    recognized: int = 0
    missed: int = 0
    wrong: int = 0
    differ: int = 0
    unknown: int = 0
    seconds: tuple[float, ...] = ()
    reasons: tuple[str, ...] = ()
    example: str = ""


def measured(file: Path, patterns: list[str], most: int) -> Iterator[Measured]:
    """Yield the launches in a file, at most `most` of each kernel."""
    stages: dict[str, str] = {}
    counts: Counter[str] = Counter()
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        for text in lines:
            line = json.loads(text)
            if "ttgir" in line:
                stages[line["stage"]] = line["ttgir"]
                continue
            name = line["kernel"]
            counts[name] += 1
            if counts[name] > most or not any(fnmatch(name, pattern) for pattern in patterns):
                continue
            grid = tuple((*line["grid"], 1, 1)[:3])
            yield Measured(
                name, line["config"], grid, line["fusion"], line["class"], line["repeatable"],
                line["arguments"], stages[line["stage"]], triton_version(line.get("triton", _TRITON)),
            )  # fmt: skip


def machine_launch(launch: Measured, program: StageProgram) -> KernelLaunch:
    """Return the launch with its arguments by position."""
    numbers: dict[int, int | float] = {}
    shared: dict[int, tuple[int, int]] = {}
    names = [name.lstrip("%") for name in program.entry.arguments]
    for index, name in enumerate(names):
        value = launch.arguments.get(name)
        if isinstance(value, int | float):
            numbers[index] = value
        elif isinstance(value, dict):
            if value.get("same_as") in names:
                shared[index] = names.index(value["same_as"]), 0
            for place, size in enumerate([*value.get("shape", []), *value.get("strides", [])]):
                numbers.setdefault(index + 1 + place, size)
    return KernelLaunch(numbers, (launch.grid[0], launch.grid[1], launch.grid[2]), shared)


def predicted(launch: Measured) -> tuple[Evaluation, float]:
    """Return what irscope says of a launch, and the seconds of processor time that it took beyond parsing."""
    document = parse(launch.ttgir)
    start = time.process_time()
    called = machine_launch(launch, StageProgram(document, launch.triton))
    flush = bool(launch.config.get("enable_reflect_ftz", True))
    evaluation = evaluate(document, launch.triton, called, launch.fusion, flush)
    return evaluation, time.process_time() - start


def scored(launches: list[Measured], answers: list[tuple[Evaluation, float]]) -> Score:
    """Count the pairs of launches of one kernel."""
    classes = classify({number: answer for number, (answer, _) in enumerate(answers)})
    of = {number: item for item in classes.classes for number in item.variants}
    score = Score(launches[0].kernel, len(launches), seconds=tuple(sorted(s for _, s in answers)))
    score.reasons = tuple(sorted(set(classes.unknown.values())))
    for one, other in combinations(range(len(launches)), 2):
        a, b = launches[one], launches[other]
        equal = a.number == b.number and a.repeatable and b.repeatable
        if one not in of or other not in of:
            score.unknown += 1
        elif of[one] is of[other] and of[one].repeatable:
            score.recognized += equal
            score.wrong += not equal
            if not equal and not score.example:
                score.example = f"{dict(a.config)} and {dict(b.config)}"
        else:
            score.missed += equal
        score.differ += not equal
    return score


def scores(file: Path, patterns: list[str], most: int, processes: int) -> list[Score]:
    """Return the scores of the kernels in a file."""
    groups: dict[str, list[Measured]] = defaultdict(list)
    for launch in measured(file, patterns, most):
        groups[launch.kernel].append(launch)
    launches = [launch for group in groups.values() for launch in group]
    with ProcessPoolExecutor(processes) as pool:
        answers = iter(list(pool.map(predicted, launches, chunksize=8)))
    return [scored(group, [next(answers) for _ in group]) for group in groups.values()]


def summary(counted: list[Score]) -> str:
    """Return the sums over kernels in one line."""
    shares = [s.recognized / (s.recognized + s.missed) for s in counted if s.recognized + s.missed]
    pairs = sum(s.launches * (s.launches - 1) // 2 for s in counted)
    seconds = sorted(second for s in counted for second in s.seconds)
    mean = sum(shares) / len(shares) if shares else 0.0
    return (
        f"{len(counted)} kernels, {sum(s.launches for s in counted)} launches, {pairs} pairs: "
        f"{sum(s.wrong for s in counted)} of {sum(s.differ for s in counted)} that differ called the same, "
        f"{sum(s.recognized for s in counted)} of {sum(s.recognized + s.missed for s in counted)} equal ones "
        f"recognized (mean over kernels {mean:.1%}), {sum(s.unknown for s in counted) / max(pairs, 1):.1%} unknown; "
        f"{seconds[len(seconds) // 2]:.2f} s per variant (median), {seconds[int(len(seconds) * 0.99)]:.2f} s (99 %)"
    )


def main() -> None:
    """Print the scores."""
    parser = argparse.ArgumentParser("python -m tests.truth.bits.predict")
    parser.add_argument("names", nargs="*", default=["*"], metavar="GLOB", help="only these spaces")
    parser.add_argument("--file", type=Path, nargs="+", default=(*FILES, *LATER))
    parser.add_argument("--configs", type=int, default=1 << 30, help="at most so many configs of each space")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    for file in options.file:
        counted = scores(file, options.names, options.configs, options.jobs)
        for score in counted:
            print(
                f"{score.kernel:26}{score.launches:5} launches  same {score.recognized:6} missed {score.missed:5}  "
                f"WRONG {score.wrong:4} of {score.differ:6}  unknown {score.unknown:5}  "
                f"{score.seconds[len(score.seconds) // 2]:.2f} s  {score.example}{'; '.join(score.reasons[:2])}"
            )
        print(f"{file.name}: {summary(counted)}" if counted else f"{file.name}: no such space")


if __name__ == "__main__":
    main()
