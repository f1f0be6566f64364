"""A worker process: receives requests and jobs, answers with plans and compiler events.

`pool.py` starts it with the numbers of two descriptors: one end of the pipe, and one of the lifeline (see
supervisor.py). Its stdout and stderr are a file that the parent reads, because the compiler prints to them.

The state that user code can change in a worker: restored between tasks, so that no task affects the next.

Importing a kernel file may change it for good, as it does in the user's program, except for what the compiler
itself needs: the file mode of the cache (umask), the signal of an ended ptxas (SIGCHLD), stdout and stderr.
"""

from __future__ import annotations

import importlib.util
import os
import re
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from irscope.compiling.job import Job
from irscope.compiling.messages import (
    DisconnectedError,
    JobDone,
    JobFailed,
    KernelsRequest,
    RequestRejected,
    SourcesRequest,
    SweepRequest,
    WhatIfRequest,
    WorkerReply,
    WorkerTask,
    receive,
    send,
)
from irscope.compiling.supervisor import supervise
from irscope.compiling.toolchain.patching import once_imported
from irscope.model import Failure, Target, UserError
from irscope.model.errors import ArgumentError, error_text
from irscope.model.plugins import silence

if TYPE_CHECKING:
    from irscope.compiling.toolchain.compiler import StageMemory


# stdout and stderr go to the file that the parent reads.
_LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
_STREAMS = ((1, "stdout"), (2, "stderr"))


