"""Compiles the same variants under several versions into one capture.

#1 BLOCK=64,triton=3.8.0   #2 BLOCK=64,triton=3.9.0   #3 BLOCK=128,triton=3.8.0   ...
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from irscope.compiling.job import Job, Outcome
from irscope.compiling.messages import Plan
from irscope.compiling.pool import Stop, Stopped, Worker, run_jobs
from irscope.compiling.sweep import IMPORT_SECONDS, Progress, Sweep, lay_out, unfinished_variant
from irscope.jobs.versions.environments import Environment
from irscope.jobs.versions.requests import Request, in_environment, launch_key
from irscope.model import Failure, Launch, UserError
from irscope.model.process import available_cores
from irscope.store import CaptureWriter, NewVariant

Report = Callable[[Progress], None]
# The launches of the variants that another version compiled, by what `launch_key` gives.
Launches = Mapping[tuple[object, ...], tuple[Launch, ...]]


@dataclass
class EnvironmentSweep:
    """What is compiled in an environment, by kernel, and the worker that planned it.

    `problems` has what planning a kernel failed with, by the index of its plan, which is another version's.
    `rejected` says what is wrong with each kernel that no version can plan. `sweeps` and `ids` have the jobs
    that the capture lacks, and `failures` those of them that cannot be compiled here.
    """

    environment: Environment
    worker: Worker
    plans: list[Plan] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)
    rejected: list[str] = field(default_factory=list)
    sweeps: dict[Job, Sweep] = field(default_factory=dict)
    ids: dict[Job, int] = field(default_factory=dict)
    failures: dict[Job, str] = field(default_factory=dict)

    @property
    def jobs(self) -> list[Job]:
        """The jobs to compile."""
        return [job for job in self.sweeps if job not in self.failures]


@contextmanager
def planned_environments(
    request: Request, environments: Sequence[Environment], processes: int | None, seconds: float
) -> Iterator[list[EnvironmentSweep]]:
    """Yield the plans of a request under each environment, with workers that end with the block.

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
                results = list(threads.map(planned, environments))
            except BaseException:
                stop.set()  # the other threads
                raise
        every = [result for kernels in results for result in kernels]
        if not any(isinstance(result, Plan) for result in every):
            raise next(error for error in every if isinstance(error, UserError))
        sweeps = [EnvironmentSweep(environment, workers[environment]) for environment in environments]
        for versions in zip(*results, strict=True):
            _add_kernel(sweeps, versions)
        if not any(plan.jobs for sweep in sweeps for plan in sweep.plans):
            raise UserError("nothing to compile: no target uses ptxas; add own to --ptxas")
        yield sweeps
    finally:
        for worker in workers.values():
            worker.stop()


def _add_kernel(sweeps: Sequence[EnvironmentSweep], results: Sequence[Plan | UserError]) -> None:
    """Add the plans of a kernel, one result per environment; an environment without one gets another's."""
    first_plan = next((result for result in results if isinstance(result, Plan)), None)
    for sweep, result in zip(sweeps, results, strict=True):
        environment = sweep.environment
        if isinstance(result, Plan):
            sweep.plans.append(in_environment(result, environment))
        elif first_plan is None:
            sweep.rejected.append(result.command_line_text)
        else:
            sweep.problems[len(sweep.plans)] = str(result)
            sweep.plans.append(in_environment(_as_of(first_plan, environment), environment))


def _as_of(plan: Plan, environment: Environment) -> Plan:
    """Return another version's plan for an environment that has none of its own."""
    versions = {name: text for name, text in plan.versions.items() if name != "ptxas"}
    return replace(plan, versions={**versions, "triton": environment.triton}, notes=())


