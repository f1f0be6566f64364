"""Workers forked from the program itself, so that they have its kernels, closures and globals."""

from __future__ import annotations

import os
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

from irscope.capturing.compile.pool import Worker, run_jobs
from irscope.capturing.compile.supervisor import above_streams, supervise
from irscope.capturing.messages import JobDone, RecordedJob, WorkerTask, send
from irscope.capturing.record.recorder import RecordedCompilation
from irscope.model.cores import available_cores
from irscope.toolchain.job import Outcome
from irscope.toolchain.triton_cache import environment_set


def compile_forked(
    compilations: Sequence[RecordedCompilation],
    processes: int | None,
    seconds: float,
    passes: bool = False,
) -> Iterator[tuple[RecordedCompilation, Outcome]]:
    """Compiles each in a forked worker; yields them as they are done.

    `processes` of None forks one per core, but not more than there are compilations. `seconds` is the
    time limit per compilation. `passes` records each compiler pass.
    """
    by_number = {recorded.number: recorded for recorded in compilations}
    groups: dict[tuple[object, ...], int] = {}
    jobs = [_job(recorded, groups, passes) for recorded in compilations]
    count = min(processes or available_cores(), len(jobs))
    workers = [Worker(partial(fork, serve=partial(_serve, by_number))) for _ in range(count)]
    try:
        for job, outcome in run_jobs(jobs, workers, seconds, lambda _: None):
            if isinstance(job, RecordedJob):
                yield by_number[job.number], outcome
    finally:
        for worker in workers:
            worker.stop()


def _job(recorded: RecordedCompilation, groups: dict[tuple[object, ...], int], passes: bool) -> RecordedJob:
    variant, function = recorded.variant, recorded.source.fn.fn
    rest = tuple(pair for pair in variant.config.values if pair[0] != "num_stages")
    group = groups.setdefault((recorded.kernel, variant.target, variant.specialization, rest), len(groups))
    file = Path(function.__code__.co_filename)
    return RecordedJob(
        file, function.__name__, variant.target, variant.specialization, variant.config, group,
        passes=passes, number=recorded.number,
    )  # fmt: skip


class ForkedProcess:
    """A forked child with the interface of `subprocess.Popen` that a worker needs."""

    def __init__(self, pid: int) -> None:
        self._pid, self._code = pid, None

    _code: int | None

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int:
        """Waits until it ends; the exit code."""
        code = self._reap(0)
        return -signal.SIGKILL if code is None else code

    def _reap(self, how: int) -> int | None:
        if self._code is None:
            try:
                pid, status = os.waitpid(self._pid, how)
            except ChildProcessError:  # the program waited for any child and got this one
                self._code = -signal.SIGKILL
            else:
                self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code


def fork(
    pipe: socket.socket, lifeline: socket.socket, printed: IO[bytes], serve: Callable[[Connection], None]
) -> ForkedProcess:
    """Forks a supervised child that serves its end of the pipe; its output goes to the file."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    with warnings.catch_warnings():
        # Python warns about threads, which torch always has; the child runs none of their code.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        return ForkedProcess(pid)
    code = 1
    try:
        # A program may have closed its standard streams, whose numbers these then have.
        watched, served, log = (above_streams(each.fileno()) for each in (lifeline, pipe, printed))
        supervise(watched)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for descriptor in (1, 2):
            os.dup2(log, descriptor)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        serve(Connection(served))
        code = 0
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _serve(compilations: Mapping[int, RecordedCompilation], pipe: Connection) -> None:
    """Compiles job after job until the parent closes the pipe."""
    from triton import knobs

    from irscope.capturing.compile.worker import prepare, serve
    from irscope.toolchain.compiler import StageMemory, compile_source

    prepare()
    knobs.compilation.listener = None  # the program's listener is for the program's compilations
    memory, emit = StageMemory(), partial(send, pipe)

    def compile_one(job: WorkerTask) -> None:
        if not isinstance(job, RecordedJob):
            raise TypeError(job)
        recorded = compilations[job.number]
        memory.begin(job.file, job.kernel, job.target, job.group)
        with environment_set(recorded.variant.cache_key):
            compile_source(
                recorded.source, recorded.options, recorded.target, memory, emit, passes=job.passes
            )
        send(pipe, JobDone())

    with pipe:
        serve(pipe, compile_one)
