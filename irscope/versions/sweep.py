"""Compiles the same variants under several versions into one capture.

#1 BLOCK=64,triton=3.8.0   #2 BLOCK=64,triton=3.9.0   #3 BLOCK=128,triton=3.8.0   ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count

from irscope.capturing.compile.pool import Stop, Worker
from irscope.capturing.compile.sweep import IMPORT_SECONDS, Sweep, lay_out, unfinished_variant
from irscope.capturing.messages import Plan
from irscope.model import Failure, Launch, UserError
from irscope.model.cores import available_cores
from irscope.store import CaptureWriter, NewVariant
from irscope.toolchain.job import Job
from irscope.versions.environments import Environment
from irscope.versions.requests import Request, in_environment
from irscope.versions.schedule import EnvironmentJobs, compile_jobs, start_worker


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
    workers = {environment: start_worker(environment) for environment in environments}
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
    """Matches the plans with the capture. The versions of one config get consecutive ids."""
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
