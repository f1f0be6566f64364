"""Runs and captures the user's program in a separate process; the parent writes the capture.

The parent's half is `run_captured`. It starts the child with one end of a pipe, which runs the program as
Python itself would (main_module.py) and imports torch or triton only if the program does.

Assembles torch.compile's kernels by the ptxas in torch's wheel, as torch's worker processes do.

irscope compiles them in the program's own process. There, torch sets TRITON_PTXAS_PATH only after the first
of them, for all later kernels, those of the program too.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

from irscope.compiling.fake_cuda.libraries import (
    noticed_driver_queries,
    print_driver_queries,
    print_missing,
    stub_modules,
)
from irscope.compiling.messages import (
    DisconnectedError,
    Finished,
    Note,
    Program,
    Question,
    Record,
    RunOptions,
    StartProgram,
    SubprocessOptions,
    receive,
    send,
)
from irscope.compiling.processes import child_process
from irscope.compiling.processes.child_process import python_command
from irscope.compiling.toolchain.patching import after_import, never_raises, variable_set
from irscope.model.errors import print_note
from irscope.model.plugins import silence
from irscope.recording.background_writer import BackgroundWriter
from irscope.recording.main_module import program_folder, run_program
from irscope.recording.program_link import NEEDS_TRITON, NO_KERNEL_LAUNCHED, PipeLink, out_of_the_way
from irscope.recording.shadowed_modules import ShadowedModules
from irscope.recording.subprocesses import ProcessCapture, announce, capture_forks

_AUTOTUNER = "torch._inductor.runtime.triton_heuristics"
_ASYNC_COMPILE = "torch._inductor.async_compile"
_VARIABLE = "TRITON_PTXAS_PATH"


def use_torch_ptxas() -> None:
    """Apply to all kernels that torch.compile generates in this process, unless the variable is set."""
    if _VARIABLE not in os.environ:
        after_import((_AUTOTUNER,), _wrap_autotuner)
        after_import((_ASYNC_COMPILE,), _keep_variable)


@never_raises
def _wrap_autotuner() -> None:
    import torch

    ptxas = Path(torch.__file__).parent / "bin" / "ptxas"
    autotuner = sys.modules[_AUTOTUNER].CachingAutotuner
    if os.access(ptxas, os.X_OK):
        autotuner._precompile_config = _with_ptxas(autotuner._precompile_config, str(ptxas))


@never_raises
def _keep_variable() -> None:
    sys.modules[_ASYNC_COMPILE]._set_triton_ptxas_path = lambda: None  # type: ignore[attr-defined]


def _with_ptxas(original: Callable[..., Any], path: str) -> Callable[..., Any]:
    """`CachingAutotuner._precompile_config`, which compiles one config, with this ptxas."""

    @functools.wraps(original)
    def precompile(*args: Any, **kwargs: Any) -> Any:
        with variable_set(_VARIABLE, os.environ.get(_VARIABLE) or path):
            return original(*args, **kwargs)

    return precompile


# How often the end of the program is noticed if a process that it forked keeps the pipe open, in seconds.
_POLL_SECONDS = 0.2
# The exit code of a program that Ctrl-C ends; that of one that signal N ends is 128 + N.
_CTRL_C, _SIGNALED = 130, 128
_WATCHER = Path(__file__).with_name("program_watcher.py")


def run_captured(program: Program, subprocesses: SubprocessOptions, writer: BackgroundWriter) -> int:
    """Run the program and write its records; returns its exit code, 128 + N if signal N ended it.

    `subprocesses` says where the processes that it starts write theirs.
    """
    ours, theirs = socket.socketpair()
    with Connection(ours.detach()) as pipe, _watcher() as watcher:
        child = subprocess.Popen(
            python_command("irscope.recording.program", str(theirs.fileno()), flags=True),
            pass_fds=[theirs.fileno()],
        )
        watcher.send(b"%d\n" % child.pid)
        theirs.close()
        with _forwarded_signals(child):
            with suppress(DisconnectedError):
                send(pipe, StartProgram(program, subprocesses))
                _write_records(pipe, child, writer)
            code = child.wait()
        watcher.send(b".")
    return code if code >= 0 else 128 - code


def how_interrupted(code: int, finished: bool, on_gpu: bool) -> str:
    """Return how a program ended that could not send everything, "" if it could; `code` is its exit code.

    On a GPU, everything is recorded when it is compiled: only a signal interrupts that.
    """
    if finished:
        return ""
    if code == _CTRL_C:
        return "was ended by Ctrl-C"
    if code > _SIGNALED:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(code - _SIGNALED).name}"
    return "" if on_gpu else "ended without Python's cleanup, as os._exit does"


def _write_records(pipe: Connection, child: subprocess.Popen[bytes], writer: BackgroundWriter) -> None:
    """Write what arrives until the program ends. Raises DisconnectedError if it closes the pipe."""
    while True:
        if not pipe.poll(_POLL_SECONDS):
            if child.poll() is not None and not pipe.poll():
                return
            continue
        record = receive(pipe)
        if isinstance(record, Question):
            send(pipe, writer.ask(record))
        elif isinstance(record, Record):
            writer.put(record)


@contextmanager
def _watcher() -> Iterator[socket.socket]:
    """Start a process that kills the program if this one is killed; see program_watcher.py."""
    ours, theirs = socket.socketpair()
    with ours:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", _WATCHER, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        yield ours
    process.wait()


@contextmanager
def _forwarded_signals(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Forward the signals that end a process to the program, and leaves it to the program to end.

    Ctrl-C and a hangup reach the program from the terminal, if both are in its foreground.
    """

    def forward(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM or not _in_foreground():
            with suppress(ProcessLookupError):
                os.kill(child.pid, number)

    old = [(number, signal.signal(number, forward)) for number in _FORWARDED if _handled(number)]
    try:
        yield
    finally:
        for number, handler in old:
            signal.signal(number, handler)


_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def _handled(number: int) -> bool:
    """Return True if this process does not ignore a signal.

    Under nohup it does, and the program too.
    """
    return signal.getsignal(number) is not signal.SIG_IGN


def _in_foreground() -> bool:
    """Return True if the terminal sends its signals to this process, and so to the program too."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:  # there is none
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def main(descriptor: str) -> int:
    """Run and capture the program that the parent names; returns its exit code."""
    silence()
    pipe = Connection(out_of_the_way(int(descriptor)))
    try:
        start = receive(pipe)
    except DisconnectedError:  # irscope was killed
        return 1
    if not isinstance(start, StartProgram):
        raise TypeError(start)
    shadowed = ShadowedModules(program_folder(start.program), child_process.at_start)
    link = PipeLink(pipe, ProcessCapture(start.subprocesses), shadowed)
    if importlib.util.find_spec("triton") is None:
        print_note(NEEDS_TRITON)
        return 2
    announce(start.subprocesses)
    # Makes torch.compile compile its kernels in this process, which records them, instead of in workers.
    if os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1") == "1":
        use_torch_ptxas()
    with ExitStack() as stack:
        if start.subprocesses.options.target is not None:
            stack.enter_context(stub_modules(start.subprocesses.options.stubs))
            stack.enter_context(noticed_driver_queries())
        recording = _record_after_import(stack, start.subprocesses.options, link, shadowed)
        shadowed.give_to_program()
        code, error = run_program(start.program)
        with shadowed.set_aside():
            if code:
                print_missing()
                print_driver_queries(error)
            if not recording():
                link.put(Note(NO_KERNEL_LAUNCHED))
            try:
                stack.close()
            except KeyboardInterrupt:  # while it compiles what the program launched
                return _CTRL_C
            link.ask(Finished())
    return code


def _record_after_import(
    stack: ExitStack, options: RunOptions, link: PipeLink, shadowed: ShadowedModules
) -> Callable[[], bool]:
    """Record from the program's import of triton or torch on; the result says whether that has begun."""
    begun = False

    def begin() -> None:
        nonlocal begun
        if begun:
            return
        begun = True
        with shadowed.set_aside():
            from irscope.recording.process_recorder import recording

            capture_forks(stack.enter_context(recording(options, link)), link)

    after_import(tuple({"torch", "triton"} - shadowed.names), begin)
    return lambda: begun
