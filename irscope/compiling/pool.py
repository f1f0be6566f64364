"""Worker processes: run jobs and yield their outcomes, even if a job crashes or hangs its process.

A worker compiles for only one vendor: Triton 3.6 to 3.8 produce different PTX if NVIDIA and AMD targets are
compiled at the same time in one process, and an extra process costs little.

The jobs of a sweep that no worker has taken yet.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from threading import Event, Timer, current_thread, main_thread
from typing import IO, Any, Protocol, cast

from irscope.compiling.job import Job, Outcome, PassLog, with_dtype_hint, with_failed_pass
from irscope.compiling.messages import (
    DisconnectedError,
    JobDone,
    JobFailed,
    Reply,
    Request,
    RequestRejected,
    receive,
    send,
)
from irscope.compiling.processes.child_process import python_command
from irscope.compiling.toolchain.pass_instrumentation import split_coalescing_output
from irscope.model import Failure, UserError
from irscope.model.errors import ArgumentError
from irscope.model.text import clipped


class JobQueue:
    """The jobs that no worker has taken. A worker gets a whole group, one job at a time; see Job.group.

    When no group is left, it takes jobs from the largest group of another worker.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        groups: dict[int, deque[Job]] = {}
        for job in jobs:
            groups.setdefault(job.group, deque()).append(job)
        self._left = len(jobs)
        self._waiting = deque(groups.values())
        self._held: dict[Hashable, deque[Job]] = {}

    def __len__(self) -> int:
        return self._left

    def take(self, worker: Hashable) -> Job | None:
        """Return the next job for a worker, which may have any name, or None if all are taken."""
        job = self._next(worker)
        self._left -= job is not None
        return job

    def _next(self, worker: Hashable) -> Job | None:
        held = self._held.get(worker)
        if held:
            return held.popleft()
        if self._waiting:
            self._held[worker] = self._waiting.popleft()
            return self._held[worker].popleft()
        largest = max(self._held.values(), key=len, default=None)
        return largest.pop() if largest else None


# The bytes that are kept of the beginning of a process's output, and as many of its end.
_MAX_OUTPUT = 8 << 20
_MAX_PRINTED = 500
_PRINTED_ERROR = re.compile(r"\berror:|LLVM ERROR|\bAssertion\b")


