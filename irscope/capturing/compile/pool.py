"""Worker processes: jobs in, outcomes out, whatever a job does to the process that has it.

A worker compiles for one vendor only: Triton 3.6 to 3.8 make other PTX when NVIDIA and AMD targets are
compiled in one process at the same time, and a process apart costs little.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import IO, Protocol

from irscope.capturing.compile.request import Job, Outcome, Plan, SweepRequest
from irscope.model import Failure, UserError
from irscope.toolchain.coalescing import split_printed
from irscope.toolchain.pass_instrumentation import PassLog, naming_pass

_PRINTED_ERROR = re.compile(r"\berror:|LLVM ERROR|\bAssertion\b")


class Process(Protocol):
    """What a worker needs of its process; `subprocess.Popen` has it."""

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""

    def wait(self) -> int:
        """Waits for its end; the exit code."""

    def kill(self) -> None:
        """Ends it at once."""


# Told of each stage of a job the moment it is made: its name and content.
Made = Callable[[Job, str, bytes], None]


class Stopped(Exception):  # noqa: N818 - no error: somebody asked for it
    """A sweep ended before its time; see Stop."""


class Stop:
    """Ends a sweep from another thread: who waits for a worker then raises Stopped, at once."""

    def __init__(self) -> None:
        self._heard, self._said = Pipe(duplex=False)

    def set(self) -> None:
        """Asks for the end; again is no error."""
        self._said.send_bytes(b"stop")  # never read: every later wait hears it too

    def wait(self, pipes: Sequence[Connection], seconds: float | None = None) -> list[Connection]:
        """The pipes that have something to read, after at most `seconds`. Raises Stopped."""
        ready = wait([*pipes, self._heard], seconds)
        if self._heard in ready:
            raise Stopped
        return [pipe for pipe in pipes if pipe in ready]


# Starts a worker process on its end of the pipe; what it prints goes to the file.
Start = Callable[[socket.socket, IO[bytes]], Process]


def spawn(pipe: socket.socket, printed: IO[bytes]) -> Process:
    """A worker that is a Python of its own: see worker.py."""
    return subprocess.Popen(
        [sys.executable, "-m", "irscope.capturing.compile.worker", str(pipe.fileno())],
        stdin=subprocess.DEVNULL,
        stdout=printed,
        stderr=printed,
        pass_fds=[pipe.fileno()],
        start_new_session=True,  # Ctrl-C is for the parent, which stops its workers
    )


class Worker:
    """One worker process and the job that it has."""

    def __init__(self, start: Start = spawn) -> None:
        self._start = start
        ours, theirs = socket.socketpair()
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed in stop()
        # The parent empties the file between jobs; the worker goes on at its end, not where it was.
        flags = fcntl.fcntl(self._printed, fcntl.F_GETFL)
        fcntl.fcntl(self._printed, fcntl.F_SETFL, flags | os.O_APPEND)
        self._process = start(theirs, self._printed)
        theirs.close()
        self.pipe = Connection(ours.detach())
        self.vendor: str | None = None
        self.job: Job | None = None
        self.outcome = Outcome()
        self.deadline = 0.0

    def successor(self) -> Worker:
        """Ends this worker's process; a new worker of its kind."""
        self.stop()
        return Worker(self._start)

    def plan(self, request: SweepRequest, stop: Stop) -> Plan:
        """The plan of a request. Raises UserError where it does not fit, or the process ends; Stopped."""
        self.pipe.send(request)
        stop.wait([self.pipe])
        try:
            kind, _, value = self.pipe.recv()
        except (EOFError, ConnectionResetError) as error:
            raise UserError(f"{request.file}: {self._death()}; it printed:\n{self._output()}") from error
        if kind == "plan" and isinstance(value, Plan):
            return value
        raise UserError(f"{request.file}: {value.kind}: {value.summary}" if kind == "raised" else str(value))

    def start(self, job: Job, seconds: float) -> None:
        """Gives the worker a job, to be done within so many seconds."""
        self._printed.truncate(0)
        self.vendor, self.job, self.outcome = job.target.backend, job, Outcome()
        self.deadline = time.monotonic() + seconds
        with suppress(BrokenPipeError):  # a worker that just died: its end of file is read next
            self.pipe.send(job)

    def receive(self, made: Made) -> bool:
        """Takes in what the worker sent, telling `made` of each stage; whether the job is over."""
        try:
            while True:
                kind, name, value = self.pipe.recv()
                if kind in ("done", "wrong", "raised"):
                    self._keep_printed()
                    if kind != "done":
                        told = value if isinstance(value, Failure) else Failure("UserError", value, value)
                        self.outcome.failure = self._with_output(told)
                    return True
                if kind == "artifacts" and self.job is not None:
                    made(self.job, name, value)
                held = getattr(self.outcome, kind)
                if isinstance(held, dict):
                    held[name] = value
                elif kind == "passes":
                    told_passes = PassLog(self.outcome.passes)
                    told_passes.tell(value)
                    self.outcome.passes = told_passes.passes
                else:
                    setattr(self.outcome, kind, value)
                if not self.pipe.poll():
                    return False
        except (EOFError, ConnectionResetError):
            self._fail(self._death())
            return True

    def expire(self, seconds: float) -> None:
        """Ends the process of a job that took too long."""
        self._process.kill()
        self._process.wait()
        self._fail(f"timeout: not compiled within {seconds:g} s (--timeout)")

    @property
    def alive(self) -> bool:
        """Whether the process still takes jobs."""
        return self._process.poll() is None

    def stop(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()
        self.pipe.close()
        self._printed.close()

    def _fail(self, why: str) -> None:
        self._keep_printed()
        self.outcome.failure = self._with_output(Failure(why.partition(":")[0], why, why))

    def _with_output(self, failure: Failure) -> Failure:
        """The failure with everything that was printed; its summary with the first error printed.

        MLIR's passes print what is wrong and raise only that they failed. Where passes were told of, the
        one that failed is named.
        """
        printed = self.outcome.output.strip()
        told = next((line.strip() for line in printed.splitlines() if _PRINTED_ERROR.search(line)), "")
        summary = failure.summary if told in failure.message else f"{failure.summary}: {told}"
        message = "\n\n".join(part for part in (failure.message, printed) if part)
        return naming_pass(Failure(failure.kind, summary, message), PassLog(self.outcome.passes))

    def _death(self) -> str:
        code = self._process.wait()
        if code < 0:
            return f"aborted: the compiler ended its process with {signal.Signals(-code).name}"
        return f"exited: the compiler ended its process with exit code {code}"

    def _keep_printed(self) -> None:
        self.outcome.output = self._output()
        if self.job is not None and self.job.reasons:
            self.outcome.output, self.outcome.reasons = split_printed(self.outcome.output)

    def _output(self) -> str:
        self._printed.seek(0)
        return self._printed.read().decode(errors="replace")


def run_jobs(
    jobs: Sequence[Job],
    workers: list[Worker],
    seconds: float,
    started: Callable[[Job], None],
    made: Made = lambda *_: None,
    stop: Stop | None = None,
) -> Iterator[tuple[Job, Outcome]]:
    """Compiles the jobs on the workers, yielding each outcome as it comes.

    `seconds` is the time limit of one job; `started` is told of each job as a worker takes it, `made` of
    each stage. A worker that ends is replaced, in place, in `workers`. Raises Stopped where `stop` asks.
    """
    stop = stop or Stop()
    queue = _Queue(jobs)
    while True:
        for index, worker in enumerate(workers):
            if worker.job is None and (job := queue.take(index)) is not None:
                if not worker.alive or worker.vendor not in (None, job.target.backend):
                    workers[index] = worker.successor()
                workers[index].start(job, seconds)
                started(job)
        busy = {worker.pipe: worker for worker in workers if worker.job is not None}
        if not busy:
            return
        left = min(worker.deadline for worker in busy.values()) - time.monotonic()
        ready = [busy[pipe] for pipe in stop.wait(list(busy), max(left, 0))]
        over = [worker for worker in ready if worker.receive(made)]
        for worker in busy.values():
            if worker not in over and worker not in ready and time.monotonic() >= worker.deadline:
                worker.expire(seconds)
                over.append(worker)
        for worker in over:
            job, worker.job = worker.job, None
            if job is not None:
                yield job, worker.outcome


class _Queue:
    """The jobs still to do. A worker gets a whole group, one job at a time: see Job.group.

    One that finds no group left helps out with the largest that another has.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        groups: dict[int, deque[Job]] = {}
        for job in jobs:
            groups.setdefault(job.group, deque()).append(job)
        self._waiting = deque(groups.values())
        self._held: dict[int, deque[Job]] = {}

    def take(self, worker: int) -> Job | None:
        held = self._held.get(worker)
        if held:
            return held.popleft()
        if self._waiting:
            self._held[worker] = self._waiting.popleft()
            return self._held[worker].popleft()
        largest = max(self._held.values(), key=len, default=None)
        return largest.pop() if largest else None
