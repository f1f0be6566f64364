"""Runs a sweep from request to capture: plans it, compiles missing variants, writes each when done.

Reuses the variants of an older capture: those that Triton would take from its cache.

A variant is copied if every component of its cache key is the same: the kernel's source with the functions
and globals that it uses, and its first line; types, constants, attributes and options; Triton, ptxas and the
compiler environment. Its stages, log, times, metadata and facts are copied as they are; its launches and
benchmarks belong to the older capture.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from irscope.compiling.executor import (
    Executor,
    LocalExecutor,
    WorkerRate,
    executor_of,
    informative_order,
    started_workers,
)
from irscope.compiling.job import Job
from irscope.compiling.messages import KernelsRequest, Plan, SweepRequest
from irscope.compiling.pool import OnStage, Stop, Stopped, Worker, stop_at, stop_at_interrupt
from irscope.facts.measure import FACTS_VERSION, measure, to_json
from irscope.model import Artifact, Config, Kernel, Toolchain, UserError, Variant
from irscope.model.process import available_cores
from irscope.model.records import frozen
from irscope.store import CaptureReader, CaptureWriter, NewVariant
from irscope.store.copy_rows import VariantCopier, VariantCopy
from irscope.store.encoding import Blob, digest, unpack
from irscope.store.new_variant import identity, kernel_digest
from irscope.targets import backend_of

if TYPE_CHECKING:
    from irscope.compiling.cluster.cluster import Cluster


# The default time limit of importing a kernel file and planning, in seconds.
IMPORT_SECONDS = 300.0
# The fields that a variant to be written shares with a stored one.
_IN_BOTH = {field.name for field in fields(Variant)} & {field.name for field in fields(NewVariant)}


@dataclass(slots=True)
class Progress:
    """The progress of a sweep.

    `running` are the jobs in progress; `kept` were in the capture already, `reused` in a baseline; `left`
    were not compiled because the time was over. `rates` are those of the workers of a cluster.
    """

    total: int
    kept: int = 0
    done: int = 0
    failed: int = 0
    running: list[Job] = field(default_factory=list)
    rates: Sequence[WorkerRate] = ()
    reused: int = 0
    left: int = 0


# Called after each change with the progress and the id of the variant just written, if one was.
Report = Callable[[Progress, int | None], None]


@frozen
class Sweep:
    """A plan matched with a capture.

    `ids` maps each job that the capture lacks to its variant's id, `names` each job to its identity. `reused`
    variants were copied from a baseline.
    """

    plan: Plan
    kernel: Kernel
    toolchain: Toolchain
    ids: Mapping[Job, int]
    names: Mapping[Job, str] = field(default_factory=dict)
    reused: int = 0

    def progress(self) -> Progress:
        """Return the progress before the first job."""
        total = len(self.plan.jobs)
        return Progress(total, kept=total - len(self.ids) - self.reused, reused=self.reused)


@contextmanager
def planned(
    request: SweepRequest,
    processes: int | None,
    stop: Stop | None = None,
    seconds: float = IMPORT_SECONDS,
    cluster: Cluster | None = None,
    baseline: Baseline | None = None,
) -> Iterator[tuple[Plan, Executor]]:
    """Yield the plan of a request, and the executor that will compile it.

    `processes` of None starts one worker per core; on a `cluster`, only one, which plans. All
    start at once, so that the others load triton while the first one plans; with a `baseline`,
    which is loaded meanwhile, the others start when there are jobs for them. `seconds` is the time
    limit of the plan. Raises UserError if the request does not fit the file, or the cluster cannot
    be reached; Stopped.
    """
    request = _absolute(request) if cluster else request
    with _workers(processes, cluster, baseline) as workers:
        plan = workers[0].ask(request, seconds, stop)
        with _executor(request, workers, processes, cluster, seconds) as executor:
            yield plan, executor


@contextmanager
def planned_each(
    request: SweepRequest,
    processes: int | None,
    seconds: float = IMPORT_SECONDS,
    cluster: Cluster | None = None,
    baseline: Baseline | None = None,
) -> Iterator[tuple[Iterator[Plan | UserError], Executor]]:
    """Yield the plan of each kernel of the request's file (or the error), and the executor.

    See `planned`. Every worker imports the file once. With a `baseline`, the next kernel is
    planned while the plan of the one before is used, so the executor must not be used before the
    last plan. Raises UserError if the file cannot be imported within `seconds`.
    """
    request = _absolute(request) if cluster else request
    with _workers(processes, cluster, baseline) as workers:
        names = workers[0].ask(KernelsRequest(request.file, request.targets[0]), seconds)
        requests = [replace(request, kernel=name) for name in names]
        plans = _plans(workers, requests, seconds, ahead=baseline is not None)
        with _executor(request, workers, processes, cluster, seconds) as executor:
            yield plans, executor


@contextmanager
def planned_requests(
    requests: Sequence[SweepRequest],
    processes: int | None,
    seconds: float,
    baseline: Baseline | None,
) -> Iterator[tuple[Iterator[Plan | UserError], Executor]]:
    """Yield the plan of each request, whose files may differ, and the executor; see `planned_each`."""
    with _workers(processes, None, baseline) as workers:
        plans = _plans(workers, requests, seconds, ahead=baseline is not None)
        yield plans, LocalExecutor(workers, processes or available_cores())


@contextmanager
def _workers(
    processes: int | None, cluster: Cluster | None, baseline: Baseline | None
) -> Iterator[list[Worker]]:
    """Yield the processes of this machine that start at once.

    Loads the baseline while they load triton.
    """
    with started_workers(1 if cluster or baseline else processes) as workers:
        if baseline is not None:
            baseline.load()
        yield workers


@contextmanager
def _executor(
    request: SweepRequest,
    workers: list[Worker],
    processes: int | None,
    cluster: Cluster | None,
    seconds: float,
) -> Iterator[Executor]:
    """Yield the workers of this machine, of which the first has imported the file, or a cluster's."""
    if cluster is None:
        yield LocalExecutor(workers, processes or available_cores())
        return
    with cluster.executor(request, workers[0], seconds) as executor:
        yield executor


