"""Compiles the same variants under several versions into one capture.

#1 BLOCK=64,triton=3.8.0   #2 BLOCK=64,triton=3.9.0   #3 BLOCK=128,triton=3.8.0   ...

Compiles jobs of several environments at a time, on as many processes as one environment would have.

A worker process has one environment. Each thread takes a group of jobs of the environment whose worker it
has; if there is none left, it takes one of another environment, with a new worker.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count

from irscope.compiling.job import Job, Outcome
from irscope.compiling.messages import Plan
from irscope.compiling.pool import Stop, Stopped, Worker, run_jobs
from irscope.compiling.sweep import IMPORT_SECONDS, Sweep, lay_out, unfinished_variant
from irscope.jobs.versions.environments import Environment
from irscope.jobs.versions.requests import Request, in_environment
from irscope.model import Failure, Launch, UserError
from irscope.model.process import available_cores
from irscope.store import CaptureWriter, NewVariant

# A new worker imports Triton, which takes about as long as compiling a job.
_WORTH_A_WORKER = 2


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
        return Worker(self._parts[place].environment.spawner())


def _end(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.stop()


@dataclass
class VersionsProgress:
    """How many variants are planned, were in the capture, are done, and failed; the one compiled last."""

    total: int = 0
    kept: int = 0
    done: int = 0
    failed: int = 0
    running: str = ""


Report = Callable[[VersionsProgress], None]
# The launches of a variant that another version compiles too.
LaunchesOf = Callable[[Job], tuple[Launch, ...]]


@dataclass(frozen=True)
class PlannedEnvironment:
    """The plans of an environment, one per kernel, and its worker.

    `problems` has what planning a kernel failed with, by the kernel's place; its plan is another version's.
    `rejected` says what is wrong with each kernel that no version can plan.
    """

    environment: Environment
    plans: Sequence[Plan]
    problems: Mapping[int, str]
    worker: Worker
    rejected: Sequence[str] = ()


@contextmanager
def planned_environments(
    request: Request, environments: Sequence[Environment], processes: int | None, seconds: float
) -> Iterator[list[PlannedEnvironment]]:
    """The plans of a request under each environment, with workers that end with the block.

    A kernel that cannot be planned under one version has the jobs of another one, which will fail. Raises
    UserError if no version can plan any kernel.
    """
    workers = {environment: Worker(environment.spawner()) for environment in environments}
    stop = Stop()

    def planned(environment: Environment) -> list[Plan | UserError]:
        return list(request.plans(workers[environment], stop, max(seconds, IMPORT_SECONDS)))

    try:
        with ThreadPoolExecutor(processes or available_cores()) as threads:
            try:
                found = dict(zip(environments, threads.map(planned, environments), strict=True))
            except BaseException:
                stop.set()  # the other threads
                raise
        every = [plan for plans in found.values() for plan in plans]
        if not any(isinstance(plan, Plan) for plan in every):
            raise next(error for error in every if isinstance(error, UserError))
        planned_each = [_planned(each, found, workers[each]) for each in environments]
        if not any(plan.jobs for each in planned_each for plan in each.plans):
            raise UserError("nothing to compile: no target uses ptxas; add own to --ptxas")
        yield planned_each
    finally:
        for worker in workers.values():
            worker.stop()


def _planned(
    environment: Environment, found: Mapping[Environment, Sequence[Plan | UserError]], worker: Worker
) -> PlannedEnvironment:
    plans: list[Plan] = []
    problems: dict[int, str] = {}
    rejected: list[str] = []
    for place, own in enumerate(found[environment]):
        if isinstance(own, Plan):
            plans.append(in_environment(own, environment))
            continue
        other = next((each[place] for each in found.values() if isinstance(each[place], Plan)), None)
        if isinstance(other, Plan):
            problems[len(plans)] = str(own)
            plans.append(in_environment(_as_of(other, environment), environment))
        else:
            rejected.append(own.command_line_text)
    return PlannedEnvironment(environment, plans, problems, worker, rejected)


def _as_of(plan: Plan, environment: Environment) -> Plan:
    """Another version's plan for an environment that has none of its own."""
    versions = {name: text for name, text in plan.versions.items() if name != "ptxas"}
    return replace(plan, versions={**versions, "triton": environment.triton}, notes=())


