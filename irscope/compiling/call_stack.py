"""Finds the program's own line on the call stack or in a traceback, past irscope and libraries."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType

import irscope

# The folder of irscope's own code, with a separator at its end.
_OWN_CODE = str(Path(irscope.__file__).parent) + os.sep


def frames_outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frame, its caller, the caller's caller, ..."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def user_frame() -> FrameType | None:
    """Return the innermost frame of the program itself, or None if there is none."""
    frames = frames_outwards(sys._getframe(1))
    return next((frame for frame in frames if not _is_library(frame.f_code.co_filename)), None)


def user_place() -> str:
    """Return the program's innermost line as "FILE:LINE", or "" if there is none."""
    frame = user_frame()
    return f"{short_path(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else ""


def _tracebacks(trace: TracebackType | None) -> Iterator[TracebackType]:
    """Yield the entries of a traceback, from the outermost call to the innermost one."""
    while trace is not None:
        yield trace
        trace = trace.tb_next


def user_line(trace: TracebackType | None) -> str:
    """Return the program's innermost line in a traceback, as "FILE:LINE: TEXT".

    Installed packages count as the program only if nothing else does.
    """
    import linecache

    locations = [(entry.tb_frame.f_code.co_filename, entry.tb_lineno) for entry in _tracebacks(trace)]
    outside_libraries = [location for location in locations if not _is_library(location[0])]
    program_lines = [location for location in outside_libraries if not _is_installed(location[0])]
    file, line = (program_lines or outside_libraries or [("?", 0)])[-1]
    text = linecache.getline(file, line).strip()
    file = short_path(file)
    return f"{file}:{line}: {text}" if text else f"{file}:{line}"


def short_path(file: str) -> str:
    """Return the path relative to the working directory if it is in it."""
    return file.removeprefix(str(Path.cwd()) + os.sep)


def without_own_frames(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback without irscope's frames."""
    entries = [entry for entry in _tracebacks(trace) if not is_own_code(entry.tb_frame.f_code.co_filename)]
    rest = None
    for entry in reversed(entries):
        rest = TracebackType(rest, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rest


def is_own_code(file: str) -> bool:
    """Return True if the file belongs to irscope."""
    return file.startswith(_OWN_CODE)


def _is_installed(file: str) -> bool:
    installed = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return bool(installed) or file.startswith(str(Path(os.__file__).parent))


def _is_library(file: str) -> bool:
    return file.startswith(("<frozen", *_library_folders())) or is_own_code(file)


def _library_folders() -> list[str]:
    """Return the folders of torch and Triton, if they are imported, with a separator at the end."""
    modules = [sys.modules.get(name) for name in ("torch", "triton")]
    files = [getattr(module, "__file__", None) for module in modules]
    return [str(Path(file).parent) + os.sep for file in files if file]
