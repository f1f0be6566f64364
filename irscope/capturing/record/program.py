"""Runs and captures the user's program in a separate process; the parent writes the capture.

The parent's half is `run_captured`. It starts the child as `python -m irscope.capturing.record.program FD`,
which runs the program as Python itself would: with its own `__main__`, arguments, path and exit code.
"""

from __future__ import annotations

import builtins
import io
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import SourceFileLoader
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType, ModuleType, TracebackType

from irscope.capturing.call_stack import user_line, without_own_frames
from irscope.capturing.fake_cuda.stub_modules import print_missing
from irscope.capturing.messages import (
    Answer,
    DisconnectedError,
    Finished,
    Program,
    Question,
    Record,
    StartProgram,
    SubprocessOptions,
    receive,
    send,
)
from irscope.capturing.record.background_writer import BackgroundWriter
from irscope.capturing.record.subprocesses import OwnCapture, announce, capture_forks
from irscope.capturing.torch_ptxas import use_torch_ptxas
from irscope.model import UserError
from irscope.plugins import silence
from irscope.toolchain.stub_driver import NeedsGpuError

ExceptHook = Callable[[type[BaseException], BaseException, TracebackType | None], object]


def run_captured(program: Program, subprocesses: SubprocessOptions, writer: BackgroundWriter) -> int:
    """Runs the program and writes its records; returns its exit code, 128 + N if signal N ended it.

    `subprocesses` says where the processes that it starts write theirs.
    """
    ours, theirs = socket.socketpair()
    child = subprocess.Popen(
        [sys.executable, "-m", "irscope.capturing.record.program", str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
    )
    theirs.close()
    with Connection(ours.detach()) as pipe, _forwarded_signals(child):
        with suppress(DisconnectedError):
            send(pipe, StartProgram(program, subprocesses))
            while True:
                record = receive(pipe)
                if isinstance(record, Question):
                    send(pipe, writer.ask(record))
                elif isinstance(record, Record):
                    writer.put(record)
        code = child.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def _forwarded_signals(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ignores Ctrl-C, which the terminal sends to the program too, and forwards SIGTERM to the program."""

    def ignore(number: int, frame: FrameType | None) -> None:
        return

    def forward(number: int, frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(child.pid, number)

    handlers = ((signal.SIGINT, ignore), (signal.SIGTERM, forward))
    old = [(number, signal.signal(number, handler)) for number, handler in handlers]
    try:
        yield
    finally:
        for number, handler in old:
            signal.signal(number, handler)


class PipeLink:
    """Sends records to the parent, or nowhere once it has ended; a forked process writes its own capture."""

    def __init__(self, pipe: Connection, forked: OwnCapture) -> None:
        self._pipe, self._owner, self._lock = pipe, os.getpid(), threading.Lock()
        self._forked = forked

    def put(self, record: Record) -> None:
        """Sends a record."""
        if os.getpid() != self._owner:
            self._forked.put(record)
            return
        with self._lock, suppress(DisconnectedError):
            send(self._pipe, record)

    def ask(self, question: Question) -> Answer | None:
        """Sends a question and waits for its answer; None if the parent has ended."""
        if os.getpid() != self._owner:
            return self._forked.ask(question)
        with self._lock, suppress(DisconnectedError):
            send(self._pipe, question)
            answer = receive(self._pipe)
            return answer if isinstance(answer, Answer) else None
        return None


def main(descriptor: int) -> int:
    """Runs and captures the program that the parent names; returns its exit code."""
    silence()
    os.set_inheritable(descriptor, False)
    pipe = Connection(descriptor)
    start = receive(pipe)
    if not isinstance(start, StartProgram):
        raise TypeError(start)
    link = PipeLink(pipe, OwnCapture(start.subprocesses))
    announce(start.subprocesses)

    from irscope.capturing.record.session import recording

    # Makes torch.compile compile its kernels in this process, which records them, instead of in workers.
    if os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1") == "1":
        use_torch_ptxas()
    try:
        with recording(start.subprocesses.options, link) as fork_hooks:
            capture_forks(fork_hooks, link)
            code = run_program(start.program)
            if code:
                print_missing()
    except UserError as error:
        print(f"irscope: {error.command_line_text}", file=sys.stderr)
        code = 2
    link.ask(Finished())
    return code


def run_program(program: Program) -> int:
    """Runs the program to its end, threads included, and returns its exit code.

    Prints what the program raises, as Python would. The code is 130 for Ctrl-C and 1 if the program had to
    stop because it needs a GPU.
    """
    try:
        {"script": _run_script, "module": _run_module, "code": _run_code}[program.kind](program)
    except SystemExit as exit_:
        return _exit_code(exit_.code)
    except NeedsGpuError as stop:
        _print_stop(stop)
        return 1
    except BaseException as error:  # noqa: BLE001 - the program's own: Python prints it and exits
        error.__traceback__ = without_own_frames(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    finally:
        _join_threads()
    return 0


def reporting_stops(hook: ExceptHook) -> ExceptHook:
    """A `sys.excepthook` that prints a NeedsGpuError as one line and passes the rest to `hook`."""

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, NeedsGpuError):
            _print_stop(error)
        else:
            hook(kind, error, trace)

    return report


def _print_stop(stop: NeedsGpuError) -> None:
    print(f"irscope: {user_line(stop.__traceback__)}: {stop}", file=sys.stderr)


def _run_script(program: Program) -> None:
    sys.argv = [program.name, *program.arguments]
    sys.orig_argv = [sys.executable, *sys.argv]
    path = os.path.abspath(program.name)  # noqa: PTH100 - what Python itself does; resolves no links
    if Path(path).is_dir() or zipfile.is_zipfile(path):
        sys.path[0] = path
        _new_main(None)
        runpy._run_module_as_main("__main__", alter_argv=False)  # type: ignore[attr-defined]
        return
    sys.path[0] = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - likewise
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec")
    exec(code, _new_main(path))  # noqa: S102 - the user asked to run it


def _run_module(program: Program) -> None:
    sys.argv = [program.name, *program.arguments]
    sys.orig_argv = [sys.executable, "-m", *sys.argv]
    sys.path[0] = str(Path.cwd())
    runpy.run_module(program.name, run_name="__main__", alter_sys=True)


def _run_code(program: Program) -> None:
    sys.argv = ["-c", *program.arguments]
    sys.orig_argv = [sys.executable, "-c", program.name, *program.arguments]
    sys.path[0] = ""
    exec(compile(program.name, "<string>", "exec"), _new_main(None))  # noqa: S102 - likewise


def _new_main(path: str | None) -> dict[str, object]:
    main_module = ModuleType("__main__")
    vars(main_module).update(__builtins__=builtins, __annotations__={}, __spec__=None)
    if path is not None:
        loader = SourceFileLoader("__main__", path)
        vars(main_module).update(__file__=path, __cached__=None, __loader__=loader)
    sys.modules["__main__"] = main_module
    return vars(main_module)


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _join_threads() -> None:
    """Waits for the program's threads, as Python does before it exits."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
