"""Opens a cluster for a sweep: the connection, the checks of its workers, and the executor on them.

Compiles the jobs of a sweep on the workers of a Dask cluster.

Each worker gets a few jobs at a time, those of a group one after the other, so that a scheduler never holds
all of a sweep, and a worker that is lost costs only what it was compiling: its jobs are given to others. A
result that arrives for a job that was given away is ignored, so every job is yielded once.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.compiling.cluster.dask_worker import Accepted, UnusableWorker, WorkerChecks
from irscope.compiling.cluster.scheduler import Connected, FinishedJob, Message
from irscope.compiling.cluster.shipment import Shipment, compiler_environment
from irscope.compiling.executor import WorkerRate
from irscope.compiling.job import Job, Outcome
from irscope.compiling.messages import SourcesRequest, SweepRequest
from irscope.compiling.pool import JobQueue, OnStage, Stop, Worker
from irscope.model import Failure, UserError
from irscope.model.errors import print_note
from irscope.model.records import frozen
from irscope.model.text import pluralize

if TYPE_CHECKING:
    from distributed import Client


@frozen
class Cluster:
    """Where a sweep is compiled: the address of a Dask scheduler, or its client. `note` takes lines."""

    at: str | Client
    note: Callable[[str], None] = print_note

    @contextmanager
    def executor(self, request: SweepRequest, planner: Worker, seconds: float) -> Iterator[DaskExecutor]:
        """Yield the executor of a request's jobs.

        `planner` is a worker here that has imported the file. Raises UserError if the scheduler
        cannot be reached.
        """
        from irscope.compiling.cluster.dask_worker import WorkerChecks
        from irscope.compiling.cluster.scheduler import Connected, connect

        client, owns_client = connect(self.at)
        try:
            sources = planner.ask(SourcesRequest(request.file, request.targets), seconds)
            shipment = Shipment(
                Path(request.file), request.targets, sources.files, sources.folders, compiler_environment()
            )
            connected = Connected(client, shipment.session)
            checks = WorkerChecks(client, shipment, sources.versions, seconds, connected.put)
            try:
                yield DaskExecutor(connected, checks, self.note)
            finally:
                checks.stop()
                connected.close()
        finally:
            if owns_client:
                client.close(timeout=1)


# A job during which so many workers were lost is a failure: it may be what ends them.
_TRIES = 5
# How often the list of workers is read, in seconds, and how long a sweep waits for one if there is none.
_LOOK_SECONDS = 0.5
NO_WORKER_SECONDS = 300.0
# Jobs that a worker has next to those that it compiles, so that it never waits for the next.
_AHEAD = 1


@dataclass(slots=True)
class _Member:
    """A worker of the cluster: how many jobs it can compile at a time, and those that it has, by number."""

    address: str
    name: str
    threads: int
    jobs: dict[int, Job] = field(default_factory=dict)
    done: int = 0
    since: float = 0.0
    seconds: float = 0.0

    def can_take(self, ahead: int) -> bool:
        return len(self.jobs) < self.threads + ahead


class _Waiting:
    """The jobs of a sweep that no worker has, those of lost workers first."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._queue = JobQueue(jobs)
        self._given: set[int] = set()
        self._tries: dict[int, int] = {}
        self.again: deque[Job] = deque()

    @property
    def left(self) -> int:
        return len(self.again) + len(self._queue)

    def take(self, address: str) -> Job | None:
        return self.again.popleft() if self.again else self._queue.take(address)

    def is_new(self, job: Job) -> bool:
        """Return True if the job is given to a worker for the first time."""
        count_before = len(self._given)
        self._given.add(id(job))
        return len(self._given) > count_before

    def retry(self, job: Job) -> bool:
        """Take back a job that failed with its worker; False if that happened too often."""
        self._tries[id(job)] = self._tries.get(id(job), 0) + 1
        if self._tries[id(job)] < _TRIES:
            self.again.append(job)
        return self._tries[id(job)] < _TRIES