@dataclass(frozen=True)
class ProcessState:
    """The state of this process when it was made."""

    folder: str | None
    environment: Mapping[str, str]
    handlers: Mapping[signal.Signals, Any]
    recursion_limit: int
    limits: Mapping[int, tuple[int, int]]

    @classmethod
    def current(cls) -> ProcessState:
        """Return the state of this process now."""
        folder = None
        with suppress(OSError):  # it may have been removed
            folder = os.getcwd()  # noqa: PTH109
        handlers = {number: signal.getsignal(number) for number in signal.Signals}
        limits = {number: resource.getrlimit(number) for number in _LIMITS}
        return cls(folder, dict(os.environ), handlers, sys.getrecursionlimit(), limits)

    def restore(self) -> bool:
        """Make this the state of the process again; False if that is not possible."""
        for number, before in self.limits.items():
            if resource.getrlimit(number) != before:
                try:
                    resource.setrlimit(number, before)
                except (OSError, ValueError):  # a hard limit was lowered
                    return False
        if self.folder is not None:
            with suppress(OSError):
                os.chdir(self.folder)
        if os.environ != self.environment:
            os.environ.clear()
            os.environ.update(self.environment)
        self.restore_handlers()
        sys.setrecursionlimit(self.recursion_limit)
        return True

    def restore_handlers(self) -> None:
        """Restores the handlers of all signals that Python knows; ends timers."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self.handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                with suppress(OSError, ValueError):
                    signal.signal(number, handler)


class Isolation:
    """Keeps what tasks do to this process from the tasks after them; made before any user code runs."""

    def __init__(self) -> None:
        self._umask = _umask()
        self._first = ProcessState.current()
        self._printed = os.dup(1)
        self.spoiled = False

    @contextmanager
    def task(self) -> Iterator[None]:
        """Restores after the block what it changed; if it cannot, the process is `spoiled`."""
        process, state = os.getpid(), ProcessState.current()
        try:
            yield
        finally:
            self.spoiled = not state.restore() and os.getpid() == process
            self.repair()

    def repair(self) -> None:
        """Restores what the compiler needs, after the import of a kernel file or a task."""
        os.umask(self._umask)
        self._first.restore_handlers()
        for descriptor, name in _STREAMS:
            if not _same_file(descriptor, self._printed):
                os.dup2(self._printed, descriptor)
            stream = getattr(sys, name)
            if stream is None or getattr(stream, "closed", False):
                setattr(sys, name, open(descriptor, "w", closefd=False, errors="replace"))  # noqa: SIM115


def _umask() -> int:
    now = os.umask(0o077)
    os.umask(now)
    return now


def _same_file(descriptor: int, other: int) -> bool:
    try:
        return os.path.sameopenfile(descriptor, other)
    except OSError:  # it is closed
        return False


# 3.9 warns that this default will change. Setting the variable would silence the warning too, but it is part
# of the cache key, so the user's own runs would no longer find these compilations.
FP_FUSION_WARNING = "TRITON_DEFAULT_FP_FUSION is unset"
# Causes of causes: a chain may have a cycle.
_MAX_CAUSES = 20


# Requests that packages above this one add, each with the function that makes its reply.
FurtherRequests = Mapping[type, Callable[[Any], WorkerReply]]


def main(pipe: str, lifeline: str, further: FurtherRequests = MappingProxyType({})) -> None:
    """Serve the pipe that the parent opened as this file descriptor, supervised."""
    supervise(int(lifeline))
    os.set_inheritable(int(pipe), False)
    code = 1
    try:
        serve_requests(Connection(int(pipe)), further)
        code = 0
    except BaseException:  # noqa: BLE001 - the parent shows the last line that was printed
        traceback.print_exc()
    finally:
        os._exit(code)  # without the exit handlers of user code, which may hang


def serve_requests(pipe: Connection, further: FurtherRequests = MappingProxyType({})) -> None:
    """Plan and compile until the parent closes the pipe."""
    silence()
    if importlib.util.find_spec("triton") is None:
        serve(pipe, _refuse)
        return
    prepare()
    from irscope.compiling.toolchain.compiler import StageMemory

    with pipe, ExitStack() as stack:
        answer = partial(_answer, memory=StageMemory(), pipe=pipe, further=further)
        serve(pipe, partial(_work, answer=answer, stack=stack, isolation=Isolation()))


def _refuse(task: WorkerTask) -> None:
    raise UserError("compiling needs triton, which is not installed: pip install 'irscope[compile]' (Linux)")


def serve(pipe: Connection, work: Callable[[WorkerTask], None]) -> None:
    """Call `work` for each task, and send its exceptions, until the parent closes the pipe."""
    os.register_at_fork(after_in_child=pipe.close)  # user code may fork: only this process answers
    try:
        while True:
            task = receive(pipe)
            if isinstance(task, WorkerTask):
                _attempt(partial(work, task), pipe)
    except DisconnectedError:
        return


def _work(
    task: WorkerTask, answer: Callable[[WorkerTask], None], stack: ExitStack, isolation: Isolation
) -> None:
    from irscope.compiling.python_files import import_file

    if isolation.spoiled:
        os._exit(0)  # the parent tries the task again in a new worker
    target = task.targets[0] if isinstance(task, SweepRequest | SourcesRequest) else task.target
    _use_stub_driver(target, stack)
    try:
        import_file(task.file)
    finally:
        isolation.repair()
    with isolation.task():
        answer(task)


def _answer(task: WorkerTask, memory: StageMemory, pipe: Connection, further: FurtherRequests) -> None:
    from irscope.compiling.kernels import kernel_names
    from irscope.compiling.plan import make_plan
    from irscope.compiling.toolchain.compiler import compile_job
    from irscope.compiling.worker_requests import find_sources, plan_what_if

    if isinstance(task, Job):
        compile_job(task, memory, partial(send, pipe))
        send(pipe, JobDone())
        return
    answers: FurtherRequests = {
        KernelsRequest: lambda request: kernel_names(request.file),
        SweepRequest: make_plan,
        WhatIfRequest: plan_what_if,
        SourcesRequest: find_sources,
        **further,
    }
    send(pipe, answers[type(task)](task))


def _attempt(work: Callable[[], None], pipe: Connection) -> None:
    """Call `work` and send its exception. Raises DisconnectedError if the parent has ended."""
    process = os.getpid()
    try:
        work()
    except ArgumentError as error:
        send(pipe, RequestRejected(error.problem, error.argument, error.guess, error.command))
    except UserError as error:
        send(pipe, RequestRejected(str(error)))
    except DisconnectedError:
        raise
    except BaseException as error:  # noqa: BLE001 - the compiler and user code may raise anything
        if os.getpid() == process:
            send(pipe, JobFailed(failure_of(error)))
    finally:
        if os.getpid() != process:  # user code forked, and its child returned to here
            os._exit(0)


def failure_of(error: BaseException) -> Failure:
    """Return the failure that a variant keeps of the exception that ended its compilation."""
    return Failure(type(error).__name__, _summary(error), _message(error))


def _summary(error: BaseException) -> str:
    """Return the most useful line of an error.

    A CompilationError quotes the kernel first; the error is its last line or its cause. A
    PTXASError quotes the ptxas log.
    """
    text = error_text(error)
    lines = [line.strip() for line in text.splitlines() if line.strip(" ^")]
    if re.match(r"at \d+:\d+:", text):
        return _summary(error.__cause__) if error.__cause__ else lines[-1]
    detail = next((line for line in lines[1:] if re.search(r"\b(error|fatal)\b", line)), "")
    return ": ".join(part for part in ((lines or [type(error).__name__])[0], detail) if part)


def _message(error: BaseException) -> str:
    """Return the texts of the error and its causes, and its traceback location."""
    texts = [error_text(error) or type(error).__name__]
    cause = error.__cause__
    while cause is not None and len(texts) < _MAX_CAUSES:
        texts.append(f"{type(cause).__name__}: {error_text(cause)}")
        cause = cause.__cause__
    trace = "".join(traceback.format_tb(error.__traceback__)[-3:])
    return "\n".join([*texts, "", "Traceback (innermost calls):", trace]).rstrip()


def prepare(triton_key: str | None = None) -> None:
    """Configure Triton for all compilations in this process. `triton_key` is Triton's own key, if known."""
    warnings.filterwarnings("ignore", message=FP_FUSION_WARNING)
    from triton import knobs
    from triton.runtime import cache

    from irscope.compiling.toolchain.triton_cache import remember_triton_key

    if triton_key is None:
        remember_triton_key()
    else:
        cache.triton_key = lambda: triton_key
    knobs.nvidia.dump_ptxas_log = True


def _use_stub_driver(target: Target, stack: ExitStack) -> None:
    from triton.runtime import driver

    from irscope.compiling.toolchain.stub_driver import StubDriver

    if not isinstance(driver._active, StubDriver):
        # From then on, `torch.cuda` answers as under `irscope run`: kernel files ask it. A file is imported
        # once, so the target of the first task answers for all.
        once_imported("torch", partial(_fake_cuda, target, stack))
    driver.set_active(StubDriver(target))


def _fake_cuda(target: Target, stack: ExitStack) -> None:
    from irscope.compiling.fake_cuda.torch_cuda import fake_cuda

    stack.enter_context(fake_cuda(target))
