"""What the running functions know: the config that an autotuner tries, the line of the user's file.

Triton tells no hook which config it compiles under. Its own functions up the stack do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from irscope.capture.running.recorder import Tuning


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


def user_line(trace: TracebackType | None) -> str:
    """The line of the program that led to an exception: "FILE:LINE: TEXT" of its innermost call there."""
    import linecache

    place = ("?", 0)
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not _is_library(file):
            place = (file, trace.tb_lineno)
        trace = trace.tb_next
    text = linecache.getline(*place).strip()
    return f"{place[0]}:{place[1]}: {text}" if text else f"{place[0]}:{place[1]}"


def _is_library(file: str) -> bool:
    parts = Path(file).parts
    ours = str(Path(__file__).parent)
    return file.startswith(("<frozen", ours)) or any(part in ("torch", "triton") for part in parts[:-1])
