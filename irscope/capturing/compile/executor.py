"""Executors of the jobs of a sweep: processes of this machine, or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from irscope.capturing.compile.pool import OnStage, Stop, Worker, run_jobs
from irscope.model.cores import available_cores
from irscope.toolchain.job import Job, Outcome


@dataclass(frozen=True, slots=True)
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
        on_stage: OnStage = lambda *_: None,
        stop: Stop | None = None,
    ) -> Iterator[tuple[Job, Outcome]]:
        """Compiles the jobs and yields each once, with its outcome, as it is done; see `pool.run_jobs`.

        Raises Stopped, and UserError if no worker is left.
        """

    def versions(self) -> Mapping[str, Mapping[str, str]]:
        """The versions that each worker of another machine compiles with, by its name, as far as checked."""

    def rates(self) -> Sequence[WorkerRate]:
        """The work of each worker that has a name of its own."""

    def cancel(self) -> None:
        """Drops the jobs that are not done, the running ones included; another `run` may follow."""


@contextmanager
def started_workers(processes: int | None) -> Iterator[list[Worker]]:
    """Worker processes (None: one per core), which end with the block."""
    workers = [Worker() for _ in range(processes or available_cores())]
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
        on_stage: OnStage = lambda *_: None,
        stop: Stop | None = None,
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
        """Replaces the processes that have a job: a later `run` would get its outcome."""
        for index, worker in enumerate(self._workers):
            if worker.job is not None:
                self._workers[index] = worker.replacement()


def executor_of(workers: Executor | list[Worker]) -> Executor:
    """The executor that consists of these workers, or that it is."""
    return LocalExecutor(workers) if isinstance(workers, list) else workers