class Process(Protocol):
    """The interface that a worker needs of its process; `subprocess.Popen` has it."""

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while it runs."""

    def wait(self) -> int:
        """Wait until it ends; the exit code."""


# Called with the name and content of each stage of a job as soon as it is compiled.
OnStage = Callable[[Job, str, bytes], None]


class Stopped(Exception):  # noqa: N818 - not an error: another thread asked for it
    """A sweep was stopped before its end; see Stop."""


class Stop:
    """Stops a sweep from another thread: the thread that waits for workers raises Stopped at once."""

    def __init__(self) -> None:
        self._reader, self._writer = Pipe(duplex=False)

    def set(self) -> None:
        """Stop the sweep; may be called again."""
        self._writer.send_bytes(b"stop")  # never read, so that every later wait ends too

    def wait(self, pipes: Sequence[Connection], seconds: float | None = None) -> list[Connection]:
        """Return the pipes with something to read, after at most `seconds`. Raises Stopped."""
        ready = wait([*pipes, self._reader], seconds)
        if self._reader in ready:
            raise Stopped
        return [pipe for pipe in pipes if pipe in ready]


@contextmanager
def stop_at(until: float | None) -> Iterator[Stop]:
    """Yield a Stop that is set at a time of `time.monotonic`; never, if that is None."""
    stop = Stop()
    if until is None:
        yield stop
        return
    timer = Timer(max(until - time.monotonic(), 0.0), stop.set)
    timer.daemon = True
    timer.start()
    try:
        yield stop
    finally:
        timer.cancel()


@contextmanager
def stop_at_interrupt(stop: Stop) -> Iterator[Event]:
    """Let Ctrl-C also set `stop` and the yielded event in this block.

    Python drops a KeyboardInterrupt that is raised in a finalizer or in a callback of a weak reference, of
    Dask's objects for example; the sweep would go on to its end.
    """
    interrupted = Event()
    in_main_thread = current_thread() is main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupted  # other threads get no signals, and a program's own handler stays
        return

    def interrupt(*_: object) -> None:
        interrupted.set()
        stop.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# Starts a worker on its ends of the pipe and the lifeline (see supervisor.py); its output goes to the file.
Start = Callable[[socket.socket, socket.socket, IO[bytes]], Process]


# The module of workers that plan and compile.
WORKER = "irscope.compiling.worker"


def spawn(
    pipe: socket.socket,
    lifeline: socket.socket,
    printed: IO[bytes],
    module: str = WORKER,
    arguments: Sequence[str] = (),
    python: str = "",
    variables: Mapping[str, str] | None = None,
) -> Process:
    """Start a worker in a new process of `python` ("": this one): `main` of `module`; see worker.py."""
    descriptors = [pipe.fileno(), lifeline.fileno()]
    return subprocess.Popen(
        python_command(module, *map(str, descriptors), *arguments, python=python),
        env=None if variables is None else {**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=printed,
        stderr=printed,
        pass_fds=descriptors,
        start_new_session=True,  # the terminal sends Ctrl-C only to the parent, which stops its workers
    )


class Worker:
    """A worker process and its current job."""

    def __init__(self, start: Start = spawn) -> None:
        self._start = start
        ours, theirs = socket.socketpair()
        self._lifeline, watched = socket.socketpair()
        self.pipe = Connection(ours.detach())
        _open.add(self)
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed in stop()
        # The parent empties the file between jobs; the worker must continue at its new end.
        flags = fcntl.fcntl(self._printed, fcntl.F_GETFL)
        fcntl.fcntl(self._printed, fcntl.F_SETFL, flags | os.O_APPEND)
        self._process = start(theirs, watched, self._printed)
        theirs.close()
        watched.close()
        self.vendor: str | None = None
        self.job: Job | None = None
        self.outcome = Outcome()
        self.deadline = 0.0
        self._begun: Request[Any] | None = None
        self._tasks = 0
        self._crashed = False

    def replacement(self) -> Worker:
        """End this worker's process and return a new worker of the same kind."""
        self.stop()
        return self.another()

    def another(self) -> Worker:
        """Start a new worker of the same kind."""
        return Worker(self._start)

    def begin(self, request: Request[Any]) -> None:
        """Send a request whose answer is asked for later, with `ask`."""
        self._tasks += 1
        self._begun = request
        with suppress(DisconnectedError):  # the worker just died: `ask` finds out
            send(self.pipe, request)

    def ask(self, request: Request[Reply], seconds: float, stop: Stop | None = None) -> Reply:
        """Return the answer to a request.

        Raises UserError if the request does not fit the file, the process ends or the answer takes more than
        `seconds`; Stopped.
        """
        if self._begun is not request:
            self.begin(request)
        self._begun = None
        try:
            if not (stop or Stop()).wait([self.pipe], seconds):
                self._end()
                raise UserError(f"{request.file}: importing it takes more than {seconds:g} s (--timeout)")
            reply = receive(self.pipe)
        except DisconnectedError as error:
            raise UserError(f"{request.file}: {self._death()[1]}{self._last_printed()}") from error
        match reply:
            case RequestRejected(problem, None):
                raise UserError(problem)
            case RequestRejected(problem, str(argument), guess, command):
                raise ArgumentError(argument, problem, guess, command)
            case JobFailed(failure):
                raise UserError(f"{request.file}: {failure.kind}: {failure.summary}")
        return cast("Reply", reply)

    def start(self, job: Job, seconds: float) -> None:
        """Give the worker a job and a time limit."""
        self._printed.truncate(0)
        self._tasks += 1
        self.vendor, self.job, self.outcome = job.target.backend, job, Outcome()
        self.deadline = time.monotonic() + seconds
        with suppress(DisconnectedError):  # the worker just died: `advance` finds out
            send(self.pipe, job)

    def advance(self, on_stage: OnStage) -> bool:
        """Process the messages that have arrived; returns whether the job is over."""
        try:
            while True:
                match receive(self.pipe):
                    case JobDone():
                        self._keep_output()
                        return True
                    case JobFailed(failure):
                        self._fail(failure)
                        return True
                    case RequestRejected(problem):
                        self._fail(Failure("UserError", problem, problem))
                        return True
                    case Outcome() as event:
                        for stage, content in event.artifacts.items():
                            if self.job is not None and isinstance(content, bytes):
                                on_stage(self.job, stage, content)
                        self.outcome.add(event)
                if not self.pipe.poll():
                    return False
        except DisconnectedError:
            self._crashed = True
            self._fail(_failure(*self._death()))
            return True

    def expire(self, seconds: float) -> None:
        """Kills the process of a job that exceeded its time limit."""
        self._end()
        self._fail(_failure("timeout", f"not compiled within {seconds:g} s"))

    @property
    def in_doubt(self) -> bool:
        """Return True if the process crashed in its current job, but an earlier task may be the cause."""
        return self._crashed and self._tasks > 1

    @property
    def alive(self) -> bool:
        """Return True if the process still runs."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End the process."""
        self._end()
        self.pipe.close()
        self._printed.close()

    def abandon(self) -> None:
        """Close what a forked process inherited: only the process that started a worker keeps it alive."""
        self._lifeline.close()
        self.pipe.close()

    def _end(self) -> None:
        """End the process and all that it started."""
        self._lifeline.close()
        self._process.wait()

    def _fail(self, failure: Failure) -> None:
        """Keep the failure with all output; its summary gains the first error printed and the pass.

        MLIR's passes print the error and raise only that they failed.
        """
        self._keep_output()
        printed = self.outcome.output.strip()
        error = next((line.strip() for line in printed.splitlines() if _PRINTED_ERROR.search(line)), "")
        summary = failure.summary
        if error not in failure.message:
            error = clipped(error, _MAX_PRINTED)
            # An exception without a text has its class as its summary.
            summary = error if summary == failure.kind else f"{summary}: {error}"
        message = "\n\n".join(part for part in (failure.message, printed) if part)
        failure = Failure(failure.kind, summary, message)
        if self.job is not None:
            failure = with_dtype_hint(failure, self.job)
        self.outcome.failure = with_failed_pass(failure, PassLog(self.outcome.passes))

    def _death(self) -> tuple[str, str]:
        """Describe how the process ended: the kind of failure, and a line for the user."""
        self._lifeline.close()  # the pipe can be closed in a process that has not ended
        code = self._process.wait()
        how = f"exit code {code}" if code >= 0 else _signal_name(-code)
        return "aborted" if code < 0 else "exited", f"the compiler ended its process with {how}"

    def _keep_output(self) -> None:
        self.outcome.output = self._output()
        if self.job is not None and self.job.reasons:
            self.outcome.output, self.outcome.reasons = split_coalescing_output(self.outcome.output)

    def _last_printed(self) -> str:
        """Return the last line that the process printed, as the end of a sentence."""
        lines = self._output().split()
        return f"; it printed: {' '.join(lines)[-_MAX_PRINTED:]}" if lines else ""

    def _output(self) -> str:
        """Return the output of the process during its task; of a long text, the beginning and the end."""
        size = os.fstat(self._printed.fileno()).st_size
        self._printed.seek(0)
        text = self._printed.read(min(size, _MAX_OUTPUT)).decode(errors="replace")
        if size <= _MAX_OUTPUT:
            return text
        self._printed.seek(max(size - _MAX_OUTPUT, _MAX_OUTPUT))
        end = self._printed.read(_MAX_OUTPUT).decode(errors="replace")
        omitted = size - 2 * _MAX_OUTPUT
        return f"{text}\n[{omitted:,} bytes omitted]\n{end}" if omitted > 0 else text + end


