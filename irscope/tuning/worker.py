"""A process that compiles candidates of an autotuner from their texts; it never imports the program.

`workers.py` starts it with the numbers of two descriptors (see capturing/compile/worker.py) and the folder
of the program's Triton with its key, which takes a second to compute.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import Any

from irscope.backends import in_words_of
from irscope.capturing.compile.supervisor import supervise
from irscope.capturing.compile.worker import prepare, serve
from irscope.capturing.messages import JobDone, JobFailed, WorkerTask, send
from irscope.facts.occupancy import resource_problem
from irscope.model import Failure, UserError
from irscope.plugins import silence
from irscope.toolchain.allocation import LLVM_STAGE, Allocation, allocate
from irscope.toolchain.compiler import StageMemory, compile_stages
from irscope.toolchain.job import MetadataReturned, Outcome
from irscope.toolchain.pass_verifier import without_verifier
from irscope.toolchain.patching import patched
from irscope.toolchain.source_text import SourceText, as_source, language_of, parse_module
from irscope.toolchain.stub_driver import StubDriver, gpu_target
from irscope.tuning.jobs import CandidateJob, CandidateResult

# The name under which a result is sent.
RESULT = "result"


class _CannotLaunchError(BaseException):
    """Ends the compilation of a candidate; the text says why it cannot be launched."""


def main(pipe: str, lifeline: str, folder: str, triton_key: str) -> None:
    """Serves the pipe that the program opened as this file descriptor, supervised."""
    supervise(int(lifeline))
    os.set_inheritable(int(pipe), False)
    found = find_spec("triton")
    if found is None or not str(found.origin).startswith(f"{folder}/"):
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
    result = allocated(task) if task.launch is None else _compiled(task, memory)
    send(pipe, MetadataReturned({RESULT: result}))
    send(pipe, JobDone())


def allocated(job: CandidateJob) -> CandidateResult:
    """Whether a candidate can be launched, without LLVM and ptxas. Raises whatever the compiler raises."""
    return CandidateResult(_problem(allocation_of(_text(job), job.options, gpu_target(job.target)), job))


def allocation_of(source: SourceText, options: Any, target: Any) -> Allocation:
    """The allocation of a kernel: runs the stages down to TTGIR and the passes until memory is allocated.

    `target` is Triton's. Raises whatever the compiler raises.
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
    """Compiles a candidate into Triton's cache, unless it cannot be launched, which is known before LLVM."""
    # Loads numpy, which `fits` does not need.
    from irscope.tuning.compiled import measured

    memory.begin(job.file, job.kernel, job.target, job.group)
    outcome = Outcome()
    try:
        with _stopping_early(job):
            compile_stages(as_source(_text(job)), job.options, gpu_target(job.target), memory, outcome.apply)
    except _CannotLaunchError as error:
        return CandidateResult(str(error))
    return measured(job, outcome)


@contextmanager
def _stopping_early(job: CandidateJob) -> Iterator[None]:
    """A compilation within the block ends before LLVM with _CannotLaunchError if it cannot be launched."""
    from triton import knobs

    def hook(*arguments: Any) -> tuple[str, str] | None:
        if not arguments:  # from 3.7 on, Triton asks what the hook adds to the cache key: nothing
            return ("", "")
        backend, stages, options = arguments[:3]
        run = stages[LLVM_STAGE]

        def checked(module: Any, metadata: dict[str, Any]) -> Any:
            copy = parse_module(str(module), module.context)
            if problem := _problem(allocate(run, copy, backend, options), job):
                raise _CannotLaunchError(problem)
            return run(module, metadata)

        stages[LLVM_STAGE] = checked
        return None

    with patched(knobs.runtime, "add_stages_inspection_hook", hook):
        yield


def _problem(allocation: Allocation, job: CandidateJob) -> str | None:
    threads = allocation.warps * job.target.warp_size
    problem = resource_problem(allocation.shared, threads, allocation.tensor_memory, job.most_shared)
    return None if problem is None else in_words_of(job.target, problem)


def _text(job: CandidateJob) -> SourceText:
    if not isinstance(job.text, SourceText):
        raise TypeError(job.text)
    return job.text