class DaskExecutor:
    """An `Executor` on the workers of a Dask cluster, those that join later included.

    `note` takes lines for the user: a worker that cannot be used, or was lost.
    """

    def __init__(self, connected: Connected, checks: WorkerChecks, note: Callable[[str], None]) -> None:
        self._connected, self._checks, self._note = connected, checks, note
        self._members: dict[str, _Member] = {}
        self._lost: list[_Member] = []
        self._looked = 0.0
        self._lonely_since: float | None = None
        self._refused: dict[str, str] = {}

    def versions(self) -> Mapping[str, Mapping[str, str]]:
        """See Executor."""
        return self._checks.versions

    def rates(self) -> Sequence[WorkerRate]:
        """Return the work of each worker, including lost ones."""
        members = [*self._members.values(), *self._lost]
        return [WorkerRate(member.name, member.done, member.seconds) for member in members]

    def cancel(self) -> None:
        """Drop the jobs that are on the cluster and end irscope's processes there."""
        for member in self._members.values():
            member.jobs.clear()
        self._connected.cancel()

    def run(
        self,
        jobs: Sequence[Job],
        seconds: float,
        on_start: Callable[[Job], None],
        on_stage: OnStage,
        stop: Stop,
    ) -> Iterator[tuple[Job, Outcome]]:
        """See Executor; `on_stage` is not called, because a job arrives as a whole."""
        waiting, left = _Waiting(jobs), len(jobs)
        while left:
            waiting.again += self._look()
            self._give(waiting, seconds, on_start)
            for message in self._connected.wait(stop, _LOOK_SECONDS):
                done = self._apply(message, waiting)
                if done is None:
                    continue
                left -= 1
                self._give(waiting, seconds, on_start)  # before the caller stores this one
                yield done

    def _give(self, waiting: _Waiting, seconds: float, on_start: Callable[[Job], None]) -> None:
        """Give jobs to the workers that can take some; `on_start` gets those that no worker had before."""
        threads = sum(member.threads for member in self._members.values())
        for member in self._members.values():
            # The last jobs wait for whoever is free first, not for a worker that has one.
            while member.can_take(_AHEAD if waiting.left > threads else 0) and (
                job := waiting.take(member.address)
            ):
                member.since = member.since or time.monotonic()
                member.jobs[self._connected.submit(member.address, job, seconds)] = job
                if waiting.is_new(job):
                    on_start(job)

    def _apply(self, message: Message, waiting: _Waiting) -> tuple[Job, Outcome] | None:
        """Take a message; the job that is over, if one is."""
        if isinstance(message, Accepted | UnusableWorker):
            self._join(message)
            return None
        job = self._take(message.address, message.number)
        if job is None:  # it was given to another worker
            return None
        if isinstance(message, FinishedJob):
            self._count(message.address)
            return job, message.outcome
        self._looked = 0.0  # is the worker, or the scheduler, still there?
        if message.restarted:
            waiting.again += [job, *self._leave(message.address)]
            return None
        return None if waiting.retry(job) else (job, _lost_outcome(message.reason))

    def _look(self) -> list[Job]:
        """Read the list of workers if it is time; the jobs of those that are gone."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return []
        self._looked = now
        present = self._connected.workers()
        self._checks.start(present.keys() - self._members.keys() - self._refused.keys())
        lost: list[Job] = []
        for address in self._members.keys() - present.keys():
            name, jobs = self._members[address].name, self._leave(address)
            lost += jobs
            if jobs:
                self._note(f"the worker {name} is gone; its {pluralize(len(jobs), 'job')} go to others")
        self._check_any(present, now)
        return lost

    def _leave(self, address: str) -> list[Job]:
        """Take all jobs from a worker that is gone."""
        member = self._members.pop(address)
        self._lost.append(member)
        self._connected.forget(list(member.jobs))
        jobs, member.jobs = list(member.jobs.values()), {}
        return jobs

    def _check_any(self, present: Mapping[str, tuple[str, int]], now: float) -> None:
        """Raise UserError if there is no worker that can be used, and none to wait for."""
        if self._members or self._checks.running:
            self._lonely_since = None
            return
        refused = [text for address, text in self._refused.items() if address in present]
        if refused:
            raise UserError(f"no worker of {self._connected.address} can be used; {refused[0]}")
        if self._lonely_since is None:
            self._lonely_since = now
            where = self._connected.address
            self._note(f"waiting for a worker; on any machine with this irscope: dask worker {where}")
        if now - self._lonely_since > NO_WORKER_SECONDS:
            raise UserError(f"{self._connected.address}: no worker for {NO_WORKER_SECONDS:g} s")

    def _join(self, message: Accepted | UnusableWorker) -> None:
        """Take a worker whose check ended."""
        self._checks.ended(message.address)
        name_and_threads = self._connected.workers().get(message.address)
        if name_and_threads is None:
            return  # it is gone; if it comes back, it is checked again
        if isinstance(message, UnusableWorker):
            self._refused[message.address] = message.problem
            self._note(message.problem)
        else:
            self._members[message.address] = _Member(message.address, *name_and_threads)

    def _take(self, address: str, number: int) -> Job | None:
        """Return the job with this number if the worker still has it."""
        member = self._members.get(address)
        return member.jobs.pop(number, None) if member is not None else None

    def _count(self, address: str) -> None:
        member = self._members[address]
        member.done += 1
        member.seconds = time.monotonic() - member.since


def _lost_outcome(reason: str) -> Outcome:
    summary = f"{_TRIES} workers of the cluster were lost with it; the last: {reason}"
    return Outcome(failure=Failure("lost", summary, f"lost: {summary}"))
