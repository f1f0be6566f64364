"""Executors of the jobs of a sweep: processes of this machine, or the workers of a cluster.

The order in which a sweep is compiled: what is most informative first.

The configs are points, one coordinate per config value. The first is the one with the smallest values, and
each next one is the farthest from all before it (farthest-point sampling; Gonzalez 1985): so the extremes
come first, then what lies between them, and a sweep that is stopped early covers the whole range:

    BLOCK = 16, 32, 64, 128, 256; num_warps = 1, 2, 4      16/1, 256/4, 16/4, 256/1, 64/2, ...
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from irscope.compiling.job import Job, Outcome
from irscope.compiling.pool import OnStage, Start, Stop, Worker, run_jobs, spawn
from irscope.model import format_value
from irscope.model.process import available_cores
from irscope.model.records import frozen, grouped


@frozen
class WorkerRate:
    """How many jobs a worker has compiled, in how many seconds since it got its first one."""

    name: str
    jobs: int
    seconds: float

    @property
    def per_minute(self) -> float:
        """Jobs per minute; 0.0 before the first is done."""
        return 60 * self.jobs / self.seconds if self.seconds > 0 else 0.0


class Executor(Protocol):
    """Compiles jobs; the outcomes do not depend on where."""

    def run(
        self,
        jobs: Sequence[Job],
        seconds: float,
        on_start: Callable[[Job], None],
        on_stage: OnStage,
        stop: Stop,
    ) -> Iterator[tuple[Job, Outcome]]:
        """Compiles the jobs and yields each once, with its outcome, as it is done; see `pool.run_jobs`.

        Raises Stopped, and UserError if no worker is left.
        """

    def versions(self) -> Mapping[str, Mapping[str, str]]:
        """Map the name of each worker on another machine to its versions, as far as checked."""

    def rates(self) -> Sequence[WorkerRate]:
        """Return the work of each worker that has a name of its own."""

    def cancel(self) -> None:
        """Drop the jobs that are not done, the running ones included; another `run` may follow."""


@contextmanager
def started_workers(processes: int | None, start: Start = spawn) -> Iterator[list[Worker]]:
    """Start worker processes (None: one per core), which end with the block."""
    workers = [Worker(start) for _ in range(processes or available_cores())]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.stop()


class LocalExecutor:
    """Worker processes of this machine; whoever started the first ones ends all.

    If there are more jobs than `workers`, others are added to these, until there are `most`.
    """

    def __init__(self, workers: list[Worker], most: int = 0) -> None:
        self._workers, self._most = workers, most

    def run(
        self,
        jobs: Sequence[Job],
        seconds: float,
        on_start: Callable[[Job], None],
        on_stage: OnStage,
        stop: Stop,
    ) -> Iterator[tuple[Job, Outcome]]:
        """See Executor."""
        missing = min(len(jobs), self._most) - len(self._workers)
        self._workers += [Worker() for _ in range(missing)]
        return run_jobs(jobs, self._workers, seconds, on_start, on_stage, stop)

    def versions(self) -> Mapping[str, Mapping[str, str]]:
        """None: they are those of the plan."""
        return {}

    def rates(self) -> Sequence[WorkerRate]:
        """None: the processes are alike."""
        return ()

    def cancel(self) -> None:
        """Replace the processes that have a job: a later `run` would get its outcome."""
        for index, worker in enumerate(self._workers):
            if worker.job is not None:
                self._workers[index] = worker.replacement()


def executor_of(workers: Executor | list[Worker]) -> Executor:
    """Return the executor that consists of these workers, or `workers` if it is an executor."""
    return LocalExecutor(workers) if isinstance(workers, list) else workers


# The most that are chosen by their distances, which takes 0.3 s for 10,000; the others follow in equal steps.
_MOST_CHOSEN = 2000
# Up to so many points Python's own loops take less time than the import of NumPy.
_FEW = 100
# The golden ratio's fraction: multiples of it, modulo 1, are spread evenly.
_STEP = 0.6180339887498949


def informative_order(jobs: Sequence[Job]) -> tuple[list[Job], list[Job]]:
    """Split the jobs into one of each group, the most informative first, and all others.

    The others follow group by group in that order. Jobs of a group differ only in num_stages;
    see Job.
    """
    ordered = list(grouped(jobs, lambda job: job.group).values())
    ordered = [ordered[index] for index in spread(_coordinates([group[0] for group in ordered]))]
    return [group[0] for group in ordered], [job for group in ordered for job in group[1:]]


def _coordinates(jobs: Sequence[Job]) -> list[list[float]]:
    """Return a point per job: the rank of each of its values among that name's values, from 0 to 1."""
    columns = [_ranks([str(job.target) for job in jobs]), _ranks([str(job.specialization) for job in jobs])]
    configs = [dict(job.config.values) for job in jobs]
    names = dict.fromkeys(name for config in configs for name in config)
    columns += [_ranks([config.get(name) for config in configs]) for name in names]
    return [list(point) for point in zip(*columns, strict=True)]


