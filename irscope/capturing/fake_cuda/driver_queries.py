"""Notices that a program asks the GPU's driver, past torch and Triton, and says so if the program then fails.

flag_gems runs nvidia-smi to find out the vendor of the device, xformers asks NVML for clock rates. Without a
GPU neither answers, and the error of the library names neither.
"""

from __future__ import annotations

import functools
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from irscope.toolchain.patching import patched

_TOOLS = ("nvidia-smi", "rocm-smi", "amd-smi", "rocminfo")
_NVML = ("pynvml", "nvidia-ml-py", "NVML")
# The tools that the program has run, in order.
_asked: dict[str, None] = {}


@contextmanager
def noticed_driver_queries() -> Iterator[None]:
    """Within the block, the tools of a driver that the program starts are remembered."""
    _asked.clear()
    with patched(subprocess.Popen, "__init__", _noticing(subprocess.Popen.__init__)):
        yield


def print_driver_queries(error: BaseException | None) -> None:
    """Print what a program that failed asked the driver, and what to do; `error` is what it raised."""
    if _asked:
        advice = "tell the library the device by its own setting (flag_gems: GEMS_VENDOR=nvidia)"
        _print(f"the program ran {' and '.join(_asked)}, which finds no GPU here: {advice}")
    if any(name in text for text in _texts(error) for name in _NVML):
        advice = "pip install nvidia-ml-py if pynvml is missing; where it asks for values, remove that call"
        _print(f"the program asked NVML, which answers nothing without a GPU: {advice}")


def _noticing(start: Callable[..., None]) -> Callable[..., None]:
    """Wrap `subprocess.Popen.__init__`, which also `run`, `check_output` and asyncio call."""

    @functools.wraps(start)
    def init(self: Any, args: Any, *more: Any, **options: Any) -> None:
        with suppress(Exception):  # what the program passes may be wrong
            words = shlex.split(args) if isinstance(args, str) else list(map(os.fspath, args))
            name = os.path.basename(os.fsdecode(words[0]))  # noqa: PTH119 - it may be bytes
            if name in _TOOLS:
                _asked[name] = None
        start(self, args, *more, **options)

    return init


def _texts(error: BaseException | None) -> Iterator[str]:
    """Yield the class and text of an exception and of those that caused it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        with suppress(Exception):  # the program's own class
            yield f"{type(error).__name__}: {error}"
        error = error.__cause__ or error.__context__


def _print(line: str) -> None:
    print(f"irscope: {line}", file=sys.stderr)
