"""A sweep from request to capture: plan it, compile what is not there yet, write each variant as it comes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace

from irscope.capture.pool import Worker, run_jobs
from irscope.capture.request import Job, Outcome, Plan, SweepRequest
from irscope.store import CaptureWriter, NewVariant


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


@contextmanager
def planned(request: SweepRequest, processes: int | None) -> Iterator[tuple[Plan, list[Worker]]]:
    """The plan of a request, with the workers that will compile it.

    `processes` of None is one a core. All start at once: the others load triton while the first plans.
    Raises UserError where the request does not fit.
    """
    count = processes or len(os.sched_getaffinity(0))
    workers = [Worker() for _ in range(count)]
    try:
        yield workers[0].plan(request), workers
    finally:
        for worker in workers:
            worker.stop()


def compile_plan(
    plan: Plan,
    workers: list[Worker],
    writer: CaptureWriter,
    command: str,
    seconds: float,
    report: Report,
) -> Progress:
    """Compiles every job of the plan that the capture does not have, within `seconds` each."""
    toolchain = writer.add_toolchain(plan.versions, command)
    kernel = writer.add_kernel(plan.source, plan.helpers, plan.parameters)
    triton = plan.versions["triton"]
    finished = writer.finished()
    wanted = [job for job in plan.jobs if writer.identity(kernel, triton, _named(job)) not in finished]
    # Numbered in the order of the plan, whatever order they finish in.
    ids = dict(zip(wanted, range(writer.next_id(), sys.maxsize), strict=False))
    progress = Progress(total=len(plan.jobs), kept=len(plan.jobs) - len(wanted))

    def started(job: Job) -> None:
        progress.running.append(job)
        report(progress, None)

    for job, outcome in run_jobs(wanted, workers, seconds, started):
        variant = writer.add_variant(kernel, toolchain, triton, _finished(job, outcome), ids[job])
        progress.running.remove(job)
        progress.done += 1
        progress.failed += outcome.failure is not None
        report(progress, variant)
    return progress


def _named(job: Job) -> NewVariant:
    return NewVariant(job.target, job.specialization, job.config)


def _finished(job: Job, outcome: Outcome) -> NewVariant:
    return replace(_named(job), **{f.name: getattr(outcome, f.name) for f in fields(Outcome)})
