"""A sweep from request to capture: plan it, compile what is not there yet, write each variant as it comes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace

from irscope.capturing.compile.pool import Made, Stop, Worker, run_jobs
from irscope.capturing.compile.request import Job, Outcome, Plan, SweepRequest
from irscope.model import Kernel, Toolchain
from irscope.store import CaptureReader, CaptureWriter, NewVariant
from irscope.store.writer import identity, kernel_digest


@dataclass(slots=True)
class Progress:
    """How far a sweep is. `running` are the jobs under way; `kept` were in the capture already."""

    total: int
    kept: int = 0
    done: int = 0
    failed: int = 0
    running: list[Job] = field(default_factory=list)


# Told after each change: where the sweep is, and the id of the variant just written (None: none was).
Report = Callable[[Progress, int | None], None]


@dataclass(frozen=True, slots=True)
class Sweep:
    """A plan laid against a capture: which jobs that lacks, each with the id that its variant will have."""

    plan: Plan
    kernel: Kernel
    toolchain: Toolchain
    ids: Mapping[Job, int]


@contextmanager
def planned(
    request: SweepRequest, processes: int | None, stop: Stop | None = None
) -> Iterator[tuple[Plan, list[Worker]]]:
    """The plan of a request, with the workers that will compile it.

    `processes` of None is one a core. All start at once: the others load triton while the first plans.
    Raises UserError where the request does not fit, Stopped where `stop` asks for it.
    """
    count = processes or len(os.sched_getaffinity(0))
    workers = [Worker() for _ in range(count)]
    try:
        yield workers[0].plan(request, stop or Stop()), workers
    finally:
        for worker in workers:
            worker.stop()


def lay_out(plan: Plan, writer: CaptureWriter, command: str) -> Sweep:
    """What is left to compile of a plan. `command` is what the capture keeps of who asked."""
    triton = plan.versions["triton"]
    toolchain = Toolchain(writer.add_toolchain(plan.versions, command), plan.versions, command)
    id_ = writer.add_kernel(plan.source, plan.helpers, plan.parameters)
    kernel = Kernel(id_, plan.source.name, plan.source, plan.helpers, plan.parameters)
    names = {job: writer.identity(id_, triton, _named(job)) for job in plan.jobs}
    finished, failed = writer.finished(), _failed(writer)
    # Numbered in the order of the plan, whatever order they finish in; a second try keeps its number.
    free = itertools.count(writer.next_id())
    ids = {
        job: failed[name] if name in failed else next(free)
        for job, name in names.items()
        if name not in finished
    }
    return Sweep(plan, kernel, toolchain, ids)


def _failed(writer: CaptureWriter) -> dict[str, int]:
    """The variants that failed to compile: identity -> id."""
    with CaptureReader(writer.path) as capture:
        return {
            identity(kernel_digest(variant.kernel), variant.toolchain.versions["triton"], variant): variant.id
            for variant in capture.variants()
            if variant.failure is not None and "triton" in variant.toolchain.versions
        }


def compile_plan(
    plan: Plan,
    workers: list[Worker],
    writer: CaptureWriter,
    command: str,
    seconds: float,
    report: Report,
) -> Progress:
    """Compiles every job of the plan that the capture does not have, within `seconds` each."""
    sweep = lay_out(plan, writer, command)
    progress = Progress(total=len(plan.jobs), kept=len(plan.jobs) - len(sweep.ids))

    def started(job: Job) -> None:
        progress.running.append(job)
        report(progress, None)

    for job, new in compile_sweep(sweep, workers, writer, seconds, started):
        progress.running.remove(job)
        progress.done += 1
        progress.failed += new.failure is not None
        report(progress, sweep.ids[job])
    return progress


def compile_sweep(
    sweep: Sweep,
    workers: list[Worker],
    writer: CaptureWriter,
    seconds: float,
    started: Callable[[Job], None],
    made: Made = lambda *_: None,
    stop: Stop | None = None,
) -> Iterator[tuple[Job, NewVariant]]:
    """Compiles what is left of a sweep, and yields each variant when it is written.

    The rest is as of `pool.run_jobs`.
    """
    triton = sweep.toolchain.versions["triton"]
    for job, outcome in run_jobs(list(sweep.ids), workers, seconds, started, made, stop):
        new = _finished(job, outcome)
        writer.add_variant(sweep.kernel.id, sweep.toolchain.id, triton, new, sweep.ids[job])
        yield job, new


def _named(job: Job) -> NewVariant:
    return NewVariant(job.target, job.specialization, job.config)


def _finished(job: Job, outcome: Outcome) -> NewVariant:
    return replace(_named(job), **{f.name: getattr(outcome, f.name) for f in fields(Outcome)})
