"""Compiles jobs of several environments at a time, on as many processes as one environment would have.

A worker process has one environment. Each thread takes a group of jobs of the environment whose worker it
has; if there is none left, it takes one of another environment, with a new worker.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from irscope.capturing.compile.pool import Stop, Stopped, Worker, run_jobs, spawn
from irscope.toolchain.job import Job, Outcome
from irscope.versions.environments import Environment

# A new worker imports Triton, which takes about as long as compiling a job.
_WORTH_A_WORKER = 2


def start_worker(environment: Environment) -> Worker:
    """A worker process of an environment."""
    python = str(environment.python)
    return Worker(partial(spawn, python=python, variables=dict(environment.variables)))


@dataclass
class EnvironmentJobs:
    """The jobs to compile in one environment, and its workers that have nothing to do."""

    environment: Environment
    groups: deque[list[Job]]
    idle: list[Worker] = field(default_factory=list)

    @classmethod
    def of(cls, environment: Environment, jobs: Sequence[Job], idle: list[Worker]) -> EnvironmentJobs:
        """The jobs by group: a group shares its later stages in one worker."""
        groups: dict[Hashable, list[Job]] = {}
        for job in jobs:
            groups.setdefault((job.file, job.kernel, job.target, job.group), []).append(job)
        return cls(environment, deque(groups.values()), idle)

    @property
    def left(self) -> int:
        """The number of jobs that no worker has taken."""
        return sum(map(len, self.groups))


# The environment's index, the job, and its outcome; None: a worker has taken the job.
Event = tuple[int, Job, Outcome | None]


def compile_jobs(parts: Sequence[EnvironmentJobs], processes: int, seconds: float) -> Iterator[Event]:
    """Compiles all jobs and yields when each begins and ends; `seconds` is the time limit per job.

    The environment of an event is named by its index in `parts`. Ends all workers, also if the caller stops.
    """
    schedule = _Schedule(parts, seconds)
    total = sum(part.left for part in parts)
    threads = [
        threading.Thread(target=schedule.work, name=f"irscope-versions-{number}", daemon=True)
        for number in range(min(processes, sum(len(part.groups) for part in parts)))
    ]
    try:
        for thread in threads:
            thread.start()
        while total:
            event = schedule.events.get()
            if isinstance(event, BaseException):
                raise event
            total -= event[2] is not None
            yield event
    finally:
        schedule.stop.set()
        for thread in threads:
            thread.join()
        for worker in (worker for part in parts for worker in part.idle):
            worker.stop()


class _Schedule:
    """The jobs that are left, shared by the threads."""

    def __init__(self, parts: Sequence[EnvironmentJobs], seconds: float) -> None:
        self._parts, self._seconds = parts, seconds
        self._lock = threading.Lock()
        self._busy = [0] * len(parts)
        self.stop = Stop()
        self.events: queue.Queue[Event | BaseException] = queue.Queue()

    def work(self) -> None:
        """Compiles groups until none is left."""
        workers: list[Worker] = []
        own: int | None = None
        try:
            while (taken := self._take(own)) is not None:
                place, jobs = taken
                if place != own:
                    _end(workers)
                    workers, own = [self._worker(place)], place
                self._compile(place, jobs, workers)
        except Stopped:
            pass
        except BaseException as error:  # noqa: BLE001 - the thread that writes raises it
            self.events.put(error)
        finally:
            _end(workers)

    def _compile(self, place: int, jobs: list[Job], workers: list[Worker]) -> None:
        def started(job: Job) -> None:
            self.events.put((place, job, None))

        for job, outcome in run_jobs(jobs, workers, self._seconds, started, stop=self.stop):
            self.events.put((place, job, outcome))

    def _take(self, own: int | None) -> tuple[int, list[Job]] | None:
        """The next group: of the environment `own`, else of the one with the most jobs per worker."""
        with self._lock:
            if own is not None and self._parts[own].groups:
                return own, self._parts[own].groups.popleft()
            waiting = [place for place, part in enumerate(self._parts) if part.groups]
            if not waiting:
                return None
            place = max(waiting, key=lambda each: self._parts[each].left / (1 + self._busy[each]))
            part = self._parts[place]
            if own is not None and self._busy[place] and not part.idle and part.left < _WORTH_A_WORKER:
                return None
            if own is not None:
                self._busy[own] -= 1
            self._busy[place] += 1
            return place, part.groups.popleft()

    def _worker(self, place: int) -> Worker:
        with self._lock, suppress(IndexError):
            return self._parts[place].idle.pop()
        return start_worker(self._parts[place].environment)


def _end(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.stop()
