"""A process that compiles candidates of an autotuner from their texts; it never imports the program.

`worker_pool.py` starts it with the numbers of two descriptors (see compiling/worker.py) and the folder of
the program's Triton with its key, which takes a second to compute. A compiled candidate becomes a variant, so
that irscope's analyses can measure it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from irscope.compiling.job import Outcome
from irscope.compiling.messages import JobDone, JobFailed, WorkerTask, send
from irscope.compiling.standalone.source_text import SourceText, as_source, language_of, parse_module
from irscope.compiling.supervisor import supervise
from irscope.compiling.toolchain.allocation import LLVM_STAGE, Allocation, allocate, without_verifier
from irscope.compiling.toolchain.compiler import StageMemory, compile_stages
from irscope.compiling.toolchain.patching import patched
from irscope.compiling.toolchain.stub_driver import StubDriver, gpu_target
from irscope.compiling.worker import prepare, serve
from irscope.estimating.estimate import estimate
from irscope.estimating.ranking import doubts
from irscope.facts.artifacts import VariantArtifacts
from irscope.facts.fact import ReadStage
from irscope.facts.measure import measure, to_json
from irscope.facts.occupancy import resource_problem
from irscope.jobs.prune.candidates import (
    CANNOT_LAUNCH,
    CandidateJob,
    CandidateResult,
    CompiledCandidate,
    Drop,
)
from irscope.model import Artifact, Failure, Kernel, SourceFunction, Toolchain, UserError, Variant
from irscope.model.errors import error_line
from irscope.model.plugins import silence
from irscope.store.encoding import digest
from irscope.targets import backend_of, in_words_of

if TYPE_CHECKING:
    from irscope.interpreting.bits.classes import Evaluation

# The name under which a result is sent.
RESULT = "result"


class _CannotLaunchError(BaseException):
    """Ends the compilation of a candidate; the text says why it cannot be launched."""


def main(pipe: str, lifeline: str, folder: str, triton_key: str) -> None:
    """Serve the pipe that the program opened as this file descriptor, supervised."""
    supervise(int(lifeline))
    os.set_inheritable(int(pipe), False)
    spec = find_spec("triton")
    if spec is None or not str(spec.origin).startswith(f"{folder}/"):
        sys.path.insert(0, folder)
    try:
        silence()
        prepare(triton_key)
        connection = Connection(int(pipe))
        serve(connection, partial(_work, memory=StageMemory(), pipe=connection))
    finally:
        os._exit(0)


def _work(task: WorkerTask, memory: StageMemory, pipe: Connection) -> None:
    if not isinstance(task, CandidateJob):
        raise TypeError(task)
    if isinstance(task.text, Failure):
        send(pipe, JobFailed(task.text))
        return
    from triton.runtime import driver

    driver.set_active(StubDriver(task.target))
    if task.launch is None:
        result: CandidateResult = _problem(
            allocation_of(_text(task), task.options, gpu_target(task.target)), task
        )
    else:
        result = _compiled(task, memory)
    send(pipe, Outcome(metadata={RESULT: result}))
    send(pipe, JobDone())


def allocation_of(source: SourceText, options: Any, target: Any) -> Allocation:
    """Return the allocation of a kernel.

    Runs the stages down to TTGIR and the passes until memory is allocated. `target` is Triton's.
    Raises whatever the compiler raises.
    """
    from triton._C.libtriton import ir
    from triton.compiler import make_backend

    backend, context = make_backend(target), ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    stages: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    backend.add_stages(stages, options, language_of(source))
    module = parse_module(source.text, context)
    names = list(stages)
    with without_verifier(backend):
        for name in names[names.index(source.extension) : names.index(LLVM_STAGE)]:
            module = stages[name](module, metadata)
        if not module.verify():
            raise UserError("a pass broke the module")
        return allocate(stages[LLVM_STAGE], module, backend, options)


def _compiled(job: CandidateJob, memory: StageMemory) -> CandidateResult:
    """Compile a candidate into Triton's cache, unless it cannot be launched, which is known before LLVM."""
    # Loads numpy, which `fits` does not need.

    memory.begin(job.file, job.kernel, job.target, job.group)
    outcome = Outcome()
    try:
        with _stopping_early(job):
            compile_stages(as_source(_text(job)), job.options, gpu_target(job.target), memory, outcome.add)
    except _CannotLaunchError as error:
        return Drop(CANNOT_LAUNCH, str(error))
    return measured(job, outcome)