# The workers of this process.
_open: weakref.WeakSet[Worker] = weakref.WeakSet()


def _abandon_workers() -> None:
    for worker in list(_open):
        worker.abandon()
    _open.clear()


os.register_at_fork(after_in_child=_abandon_workers)


def _failure(kind: str, text: str) -> Failure:
    return Failure(kind, text, f"{kind}: {text}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


def run_jobs(
    jobs: Sequence[Job],
    workers: list[Worker],
    seconds: float,
    on_start: Callable[[Job], None] = lambda _: None,
    on_stage: OnStage = lambda *_: None,
    stop: Stop | None = None,
) -> Iterator[tuple[Job, Outcome]]:
    """Compiles the jobs on the workers and yields each outcome as it arrives.

    `seconds` is the time limit per job; `on_start` is called when a worker takes a job, `on_stage` for
    each stage. A worker that has ended is replaced in `workers`. A job during which a worker that had done
    something else before crashed is tried again in a new one, so that only a job that crashes a new worker
    fails. Raises Stopped.
    """
    stop = stop or Stop()
    queue = JobQueue(jobs)
    again: dict[int, Job] = {}
    while True:
        for index, worker in enumerate(workers):
            retried = again.pop(index, None)
            if worker.job is None and (job := retried or queue.take(index)) is not None:
                if not worker.alive or worker.vendor not in (None, job.target.backend):
                    workers[index] = worker.replacement()
                workers[index].start(job, seconds)
                if retried is None:
                    on_start(job)
        busy = {worker.pipe: worker for worker in workers if worker.job is not None}
        if not busy:
            return
        left = min(worker.deadline for worker in busy.values()) - time.monotonic()
        ready = [busy[pipe] for pipe in stop.wait(list(busy), max(left, 0))]
        over = [worker for worker in ready if worker.advance(on_stage)]
        for worker in busy.values():
            if worker not in over and worker not in ready and time.monotonic() >= worker.deadline:
                worker.expire(seconds)
                over.append(worker)
        for worker in over:
            job, worker.job = worker.job, None
            if job is not None and worker.in_doubt:
                again[workers.index(worker)] = job
            elif job is not None:
                yield job, worker.outcome