def _absolute(request: SweepRequest) -> SweepRequest:
    """Return the request as another machine understands it."""
    return replace(request, file=Path(os.path.abspath(request.file)))  # noqa: PTH100 - links are kept


def _plans(
    workers: list[Worker], requests: Sequence[SweepRequest], seconds: float, ahead: bool
) -> Iterator[Plan | UserError]:
    """Yield the plan of each request, or its error.

    `ahead` begins the next one before it yields the last.
    """
    for request, following in zip_longest(requests, requests[1:]):
        plan = _plan_or_error(workers, request, seconds)
        if ahead and following is not None and workers[0].alive:
            workers[0].begin(following)
        yield plan


def _plan_or_error(workers: list[Worker], request: SweepRequest, seconds: float) -> Plan | UserError:
    if not workers[0].alive:  # the plan of another kernel ended it
        workers[0] = workers[0].replacement()
    try:
        return workers[0].ask(request, seconds)
    except UserError as error:
        return error


def lay_out(plan: Plan, writer: CaptureWriter, command: str, first_id: int = 1) -> Sweep:
    """Match a plan with a capture. `command` is stored as the origin of its variants.

    The ids of new variants are at least `first_id`.
    """
    triton = plan.versions["triton"]
    toolchain = Toolchain(writer.add_toolchain(plan.versions, command), plan.versions, command)
    id_ = writer.add_kernel(plan.source, plan.helpers, plan.parameters)
    kernel = plan.kernel(id_)
    names = {job: writer.identity(id_, triton, unfinished_variant(job)) for job in plan.jobs}
    finished, failed = writer.known(names.values())
    # Ids follow the order of the plan, not of completion; a retry keeps its id.
    free = itertools.count(max(writer.next_id(), first_id))
    ids = {
        job: failed[name] if name in failed else next(free)
        for job, name in names.items()
        if name not in finished
    }
    writer.expect(sum(names[job] not in failed for job in ids))
    return Sweep(plan, kernel, toolchain, ids, names)


