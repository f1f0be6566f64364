"""Compilations without a GPU: recorded at the launch, done at the end or when the program needs them.

Workers forked from the program itself, so that they have its kernels, closures and globals.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

from irscope.compiling.job import Outcome, job_group
from irscope.compiling.messages import JobDone, LaunchRecorded, RecordedJob, ValuesRecorded, WorkerTask, send
from irscope.compiling.pool import Worker, run_jobs
from irscope.compiling.supervisor import above_streams, supervise
from irscope.compiling.toolchain.patching import never_raises
from irscope.compiling.toolchain.requested_config import TunedNames
from irscope.compiling.toolchain.triton_cache import environment_set
from irscope.model import Launch
from irscope.model.process import available_cores
from irscope.recording.launch_records import MOST_LAUNCHES, launch_of, tensors_in, values_of
from irscope.recording.recorder import RecordedCompilation, Recorder

# Compiles a recorded variant in a worker and loads it from Triton's cache.
CompileNow = Callable[[RecordedCompilation], Any]

# Handles a launch: its compilation, and everything that Triton passes to a kernel's `run`.
OnLaunch = Callable[[RecordedCompilation | None, tuple[Any, ...]], None]


class DeferredKernel:
    """Replaces Triton's CompiledKernel: records launches, and compiles when an attribute is read."""

    # The JIT reads these at each launch.
    function = None
    packed_metadata = None

    def __init__(
        self, recorded: RecordedCompilation | None, compile_now: Callable[[], Any], on_launch: OnLaunch
    ) -> None:
        self._recorded, self._compile_now, self._on_launch = recorded, compile_now, on_launch
        self._kernel: Any = None
        self._launched = False

    def run(self, *arguments: Any) -> None:
        """Handle a launch.

        The arguments are grid, stream, function, metadata and hooks as Triton passes them, then those
        of the kernel.
        """
        self._launched = True
        self._on_launch(self._recorded, arguments)

    def launch_metadata(self, grid: Any, stream: Any, *arguments: Any) -> None:
        """None: no launch hook reads it."""

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        """`kernel[grid](...)`, the launch of a kernel that was compiled beforehand."""
        sizes = (*grid, 1, 1)[:3]
        return lambda *arguments, **_: self.run(*sizes, *[None] * 6, *arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "result":  # 3.6 takes an object with a `result` for a future
            raise AttributeError(name)
        if self._kernel is None:
            self._kernel = self._compile_now()
            if self._launched:  # a launch loads the binary, which sets n_regs
                self._kernel._init_handles()
        return getattr(self._kernel, name)


class DeferredCompilations:
    """Returns deferred kernels to the JIT; `pending` are their compilations, in the order of the requests.

    `on_writes` is called with each launch's function and arguments. Within `without_modes`, torch's modes are
    off.
    """

    def __init__(
        self,
        recorder: Recorder,
        compile_now: CompileNow,
        on_writes: Callable[[Any, Any], None],
        without_modes: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._recorder, self._compile_now, self._on_writes = recorder, compile_now, on_writes
        self._without_modes = without_modes
        self._launches: dict[int, set[Launch]] = {}
        self._functions: dict[int, Any] = {}
        self.pending: list[RecordedCompilation] = []

    def on_jit(
        self, source: Any, target: Any, options: Any, tuned: TunedNames, compile_: Callable[[], Any]
    ) -> DeferredKernel:
        """Record a compilation of the JIT, to be done later."""
        self._functions[id(source.fn)] = source.fn
        recorded = self._record(source, target, options, tuned)
        compile_now = compile_ if recorded is None else lambda: self._compile_now(recorded)
        return DeferredKernel(recorded, compile_now, lambda of, given: self._launch(source, of, given))

    def clear(self) -> None:
        """Forgets everything, in a forked process whose parent compiles it."""
        self._recorder.clear()
        self._launches.clear()
        self.pending.clear()

    def remove_kernels(self, device: int) -> None:
        """Remove the deferred kernels from the JIT's cache for `device`."""
        for function in self._functions.values():
            function.device_caches.pop(device, None)

    @never_raises
    def _record(
        self, source: Any, target: Any, options: Any, tuned: TunedNames
    ) -> RecordedCompilation | None:
        recorded, new = self._recorder.request(source, target, options, tuned)
        if recorded is not None and new:
            self.pending.append(recorded)
        return recorded

    @never_raises
    def _launch(self, source: Any, recorded: RecordedCompilation | None, given: tuple[Any, ...]) -> None:
        launch = None
        with self._without_modes():  # to ask a tensor for its shape takes ten times as long with them
            if recorded is not None:
                launches = self._launches.setdefault(recorded.number, set())
                if not launches:
                    self._keep_values(source, recorded, given)
                if len(launches) < MOST_LAUNCHES:
                    launch = _new_launch(source.fn, given, launches)
            self._on_writes(source.fn, given[9:])
        if recorded is not None and launch is not None:
            launches.add(launch)
            self._recorder.send(LaunchRecorded(recorded.number, launch))

    @never_raises
    def _keep_values(self, source: Any, recorded: RecordedCompilation, given: tuple[Any, ...]) -> None:
        most = self._recorder.options.values
        if most is None or "torch" not in sys.modules:
            return
        from irscope.compiling.fake_cuda.tensor_tags import unknown

        values = values_of(source.fn, given, most, lambda tensor: not unknown(tensor))
        if values is not None:
            self._recorder.send(ValuesRecorded(recorded.number, values.file(launched=False)))


def _new_launch(function: Any, given: tuple[Any, ...], earlier: Collection[Launch]) -> Launch | None:
    """Return a launch with its integers and the tensors to which nothing was written before it.

    Returns None if it is among the earlier ones: reading the integers again would take long.
    """
    launch = launch_of(function, given, lambda tensor: False)
    if launch in earlier:
        return None
    if "torch" not in sys.modules:
        return launch
    from irscope.compiling.fake_cuda.tensor_tags import is_empty, unknown

    launch = launch_of(function, given, lambda tensor: not unknown(tensor))
    arguments = zip((parameter.name for parameter in function.params), given[9:], strict=False)
    tensors = [(name, tensor) for name, tensor in tensors_in(arguments) if hasattr(tensor, "untyped_storage")]
    return replace(launch, unwritten=tuple(name for name, tensor in tensors if is_empty(tensor)))


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
    groups: dict[object, int] = {}
    jobs = [_job(recorded, groups, passes) for recorded in compilations]
    count = min(processes or available_cores(), len(jobs))
    workers = [Worker(partial(fork, serve=partial(_serve, by_number))) for _ in range(count)]
    try:
        for job, outcome in run_jobs(jobs, workers, seconds):
            if isinstance(job, RecordedJob):
                yield by_number[job.number], outcome
    finally:
        for worker in workers:
            worker.stop()


def _job(recorded: RecordedCompilation, groups: dict[object, int], passes: bool) -> RecordedJob:
    variant, function = recorded.variant, recorded.source.fn.fn
    group = job_group(groups, variant.config, recorded.kernel, variant.target, variant.specialization)
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
        """Return the exit code, negative for a signal, or None while it runs."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int:
        """Wait until it ends; the exit code."""
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
        watched, served, log = (
            above_streams(stream_file.fileno()) for stream_file in (lifeline, pipe, printed)
        )
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

    from irscope.compiling.toolchain.compiler import StageMemory, compile_stages
    from irscope.compiling.toolchain.triton_cache import cache_key
    from irscope.compiling.worker import prepare, serve

    prepare()
    knobs.compilation.listener = None  # the program's listener is for the program's compilations
    memory, emit = StageMemory(), partial(send, pipe)

    def compile_one(job: WorkerTask) -> None:
        if not isinstance(job, RecordedJob):
            raise TypeError(job)
        recorded = compilations[job.number]
        memory.begin(job.file, job.kernel, job.target, job.group)
        with environment_set(recorded.variant.cache_key):
            source, options, target = recorded.source, recorded.options, recorded.target
            emit(Outcome(cache_key=cache_key(source, target, options)))
            compile_stages(source, options, target, memory, emit, passes=job.passes)
        send(pipe, JobDone())

    with pipe:
        serve(pipe, compile_one)
