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
    """The frame, its caller, the caller's caller, ..."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def user_frame() -> FrameType | None:
    """The innermost frame of the program itself; None if there is none."""
    frames = frames_outwards(sys._getframe(1))
    return next((frame for frame in frames if not _is_library(frame.f_code.co_filename)), None)


def user_place() -> str:
    """The program's innermost line as "FILE:LINE"; "" if there is none."""
    frame = user_frame()
    return f"{short_path(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else ""


def _tracebacks(trace: TracebackType | None) -> Iterator[TracebackType]:
    """The entries of a traceback, from the outermost call to the innermost one."""
    while trace is not None:
        yield trace
        trace = trace.tb_next


def user_line(trace: TracebackType | None) -> str:
    """The program's innermost line in a traceback, as "FILE:LINE: TEXT".

    Installed packages count as the program only if nothing else does.
    """
    import linecache

    places = [(each.tb_frame.f_code.co_filename, each.tb_lineno) for each in _tracebacks(trace)]
    others = [place for place in places if not _is_library(place[0])]
    own = [place for place in others if not _is_installed(place[0])]
    file, line = (own or others or [("?", 0)])[-1]
    text = linecache.getline(file, line).strip()
    file = short_path(file)
    return f"{file}:{line}: {text}" if text else f"{file}:{line}"


def short_path(file: str) -> str:
    """A path relative to the working directory if it is in it."""
    return file.removeprefix(str(Path.cwd()) + os.sep)


def without_own_frames(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without irscope's frames."""
    kept = [each for each in _tracebacks(trace) if not is_own_code(each.tb_frame.f_code.co_filename)]
    rest = None
    for each in reversed(kept):
        rest = TracebackType(rest, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return rest


def is_own_code(file: str) -> bool:
    """Whether a file belongs to irscope."""
    return file.startswith(_OWN_CODE)


def _is_installed(file: str) -> bool:
    installed = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return bool(installed) or file.startswith(str(Path(os.__file__).parent))


def _is_library(file: str) -> bool:
    return file.startswith(("<frozen", *_library_folders())) or is_own_code(file)


def _library_folders() -> list[str]:
    """The folders of torch and Triton, if they are imported, with a separator at the end."""
    modules = [sys.modules.get(name) for name in ("torch", "triton")]
    files = [getattr(module, "__file__", None) for module in modules]
    return [str(Path(file).parent) + os.sep for file in files if file]
