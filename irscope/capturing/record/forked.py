"""Workers forked from the program itself: they have its kernels, closures and globals as they are."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from typing import IO, Any

from irscope.capturing.compile.pool import Worker, run_jobs
from irscope.capturing.compile.request import Outcome
from irscope.capturing.messages import RunJob
from irscope.capturing.record.recorder import Recorded

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def compile_forked(
    wanted: Sequence[Recorded], processes: int | None, seconds: float, passes: bool = False
) -> Iterator[tuple[Recorded, Outcome]]:
    """Compiles each in a forked worker, within `seconds`; yields them as they are done.

    `processes` of None is one a core, and never more than there is to do. `passes` asks for the
    compiler's passes one by one.
    """
    by_number = {recorded.number: recorded for recorded in wanted}
    groups: dict[tuple[object, ...], int] = {}
    jobs = [_job(recorded, groups, passes) for recorded in wanted]
    count = min(processes or len(os.sched_getaffinity(0)), len(jobs))
    workers = [Worker(partial(fork, serve=partial(_serve, by_number))) for _ in range(count)]
    try:
        for job, outcome in run_jobs(jobs, workers, seconds, lambda _: None):
            if isinstance(job, RunJob):
                yield by_number[job.number], outcome
    finally:
        for worker in workers:
            worker.stop()


def _job(recorded: Recorded, groups: dict[tuple[object, ...], int], passes: bool) -> RunJob:
    from pathlib import Path

    variant, function = recorded.variant, recorded.source.fn.fn
    rest = tuple(pair for pair in variant.config.values if pair[0] != "num_stages")
    group = groups.setdefault((recorded.kernel, variant.target, variant.specialization, rest), len(groups))
    file = Path(function.__code__.co_filename)
    return RunJob(
        file, function.__name__, variant.target, variant.specialization, variant.config, group,
        passes=passes, number=recorded.number,
    )  # fmt: skip


class ForkedProcess:
    """A forked child with the part of `subprocess.Popen` that a worker needs."""

    def __init__(self, pid: int) -> None:
        self._pid, self._code = pid, None

    _code: int | None

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int:
        """Waits for its end; the exit code."""
        code = self._reap(0)
        return -signal.SIGKILL if code is None else code

    def kill(self) -> None:
        """Ends it at once."""
        if self.poll() is None:
            os.kill(self._pid, signal.SIGKILL)

    def _reap(self, how: int) -> int | None:
        if self._code is None:
            try:
                pid, status = os.waitpid(self._pid, how)
            except ChildProcessError:  # the program waits for any child, and had this one
                self._code = -signal.SIGKILL
            else:
                self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code


def fork(pipe: socket.socket, printed: IO[bytes], serve: Callable[[Connection], None]) -> ForkedProcess:
    """A child that serves its end of the pipe; what it prints goes to the file."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    with warnings.catch_warnings():
        # Python warns of threads, which torch always has; the child runs none of their code.
        warnings.simplefilter("ignore", DeprecationWarning)
        parent, pid = os.getpid(), os.fork()
    if pid:
        return ForkedProcess(pid)
    code = 1
    try:
        os.setsid()  # Ctrl-C is for the program
        _end_with(parent)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for descriptor in (1, 2):
            os.dup2(printed.fileno(), descriptor)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        serve(Connection(os.dup(pipe.fileno())))
        code = 0
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _end_with(parent: int) -> None:
    """Ends this process when its parent is killed.

    Its pipe would not tell: each worker has inherited the parent's ends of all pipes.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _serve(recorded: Mapping[int, Recorded], pipe: Connection) -> None:
    """Compiles job after job until the pipe closes."""
    from triton import knobs

    from irscope.capturing.compile.worker import attempt, prepare
    from irscope.toolchain.compiler import StageMemory, compile_source

    prepare()
    knobs.compilation.listener = None  # the program's listener is for the program's compilations
    memory = StageMemory()

    def compile_one(job: RunJob) -> None:
        which = recorded[job.number]
        memory.begin(job.file, job.kernel, job.target, job.group)
        send: Any = lambda *piece: pipe.send(piece)  # noqa: E731
        compile_source(which.source, which.options, which.target, memory, send, passes=job.passes)
        pipe.send(("done", "", None))

    with pipe, suppress(BrokenPipeError, EOFError):
        while True:
            attempt(partial(compile_one, pipe.recv()), pipe)
