"""Runs a program on a simulated GPU and lets it fill a cache folder; see `irscope run`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from irscope.compiling.messages import Program, RunOptions, SubprocessOptions
from irscope.compiling.toolchain.patching import variable_set
from irscope.model import UserError
from irscope.model.variant import variable_value
from irscope.recording.background_writer import BackgroundWriter, WrittenCounts
from irscope.recording.program import run_captured
from irscope.store import CaptureWriter

# Triton would not read or not fill the folder.
_IN_THE_WAY = ("TRITON_CACHE_MANAGER", "TRITON_REMOTE_CACHE_BACKEND", "TRITON_KERNEL_OVERRIDE")


def parse_program(text: str) -> Program | None:
    """Return the program that an input names: `train.py --steps 1` or `-m pkg.bench`.

    Return None if it is a capture. Raises UserError if there is no such file.
    """
    if Path(text).is_file():
        return Program("script", text, ()) if text.endswith(".py") else None
    words = shlex.split(text)
    if words and Path(words[0]).name.startswith("python"):
        words = words[1:]
    if len(words) > 1 and words[0] == "-m":
        return Program("module", words[1], tuple(words[2:]))
    if words and words[0].endswith(".py") and Path(words[0]).is_file():
        return Program("script", words[0], tuple(words[1:]))
    raise UserError(f"{text}: no such file; an input is a script, 'script.py ARGS', '-m MODULE' or a capture")


def run_into(
    program: Program,
    folder: Path,
    captures: Path,
    options: RunOptions,
    report: Callable[[WrittenCounts], None] = lambda _: None,
) -> int:
    """Run a program whose compilations go to the cache in `folder`; returns its exit code.

    It and its subprocesses write captures into the folder `captures`, with what they compiled and launched.
    """
    with cache_at(folder):
        path = captures / "program.irscope"
        subprocesses = SubprocessOptions(options, str(path.with_suffix("")), "", shlex.join(sys.argv))
        writer = BackgroundWriter(partial(CaptureWriter.create, path, False), "irscope warm", report)
        code = run_captured(program, subprocesses, writer)
        writer.close()
    return code


@contextmanager
def cache_at(folder: Path) -> Iterator[None]:
    """Within the block, processes that this one starts have their Triton cache in `folder`.

    Raises UserError if a variable of Triton's would keep them from it.
    """
    for name in _IN_THE_WAY:
        if variable_value(os.environ.get(name, "0").lower()) not in ("0", ""):
            raise UserError(
                f"{name} is set: Triton would not use {folder} as it does in production; unset it"
            )
    with ExitStack() as stack:
        for name in ("TRITON_ALWAYS_COMPILE", "TRITON_STORE_BINARY_ONLY"):
            if name in os.environ:
                stack.enter_context(variable_set(name, "0"))
        stack.enter_context(variable_set("TRITON_CACHE_DIR", str(folder)))
        yield
