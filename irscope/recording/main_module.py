"""Runs a program as Python itself would: with its own `__main__`, arguments, path and exit code."""

from __future__ import annotations

import builtins
import io
import os
import runpy
import sys
import threading
import zipfile
from collections.abc import Callable
from contextlib import suppress
from importlib.machinery import BuiltinImporter, SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType

from irscope.compiling.call_stack import user_line, without_own_frames
from irscope.compiling.messages import Program
from irscope.compiling.toolchain.stub_driver import NeedsGpuError
from irscope.model.errors import print_note

ExceptHook = Callable[[type[BaseException], BaseException, TracebackType | None], object]


def run_program(program: Program) -> tuple[int, BaseException | None]:
    """Run the program to its end, threads included; returns its exit code, and what it raised.

    Prints what the program raises, as Python would. The code is 130 for Ctrl-C and 1 if the program had to
    stop because it needs a GPU.
    """
    try:
        {"script": _run_script, "module": _run_module, "code": _run_code}[program.kind](program)
    except SystemExit as exit_:
        return _exit_code(exit_.code), exit_
    except NeedsGpuError as stop:
        print_note(f"{user_line(stop.__traceback__)}: {stop}")
        return 1, stop
    except BaseException as error:  # noqa: BLE001 - the program's own: Python prints it and exits
        error.__traceback__ = without_own_frames(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        return (130 if isinstance(error, KeyboardInterrupt) else 1), error
    finally:
        _join_threads()
    return 0, None


def reporting_stops(hook: ExceptHook) -> ExceptHook:
    """Create a `sys.excepthook` that prints a NeedsGpuError as one line and passes the rest on.

    The rest goes to `hook`.
    """

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, NeedsGpuError):
            print_note(f"{user_line(error.__traceback__)}: {error}")
        else:
            hook(kind, error, trace)

    return report


def _run_script(program: Program) -> None:
    sys.argv = [program.name, *program.arguments]
    sys.orig_argv = [sys.executable, *sys.argv]
    path = os.path.abspath(program.name)  # noqa: PTH100 - what Python itself does; resolves no links
    if Path(path).is_dir() or zipfile.is_zipfile(path):
        sys.path.insert(0, path)
        _new_main(None)
        runpy._run_module_as_main("__main__", alter_argv=False)  # type: ignore[attr-defined]
        return
    _add_first(os.path.dirname(os.path.realpath(path)))  # noqa: PTH120 - likewise
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, _new_main(path))  # noqa: S102 - the user asked to run it


def _run_module(program: Program) -> None:
    sys.argv = ["-m", *program.arguments]
    sys.orig_argv = [sys.executable, "-m", program.name, *program.arguments]
    _add_first(str(Path.cwd()))
    _new_main(None)
    runpy._run_module_as_main(program.name)  # type: ignore[attr-defined]


def _run_code(program: Program) -> None:
    sys.argv = ["-c", *program.arguments]
    sys.orig_argv = [sys.executable, "-c", program.name, *program.arguments]
    _add_first("")
    names = _new_main(None)
    names["__loader__"] = BuiltinImporter
    exec(compile(program.name, "<string>", "exec", dont_inherit=True), names)  # noqa: S102 - likewise


def program_folder(program: Program) -> str:
    """Return the folder in which Python looks for the program's modules first.

    Returns "" under PYTHONSAFEPATH.
    """
    if _safe_path():
        return ""
    if program.kind != "script":
        return str(Path.cwd())
    path = os.path.realpath(program.name)
    return path if Path(path).is_dir() else os.path.dirname(path)  # noqa: PTH120


def _add_first(folder: str) -> None:
    if not _safe_path():
        sys.path.insert(0, folder)


def _safe_path() -> bool:
    return bool(getattr(sys.flags, "safe_path", False))  # Python 3.11


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
        # A C long; its overflow is -1 (pythonrun.c).
        return (code if -(1 << 63) <= code < 1 << 63 else -1) & 0xFF
    try:
        text = str(code)
    except Exception:  # noqa: BLE001 - the program's own code
        text = ""
    if sys.stderr is None:
        os.write(2, f"{text}\n".encode(errors="backslashreplace"))
        return 1
    with suppress(Exception):  # stderr may be closed
        print(text, file=sys.stderr)
    return 1


def _join_threads() -> None:
    """Wait for the program's threads, as Python does before it exits."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