def _ranks(values: Sequence[object]) -> list[float]:
    ordered = sorted(set(map(_key, values)))
    ranks = {key: index / max(len(ordered) - 1, 1) for index, key in enumerate(ordered)}
    return [ranks[_key(value)] for value in values]


def _key(value: object) -> tuple[int, float, str]:
    if isinstance(value, int | float):
        return 0, float(value), ""
    return 1, 0.0, value if isinstance(value, str) else format_value(value)  # type: ignore[arg-type]


def spread(points: Sequence[Sequence[float]]) -> Iterable[int]:
    """Return the indices of the points: the smallest sum, then always the farthest from all before."""
    if len(points) < 3:
        return range(len(points))
    chosen = _farthest(points) if len(points) <= _FEW else _farthest_of_many(points)
    chosen_set = set(chosen)
    rest = [place for place in range(len(points)) if place not in chosen_set]
    return [*chosen, *sorted(rest, key=lambda place: (place * _STEP) % 1.0)]


def _farthest(points: Sequence[Sequence[float]]) -> list[int]:
    """Return what `_farthest_of_many` returns, for few points."""
    sums = [_sum(point) for point in points]
    chosen = [sums.index(min(sums))]
    distances = [math.inf] * len(points)
    while len(chosen) < len(points):
        last = points[chosen[-1]]
        for index, point in enumerate(points):
            distance = _sum([abs(a - b) for a, b in zip(point, last, strict=True)])
            distances[index] = min(distances[index], distance)
        # Points that are equal to a chosen one differ in what has no coordinate.
        distances[chosen[-1]] = -1.0
        chosen.append(distances.index(max(distances)))
    return chosen


def _sum(values: Sequence[float]) -> float:
    """Add the values in NumPy's order for so few: rounding decides between equal distances."""
    total, after = 0.0, 0
    if len(values) >= 8:
        parts = list(values[:8])
        for start in range(8, len(values) - 7, 8):
            parts = [a + b for a, b in zip(parts, values[start : start + 8], strict=True)]
        after = len(values) - len(values) % 8
        first, two, three, four = (parts[index] + parts[index + 1] for index in (0, 2, 4, 6))
        total = (first + two) + (three + four)
    for value in values[after:]:
        total += value
    return total


def _farthest_of_many(points: Sequence[Sequence[float]]) -> list[int]:
    """Return the point with the smallest sum, then always the farthest from all before.

    Returns at most _MOST_CHOSEN indices.
    """
    import numpy as np

    coordinates = np.array(points)
    chosen = [int(coordinates.sum(axis=1).argmin())]
    distances = np.abs(coordinates - coordinates[chosen[0]]).sum(axis=1)
    while len(chosen) < min(len(points), _MOST_CHOSEN):
        # Points that are equal to a chosen one differ in what has no coordinate.
        distances[chosen[-1]] = -1.0
        chosen.append(int(distances.argmax()))
        distances = np.minimum(distances, np.abs(coordinates - coordinates[chosen[-1]]).sum(axis=1))
    return chosen