def reuse(
    sweeps: Sequence[Sweep],
    baseline: Baseline,
    writer: CaptureWriter,
    report: Callable[[int, int], None] = lambda *_: None,
) -> list[Sweep]:
    """Copy the variants of sweeps that a baseline has; the sweeps without them.

    `report` takes the number that were copied so far, and of all that the capture lacks.
    """
    copied, total = set[int](), sum(len(sweep.ids) for sweep in sweeps)
    for ids in baseline.copy(sweeps, writer):
        copied |= ids
        report(len(copied), total)
    return [_without(sweep, copied) for sweep in sweeps]


def _without(sweep: Sweep, copied: Collection[int]) -> Sweep:
    left = {job: id_ for job, id_ in sweep.ids.items() if id_ not in copied}
    return replace(sweep, ids=left, reused=len(sweep.ids) - len(left))


def compiled_before(plan: Plan, variants: Iterable[Variant]) -> dict[Job, Variant]:
    """Map each job of a plan to the one of `variants` that it would compile again, if there is one."""
    kernel = kernel_digest(plan.kernel())
    digests: dict[Kernel, str] = {}
    variants_by_identity: dict[str, Variant] = {}
    for variant in variants:
        if variant.kernel not in digests:
            digests[variant.kernel] = kernel_digest(variant.kernel)
        triton = variant.toolchain.versions.get("triton", "")
        variants_by_identity[identity(digests[variant.kernel], triton, _in_order(variant))] = variant
    names = {
        job: identity(kernel, plan.versions["triton"], _in_order(unfinished_variant(job)))
        for job in plan.jobs
    }
    return {job: variants_by_identity[name] for job, name in names.items() if name in variants_by_identity}


_OfVariant = TypeVar("_OfVariant", NewVariant, Variant)


def _in_order(variant: _OfVariant) -> _OfVariant:
    """Sort a variant's config by the names: recorded programs set them in any order."""
    return replace(variant, config=Config(tuple(sorted(variant.config.values, key=lambda pair: pair[0]))))


def compile_plan(
    plan: Plan,
    workers: Executor | list[Worker],
    writer: CaptureWriter,
    command: str,
    seconds: float,
    report: Report,
    until: float | None = None,
) -> Progress:
    """Compiles every job of the plan that the capture lacks; see `compile_rest`."""
    return compile_rest(lay_out(plan, writer, command), workers, writer, seconds, report, until)


def compile_rest(
    sweep: Sweep,
    workers: Executor | list[Worker],
    writer: CaptureWriter,
    seconds: float,
    report: Report,
    until: float | None,
) -> Progress:
    """Compiles every job of a sweep that the capture lacks; `seconds` is the time limit per job.

    At the time `until` (of `time.monotonic`), what is not compiled is left.
    """
    executor, progress = executor_of(workers), sweep.progress()
    report(progress, None)

    def on_start(job: Job) -> None:
        progress.running.append(job)
        report(progress, None)

    with stop_at(until) as stop, stop_at_interrupt(stop) as interrupted:
        run = compile_sweep(sweep, executor, writer, seconds, stop, on_start, partial=until is not None)
        try:
            for job, new in run:
                progress.running.remove(job)
                progress.done += 1
                progress.rates = executor.rates()
                progress.failed += new.failure is not None
                report(progress, sweep.ids[job])
        except Stopped:
            executor.cancel()
            progress.running.clear()
            if interrupted.is_set():
                raise KeyboardInterrupt from None
    progress.left = len(sweep.ids) - progress.done
    return progress


def compile_sweep(
    sweep: Sweep,
    workers: Executor | list[Worker],
    writer: CaptureWriter,
    seconds: float,
    stop: Stop,
    on_start: Callable[[Job], None] = lambda _: None,
    on_stage: OnStage = lambda *_: None,
    partial: bool = False,
) -> Iterator[tuple[Job, NewVariant]]:
    """Compiles the missing jobs of a sweep and yields each variant once it is written; see `Executor.run`.

    The most informative are compiled first; if the sweep may stop before its end (`partial`), one of each
    group before the others of any group, which costs time: see Job.
    """
    executor = executor_of(workers)
    first, remaining = informative_order(list(sweep.ids))
    for jobs in (first, remaining) if partial else ([*first, *remaining],):
        for job, outcome in executor.run(jobs, seconds, on_start, on_stage, stop):
            new = outcome.added_to(unfinished_variant(job))
            _write(sweep, writer, job, new)
            yield job, new


