"""The worker processes that compile candidates. They are kept for the next kernel, then end by themselves."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from irscope.compiling.job import Outcome
from irscope.compiling.pool import Worker, run_jobs, spawn
from irscope.jobs.prune.candidate_worker import RESULT
from irscope.jobs.prune.candidates import NOT_COMPILED, CandidateJob, CandidateResult, Drop
from irscope.model.process import available_cores

# The seconds after which a worker without a job ends: each has Triton in memory (about 150 MB).
_IDLE_SECONDS = 20.0
# The variables that Triton and LLVM read, and Python's search path; workers have those of their start.
_PREFIXES = ("TRITON", "LLVM", "MLIR", "PTXAS", "NVPTX", "AMDGCN", "DISABLE_", "ENABLE_", "PYTHON")


class WorkerPool:
    """Workers of this process; used by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: list[Worker] = []
        self._environment: dict[str, str] = {}
        self._process = os.getpid()
        self._timer: threading.Timer | None = None

    def results(
        self, jobs: Sequence[CandidateJob], processes: int | None, seconds: float
    ) -> Iterator[tuple[int, CandidateResult]]:
        """Run the jobs; yields (number of the candidate, result) as they are done.

        `processes` of None starts one per core, but not more than jobs; `seconds` is the limit per job.
        """
        with self._lock:
            self._prepare(min(processes or available_cores(), len(jobs)))
            try:
                for job, outcome in run_jobs(jobs, self._workers, seconds):
                    if isinstance(job, CandidateJob):
                        yield job.number, _result(outcome)
            except BaseException:
                self._stop()  # jobs may still run
                raise
            self._timer = threading.Timer(_IDLE_SECONDS, self.stop)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        """End the workers."""
        with self._lock:
            self._stop()

    def _prepare(self, count: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._process != os.getpid():  # forked: the workers are the parent's
            self._workers, self._process = [], os.getpid()
        if _environment() != self._environment:
            self._stop()
            self._environment = _environment()
        if len(self._workers) < count:
            self._start(count - len(self._workers))

    def _start(self, count: int) -> None:
        """Start workers, which irscope does not capture if it captures this process."""
        import triton
        from triton.runtime import cache

        # The folder from which this process imported Triton, and Triton's own key.
        arguments = str(Path(triton.__file__).parent.parent), cache.triton_key()
        capturing = sys.modules.get("irscope.recording.subprocesses")
        with capturing.uncaptured_subprocesses() if capturing is not None else nullcontext():
            spawn_one = partial(spawn, module=_WORKER, arguments=arguments)
            self._workers += [Worker(spawn_one) for _ in range(count)]

    def _stop(self) -> None:
        for worker in self._workers:
            worker.stop()
        self._workers.clear()


_WORKER = "irscope.jobs.prune.candidate_worker"
pool = WorkerPool()


def _result(outcome: Outcome) -> CandidateResult:
    failure = outcome.failure
    if failure is None:
        result: CandidateResult = outcome.metadata.get(RESULT)
        return result
    if failure.kind == "UserError":  # irscope cannot judge it
        return None
    return Drop(NOT_COMPILED, f"{failure.kind}: {failure.summary}", failure.kind)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(_PREFIXES)}
