"""Running the user's program as Python itself would: its own `__main__`, arguments, path and exit code."""

from __future__ import annotations

import builtins
import io
import os
import runpy
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from irscope.capturing.fake_cuda.needs_gpu import NeedsGpuError
from irscope.capturing.messages import Program
from irscope.capturing.record.call_stack import user_line

_OURS = str(Path(__file__).parents[1])


def run_program(program: Program) -> int:
    """Runs the program to its end, threads included, and returns its exit code.

    What it raises is printed as always; 130 is for Ctrl-C, 1 for a program that had to stop for want of
    a GPU.
    """
    try:
        {"script": _run_script, "module": _run_module, "code": _run_code}[program.kind](program)
    except SystemExit as exit_:
        return _exit_code(exit_.code)
    except NeedsGpuError as stop:
        _tell(stop)
        return 1
    except BaseException as error:  # noqa: BLE001 - the program's own: Python prints it and ends
        error.__traceback__ = _without_ours(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    finally:
        _join_threads()
    return 0


def telling_stop(hook: Callable[..., Any]) -> Callable[..., Any]:
    """`sys.excepthook` of a process that the program started: a stop for want of a GPU is one line."""

    def told(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, NeedsGpuError):
            _tell(error)
        else:
            hook(kind, error, trace)

    return told


def _tell(stop: NeedsGpuError) -> None:
    line = user_line(stop.__traceback__)
    print(f"irscope: {line}: {stop}; capture on a GPU, or leave that line out", file=sys.stderr)


def _run_script(program: Program) -> None:
    path = program.name
    sys.argv = [path, *program.arguments]
    sys.path[0] = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - what Python itself does
    with io.open_code(os.path.abspath(path)) as file:  # noqa: PTH100 - as above; resolves no links
        code = compile(file.read(), path, "exec")
    exec(code, _new_main(path))  # noqa: S102 - running it is what was asked for


def _run_module(program: Program) -> None:
    sys.argv = [program.name, *program.arguments]
    sys.path[0] = str(Path.cwd())
    runpy.run_module(program.name, run_name="__main__", alter_sys=True)


def _run_code(program: Program) -> None:
    sys.argv = ["-c", *program.arguments]
    sys.path[0] = ""
    exec(compile(program.name, "<string>", "exec"), _new_main(None))  # noqa: S102 - as above


def _new_main(path: str | None) -> dict[str, object]:
    main = ModuleType("__main__")
    vars(main).update(__builtins__=builtins, __annotations__={}, __spec__=None)
    if path is not None:
        vars(main).update(__file__=path, __cached__=None)
    sys.modules["__main__"] = main
    return vars(main)


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    """The traceback as it were without irscope: the program's frames, Python's and torch's."""
    if trace is None:
        return None
    rest = _without_ours(trace.tb_next)
    file = trace.tb_frame.f_code.co_filename
    if file.startswith(_OURS):
        return rest
    return TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def _join_threads() -> None:
    """Waits for the program's threads, as Python does before it ends."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