def compile_versions(
    planned: Sequence[EnvironmentSweep],
    writer: CaptureWriter,
    command: str,
    processes: int | None,
    seconds: float,
    report: Report,
    launches: Launches,
) -> Progress:
    """Compiles what the capture lacks of all plans; writes each variant as soon as it is done.

    `seconds` is the time limit per variant.
    """
    progress = Progress(sum(len(plan.jobs) for sweep in planned for plan in sweep.plans))
    _lay_out(planned, writer, command)
    progress.kept = progress.total - sum(len(sweep.sweeps) for sweep in planned)

    def write(environment: EnvironmentSweep, job: Job, new: NewVariant) -> None:
        sweep = environment.sweeps[job]
        if job_launches := launches.get(launch_key(job)):
            new = replace(new, launches=job_launches)
        triton = sweep.toolchain.versions["triton"]
        writer.add_variant(sweep.kernel.id, sweep.toolchain.id, triton, new, environment.ids[job])
        progress.done += 1
        progress.failed += new.failure is not None
        report(progress)

    for environment in planned:
        for job, problem in environment.failures.items():
            failure = Failure("UserError", problem, problem)
            write(environment, job, replace(unfinished_variant(job), failure=failure))
    for environment, job, outcome in _compile_jobs(planned, processes or available_cores(), seconds):
        write(environment, job, outcome.added_to(unfinished_variant(job)))
    return progress


def _lay_out(planned: Sequence[EnvironmentSweep], writer: CaptureWriter, command: str) -> None:
    """Match the plans with the capture. The versions of one config get consecutive ids."""
    first_id = writer.next_id()
    new: list[tuple[int, int, int, Job]] = []
    for index, environment in enumerate(planned):
        for kernel, plan in enumerate(environment.plans):
            sweep = lay_out(plan, writer, command)
            environment.sweeps |= dict.fromkeys(sweep.ids, sweep)
            environment.ids |= sweep.ids
            if kernel in environment.problems:
                environment.failures |= dict.fromkeys(sweep.ids, environment.problems[kernel])
            for order, job in enumerate(dict.fromkeys(plan.jobs)):
                if sweep.ids.get(job, 0) >= first_id:  # a retry keeps its id
                    new.append((kernel, order, index, job))
    writer.expect(len(new))
    new.sort(key=lambda entry: entry[:3])
    for id_, (_, _, index, job) in enumerate(new, first_id):
        planned[index].ids[job] = id_


def _compile_jobs(
    planned: Sequence[EnvironmentSweep], processes: int, seconds: float
) -> Iterator[tuple[EnvironmentSweep, Job, Outcome]]:
    """Compiles the jobs of all environments with so many processes; ends them, also if the caller stops.

    As many environments are compiled at a time as divide their number: no process waits for the last one.
    """
    sweeps = [sweep for sweep in planned if sweep.jobs]
    most = min(processes, len(sweeps))
    at_a_time = next((number for number in range(most, 0, -1) if len(sweeps) % number == 0), 1)
    stop = Stop()
    results: queue.Queue[tuple[EnvironmentSweep, Job, Outcome] | BaseException] = queue.Queue()

    def compile_(sweep: EnvironmentSweep) -> None:
        start, number = sweep.environment.spawner(), min(processes // at_a_time, len(sweep.jobs))
        workers = [sweep.worker, *(Worker(start) for _ in range(number - 1))]
        try:
            for job, outcome in run_jobs(sweep.jobs, workers, seconds, stop=stop):
                results.put((sweep, job, outcome))
        except Stopped:
            pass
        except BaseException as error:  # noqa: BLE001 - the thread that writes raises it
            results.put(error)
        finally:
            for worker in workers:
                worker.stop()

    with ThreadPoolExecutor(at_a_time, "irscope-versions") as threads:
        try:
            for sweep in sweeps:
                threads.submit(compile_, sweep)
            for _ in range(sum(len(sweep.jobs) for sweep in sweeps)):
                result = results.get()
                if isinstance(result, BaseException):
                    raise result
                yield result
        finally:
            stop.set()
            threads.shutdown(cancel_futures=True)
