"""What the running functions know: the config that an autotuner tries, the line of the user's file.

Triton tells no hook which config it compiles under. Its own functions up the stack do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from irscope.capturing.record.recorder import Tuning


def tuning_codes() -> dict[CodeType, str]:
    """The code of Triton's functions that set constants of a compilation, and what each is."""
    from triton.runtime.autotuner import Autotuner, Heuristics

    return {
        Autotuner._bench.__code__: "config",
        Autotuner.run.__code__: "config",
        Autotuner.warmup.__code__: "config",
        Heuristics.run.__code__: "heuristics",
    }


def tuning_of(function: Any, codes: dict[CodeType, str]) -> Tuning:
    """What the autotuners and heuristics around the running compilation of `function` set."""
    names: set[str] = set()
    tuned = False
    for frame in _outwards(sys._getframe(1)):
        kind = codes.get(frame.f_code)
        owner = frame.f_locals.get("self") if kind else None
        if owner is None or getattr(owner, "base_fn", function.fn) is not function.fn:
            continue
        if kind == "heuristics" and _innermost(owner) is function:
            names |= set(owner.values)
        config = frame.f_locals.get("config", frame.f_locals.get("autotune_config"))
        if kind == "config" and config is not None:
            names |= set(config.all_kwargs())
            tuned = True
    return Tuning(tuned, frozenset(names))


def _innermost(wrapper: Any) -> Any:
    while hasattr(wrapper, "fn") and hasattr(wrapper.fn, "fn"):
        wrapper = wrapper.fn
    return wrapper


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def user_frame() -> FrameType | None:
    """The innermost frame of the program itself."""
    return next((f for f in _outwards(sys._getframe(1)) if not _is_library(f.f_code.co_filename)), None)


def user_line(trace: TracebackType | None) -> str:
    """The line of the program that led to an exception: "FILE:LINE: TEXT" of its innermost call there.

    What is installed is not the program, unless nothing else is there.
    """
    import linecache

    places = []
    while trace is not None:
        places.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    others = [place for place in places if not _is_library(place[0])]
    own = [place for place in others if not _is_installed(place[0])]
    file, line = (own or others or [("?", 0)])[-1]
    text = linecache.getline(file, line).strip()
    return f"{file}:{line}: {text}" if text else f"{file}:{line}"


def _is_installed(file: str) -> bool:
    installed = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return bool(installed) or file.startswith(str(Path(os.__file__).parent))


def _is_library(file: str) -> bool:
    parts = Path(file).parts
    ours = str(Path(__file__).parents[1])
    return file.startswith(("<frozen", ours)) or any(part in ("torch", "triton") for part in parts[:-1])