def _write(sweep: Sweep, writer: CaptureWriter, job: Job, new: NewVariant) -> None:
    """Write a variant with its facts, so that nobody who opens the capture has to measure them."""
    facts: Mapping[str, object] | None = None
    # An assembly that is not among the stages may be derived later.
    if backend_of(job.target).assembly in new.artifacts:
        with suppress(Exception):  # they are measured again by who needs them
            variant = stored_variant(planned_variant(sweep, job), new)
            facts = to_json(measure(variant, lambda stage: _content(new, stage)))
    with writer.batch():
        triton = sweep.toolchain.versions["triton"]
        id_ = writer.add_variant(sweep.kernel.id, sweep.toolchain.id, triton, new, sweep.ids[job])
        if facts is not None:
            writer.add_facts(id_, FACTS_VERSION, facts)


def _content(new: NewVariant, stage: str) -> bytes | None:
    """Return a stage of a variant to be written."""
    content = new.artifacts.get(stage)
    return None if content is None else unpack(content)


def unfinished_variant(job: Job) -> NewVariant:
    """Return the variant of a job, before it is compiled."""
    return NewVariant(job.target, job.specialization, job.config, cache_key=dict(job.environment))


def planned_variant(sweep: Sweep, job: Job) -> Variant:
    """Return the variant that a job will compile, without stages."""
    return Variant(
        id=sweep.ids[job],
        kernel=sweep.kernel,
        target=job.target,
        specialization=job.specialization,
        config=job.config,
        toolchain=sweep.toolchain,
        cache_key=dict(job.environment),
    )


def stored_variant(variant: Variant, new: NewVariant) -> Variant:
    """Return a planned variant as the capture has it once `new` is written."""
    values = {name: getattr(new, name) for name in _IN_BOTH}
    values["artifacts"] = {name: _artifact(name, content) for name, content in new.artifacts.items()}
    return Variant(id=variant.id, kernel=variant.kernel, toolchain=variant.toolchain, **values)


def _artifact(stage: str, content: bytes | Blob) -> Artifact:
    if isinstance(content, Blob):
        return Artifact(stage, content.digest, content.size)
    return Artifact(stage, digest(content), len(content))


# From this part of its variants on, all contents of a capture are read instead of looked up.
_MANY = 0.1


class Baseline:
    """An older capture that is open, its compiled variants found by their cache keys."""

    def __init__(self, capture: CaptureReader) -> None:
        self._capture = capture

    def load(self) -> None:
        """Read the cache keys, which takes 20 us per variant. Raises UserError if one is damaged."""
        self._ids  # noqa: B018

    @cached_property
    def _ids(self) -> Mapping[str, int]:
        return self._capture.cache_keys()

    def copy(self, sweeps: Sequence[Sweep], writer: CaptureWriter) -> Iterator[set[int]]:
        """Copy the variants of the sweeps that are here; yields the ids of some at a time.

        Those that are damaged, or lack what compiling the job would record, are left out.
        """
        copies = {copy.identity: copy for sweep in sweeps for copy in self._found(sweep)}
        if copies:
            scan = len(copies) > _MANY * len(self._ids)
            yield from VariantCopier(self._capture, writer).copy(list(copies.values()), scan)

    def _found(self, sweep: Sweep) -> Iterator[VariantCopy]:
        keys = dict(zip(sweep.plan.jobs, sweep.plan.keys, strict=True)) if sweep.plan.keys else {}
        for job, id_ in sweep.ids.items():
            key = keys.get(job, "")
            if key in self._ids:
                yield VariantCopy(
                    source=self._ids[key],
                    key=key,
                    id=id_,
                    identity=sweep.names[job],
                    kernel=sweep.kernel.id,
                    target=job.target,
                    specialization=job.specialization,
                    config=job.config,
                    reasons=job.reasons,
                    passes=job.passes,
                )


@contextmanager
def open_baseline(path: Path, output: Path | None) -> Iterator[Baseline]:
    """Open an older capture to reuse its variants.

    Raises UserError if it is not a capture, or is the file that is written.
    """
    if output is not None and output.exists() and path.exists() and output.samefile(path):
        raise UserError(f"{path}: is also the capture to write; --resume keeps what it has")
    with CaptureReader(path) as capture:
        yield Baseline(capture)