def compile_versions(
    planned: Sequence[PlannedEnvironment],
    writer: CaptureWriter,
    command: str,
    processes: int | None,
    seconds: float,
    report: Report = lambda _: None,
    launches_of: LaunchesOf = lambda _: (),
) -> VersionsProgress:
    """Compiles what the capture lacks of all plans; writes each variant as soon as it is done.

    `seconds` is the time limit per variant.
    """
    progress = VersionsProgress(total=sum(len(plan.jobs) for each in planned for plan in each.plans))
    layouts = _laid_out(planned, writer, command)
    progress.kept = progress.total - sum(len(layout.sweeps) for layout in layouts)
    parts = []
    for layout in layouts:
        jobs = [job for job in layout.sweeps if job not in layout.failures]
        parts.append(EnvironmentJobs.of(layout.environment, jobs, [layout.worker]))
        for job in layout.failures:
            _write(layout, job, _failed(layout, job), writer, progress, launches_of)
    for place, job, outcome in compile_jobs(parts, processes or available_cores(), seconds):
        progress.running = f"Triton {layouts[place].environment.name}  {job.config}"
        if outcome is not None:
            new = outcome.added_to(unfinished_variant(job))
            _write(layouts[place], job, new, writer, progress, launches_of)
        report(progress)
    return progress


@dataclass(frozen=True)
class _Layout:
    """The jobs that the capture lacks of an environment, each with the sweep of its kernel and its id."""

    environment: Environment
    worker: Worker
    sweeps: Mapping[Job, Sweep]
    failures: Mapping[Job, str]
    ids: Mapping[Job, int]


def _laid_out(planned: Sequence[PlannedEnvironment], writer: CaptureWriter, command: str) -> list[_Layout]:
    """Match the plans with the capture. The versions of one config get consecutive ids."""
    layouts, start = [], writer.next_id()
    first = start
    places: dict[tuple[int, Job], tuple[int, int, int]] = {}
    for index, each in enumerate(planned):
        sweeps: dict[Job, Sweep] = {}
        failures: dict[Job, str] = {}
        for place, plan in enumerate(each.plans):
            sweep = lay_out(plan, writer, command, first)
            first = max([first, *(id_ + 1 for id_ in sweep.ids.values())])
            sweeps |= dict.fromkeys(sweep.ids, sweep)
            order = {job: number for number, job in enumerate(plan.jobs)}
            places |= {(index, job): (place, order[job], index) for job in sweep.ids}
            if place in each.problems:
                failures |= dict.fromkeys(sweep.ids, each.problems[place])
        ids = {job: sweep.ids[job] for job, sweep in sweeps.items()}
        layouts.append(_Layout(each.environment, each.worker, sweeps, failures, ids))
    writer.expect(sum(id_ >= start for layout in layouts for id_ in layout.ids.values()))
    new = sorted((key for key in places if layouts[key[0]].ids[key[1]] >= start), key=places.__getitem__)
    chosen = dict(zip(new, count(start), strict=False))
    return [
        replace(layout, ids={job: chosen.get((index, job), id_) for job, id_ in layout.ids.items()})
        for index, layout in enumerate(layouts)
    ]


def _failed(layout: _Layout, job: Job) -> NewVariant:
    problem = layout.failures[job]
    return replace(unfinished_variant(job), failure=Failure("UserError", problem, problem))


def _write(
    layout: _Layout,
    job: Job,
    new: NewVariant,
    writer: CaptureWriter,
    progress: VersionsProgress,
    launches_of: LaunchesOf,
) -> None:
    sweep = layout.sweeps[job]
    if launches := launches_of(job):
        new = replace(new, launches=launches)
    triton = sweep.toolchain.versions["triton"]
    writer.add_variant(sweep.kernel.id, sweep.toolchain.id, triton, new, layout.ids[job])
    progress.done += 1
    progress.failed += new.failure is not None
