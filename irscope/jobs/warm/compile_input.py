"""Compiles what one input of a warm folder needs, with the folder as Triton's cache.

A program runs on a simulated GPU, see `irscope run`. Of its launches, those of captures and those of plan
files, what an axis or a pin adds is compiled from the kernels' files.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from irscope.compiling.messages import Program, RunOptions, SubprocessOptions
from irscope.compiling.toolchain.patching import variable_set
from irscope.jobs.warm.cache_folder import modified_times, write_files
from irscope.jobs.warm.launch_plans import (
    CompiledLaunches,
    KernelLaunches,
    WarmOptions,
    compile_launches,
    launches_of,
)
from irscope.model import Target, UserError
from irscope.model.variant import variable_value
from irscope.recording.background_writer import BackgroundWriter, WrittenCounts
from irscope.recording.program import run_captured
from irscope.store import CaptureWriter
from irscope.targets import parse_target

DEFAULT_TARGET = parse_target("cuda:90")
# Triton would not read or not fill the folder.
_IN_THE_WAY = ("TRITON_CACHE_MANAGER", "TRITON_REMOTE_CACHE_BACKEND", "TRITON_KERNEL_OVERRIDE")
# A program to run, a capture, or the kernels of a plan file.
Input = Program | Path | tuple[KernelLaunches, ...]
# Surrounds the run of a program, which then reports what was written.
Progress = Callable[[], AbstractContextManager[Callable[[WrittenCounts], None]]]


@dataclass(frozen=True)
class CompiledInput:
    """What an input needs: `captures` with its variants, each with whether this build compiled them.

    `code` is a program's exit code. `target` is what it was compiled for (None: all targets that it names).
    `handled` are kernels and targets whose variants in captures of other builds are not needed. `launched`
    are kernel names, `choices` the files with autotuned choices that were written for it. `notes` and
    `problems` are lines for the user.
    """

    name: str
    captures: tuple[tuple[Path, bool], ...]
    target: Target | None
    code: int = 0
    handled: frozenset[tuple[str, Target]] = frozenset()
    launched: frozenset[str] = frozenset()
    choices: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


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


def compile_input(
    name: str, source: Input, folder: Path, scratch: Path, options: WarmOptions, progress: Progress
) -> CompiledInput:
    """Compile into the cache in `folder` what an input needs; captures are written into the folder `scratch`.

    Raises UserError if a capture cannot be read.
    """
    times = modified_times(folder)
    captures: list[tuple[Path, bool]] = []
    target, code, launches = options.target, 0, []
    if isinstance(source, Program):
        target = target or DEFAULT_TARGET
        code = _run(source, folder, scratch, options, target, progress)
        captures = [(path, True) for path in sorted(scratch.glob("*.irscope"))]
        launches = _launches(captures, options)
        expanded = [kernel for kernel in launches if kernel.axes]  # it ran with the pins
    elif isinstance(source, Path):
        captures = [(source, False)]
        launches = _launches(captures, options)
        expanded = list(filter(options.expands, launches))
    else:
        target, launches, expanded = None, list(source), list(source)
    compiled = CompiledLaunches((), {}, (), (), 0)
    if expanded:
        output = scratch / "launches.irscope"
        with cache_at(folder):
            compiled = compile_launches(expanded, output, options)
        write_files(folder, compiled.files)
        captures.insert(len(captures) if isinstance(source, Program) else 0, (output, True))
    return CompiledInput(
        name,
        tuple(captures),
        target,
        code,
        handled=frozenset((plan.kernel, plan.target) for plan in compiled.plans if plan.warm.files),
        launched=frozenset(kernel.kernel for kernel in launches),
        choices=frozenset(path for path, time in modified_times(folder).items() if times.get(path) != time),
        notes=compiled.lines,
        problems=compiled.problems,
    )


def _launches(captures: Sequence[tuple[Path, bool]], options: WarmOptions) -> list[KernelLaunches]:
    """Return the launches in captures; none if nothing is done with them."""
    if not (options.axes or options.pins):
        return []
    return [kernel for path, _ in captures for kernel in launches_of(path, options)]


def _run(
    program: Program, folder: Path, captures: Path, options: WarmOptions, target: Target, progress: Progress
) -> int:
    """Run a program whose compilations go to the cache in `folder`; returns its exit code.

    It and its subprocesses write captures into the folder `captures`, with what they compiled and launched.
    """
    run_options = RunOptions(
        target=target,
        kernels=options.kernels,
        processes=options.processes,
        seconds=options.seconds,
        pins=options.pins,
    )
    with progress() as report, cache_at(folder):
        path = captures / "program.irscope"
        subprocesses = SubprocessOptions(run_options, str(path.with_suffix("")), "", shlex.join(sys.argv))
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