@contextmanager
def _stopping_early(job: CandidateJob) -> Iterator[None]:
    """End a compilation within the block before LLVM if the candidate cannot be launched.

    It then ends with _CannotLaunchError.
    """
    from triton import knobs

    def hook(*arguments: Any) -> tuple[str, str] | None:
        if not arguments:  # from 3.7 on, Triton asks what the hook adds to the cache key: nothing
            return ("", "")
        backend, stages, options = arguments[:3]
        run = stages[LLVM_STAGE]

        def checked(module: Any, metadata: dict[str, Any]) -> Any:
            copy = parse_module(str(module), module.context)
            if drop := _problem(allocate(run, copy, backend, options), job):
                raise _CannotLaunchError(drop.reason)
            return run(module, metadata)

        stages[LLVM_STAGE] = checked
        return None

    with patched(knobs.runtime, "add_stages_inspection_hook", hook):
        yield


def _problem(allocation: Allocation, job: CandidateJob) -> Drop | None:
    threads = allocation.warps * job.target.warp_size
    problem = resource_problem(allocation.shared, threads, allocation.tensor_memory, job.most_shared)
    return None if problem is None else Drop(CANNOT_LAUNCH, in_words_of(job.target, problem))


def _text(job: CandidateJob) -> SourceText:
    if not isinstance(job.text, SourceText):
        raise TypeError(job.text)
    return job.text


def measured(job: CandidateJob, outcome: Outcome) -> CandidateResult:
    """Return whether a compiled candidate can be launched, its facts, and its estimated time."""
    variant, read = _variant(job, outcome), outcome.content
    resident = VariantArtifacts(variant, read).occupancy
    if resident is not None and not resident.blocks:
        limits = " and ".join(resident.limits)
        problem = in_words_of(variant.target, "no block fits on a multiprocessor")
        return Drop(CANNOT_LAUNCH, f"{problem}, limited by {limits}")
    candidate = _estimated(job, variant, read)
    return replace(candidate, evaluation=_evaluated(variant, read)) if job.bits else candidate


def _evaluated(variant: Variant, read: ReadStage) -> Evaluation:
    """Return what the launch of a variant computes."""
    from irscope.interpreting.bits.classes import Evaluation
    from irscope.languages.language import parse
    from irscope.workspace.bits import evaluate_launch

    (launch,) = variant.launches
    if not launch.grid:
        return Evaluation(unanswered="the grid of the launch is not known")
    try:
        document = parse((read("ttgir") or b"").decode("utf-8", "replace"), "mlir")
        return evaluate_launch(variant, launch, document)
    except Exception as error:  # noqa: BLE001 - one candidate must not cost the others their result
        return Evaluation(unanswered=error_line(error))


def _estimated(job: CandidateJob, variant: Variant, read: ReadStage) -> CompiledCandidate:
    facts = to_json(measure(variant, read))
    if job.launch is None or not job.launch.grid:
        return CompiledCandidate(variant, facts, note="the grid of the launch is not known")
    binary = variant.artifacts.get(backend_of(variant.target).binary)
    shared, values = variant.metadata.get("shared"), job.launch.values
    key = (job.target, binary and binary.digest, shared, job.launch, values)
    try:
        if key not in _times:
            launch_estimate = estimate(variant, job.launch, read)
            if not launch_estimate.complete:
                return CompiledCandidate(
                    variant, facts, note="; ".join(launch_estimate.notes[:1]) or "not all of it was counted"
                )
            factor = max(doubts(launch_estimate).values(), default=1.0)
            _times[key] = launch_estimate.microseconds, launch_estimate.bound, factor
    except Exception as error:  # noqa: BLE001 - one candidate must not cost the others their estimates
        return CompiledCandidate(variant, facts, note=error_line(error))
    time, bound, factor = _times[key]
    return CompiledCandidate(variant, facts, time, bound, error=factor)


# The time, the bound and the error of each launch that this process has estimated: duplicates take no second.
_times: dict[tuple[object, ...], tuple[float, str, float]] = {}


def _variant(job: CandidateJob, outcome: Outcome) -> Variant:
    """Return the candidate as a variant; its id is its number."""
    source = SourceFunction(job.kernel, str(job.file), 1, "")
    from triton import __version__

    contents = {stage: outcome.content(stage) or b"" for stage in outcome.artifacts}
    artifacts = {stage: Artifact(stage, digest(content), len(content)) for stage, content in contents.items()}
    return Variant(
        id=job.number,
        kernel=Kernel(0, job.kernel, source, (), ()),
        target=job.target,
        specialization=job.specialization,
        config=job.config,
        toolchain=Toolchain(0, {"triton": __version__}, ""),
        metadata=outcome.metadata,
        seconds=outcome.seconds,
        cached=outcome.cached,
        log=outcome.log,
        artifacts=artifacts,
        launches=(job.launch,) if job.launch is not None else (),
    )
