"""Run a script as it is and capture every Triton kernel that it launches, with or without a GPU.

On a GPU the program runs as always, and what is compiled, launched and tuned is recorded. Without one, or
with --target, its CUDA tensors are CPU ones that pose, its launches are compiled instead of run, and every
config of its autotuners is compiled. Its output and exit code are its own; what stands after SCRIPT.py
belongs to it.

  irscope run train.py --steps 1
  irscope run --target cuda:90 -o laptop.irscope -m mypackage.bench
  irscope run --target hip:gfx942 --sweep add_kernel:BLOCK_SIZE=256,512,1024 add.py
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.backends import parse_target
from irscope.model import UserError, Value, parse_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from irscope.capturing.messages import Program, RunOptions
    from irscope.capturing.record.background_writer import WrittenCounts

NAME = "run"
SUMMARY = "run a script as it is and capture every kernel it launches"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the program and how to capture it."""
    parser.add_argument(
        "--target", metavar="TARGET", help="pose as this device (default: the GPU, or cuda:90)"
    )
    parser.add_argument(
        "--sweep",
        metavar="KERNEL:NAME=V1,V2",
        action="append",
        default=[],
        help="compile that kernel's launches under these values too; repeat for the product",
    )
    parser.add_argument("--kernel", metavar="GLOB", default="*", help="only kernels called so")
    parser.add_argument("--max-variants", metavar="N", type=int, help="capture no more than N")
    parser.add_argument("-j", "--jobs", metavar="N", type=int, help="worker processes (default: one a core)")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=300.0, help="per variant (300)")
    parser.add_argument(
        "--passes", action="store_true", help="keep each compiler pass and the module after it"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="the capture (SCRIPT.irscope)")
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--force", action="store_true", help="replace FILE where it exists")
    existing.add_argument("--resume", action="store_true", help="add to FILE what it does not have yet")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="run a module")
    parser.add_argument("-c", dest="code", nargs=argparse.REMAINDER, metavar="CODE", help="run this code")
    parser.add_argument("script", nargs=argparse.REMAINDER, metavar="SCRIPT.py [ARGS...]", help="the script")


def run(args: argparse.Namespace) -> int:
    """Runs the program; the exit code is the program's."""
    from irscope.capturing.messages import SubprocessOptions
    from irscope.capturing.record.background_writer import BackgroundWriter, summary
    from irscope.capturing.record.program import run_captured
    from irscope.capturing.record.session import with_default_target
    from irscope.cli.progress import counting_bar
    from irscope.store.writer import CaptureWriter
    from irscope.workspace import Workspace

    program, options = _program(args), with_default_target(_options(args))
    path = args.output or _default_path(program)
    again = args.resume and path.exists()
    open_ = partial(CaptureWriter.resume, path) if again else partial(CaptureWriter.create, path, args.force)
    existing = "force" if args.force else "resume" if args.resume else ""
    command = shlex.join(sys.argv)
    subprocesses = SubprocessOptions(options, str(path.absolute().with_suffix("")), existing, command)
    with _telling() as told:
        writer = BackgroundWriter(open_, command, told)
        code = run_captured(program, subprocesses, writer)
        written = writer.close()
    if written.variants:
        with counting_bar("facts") as report:
            Workspace(path).store_facts(report)
    print(f"irscope: {summary(path, written)}", file=sys.stderr)
    return code


def _program(args: argparse.Namespace) -> Program:
    from irscope.capturing.messages import Program

    given = {"module": args.module, "code": args.code, "script": args.script}
    for kind, words in given.items():
        if words:
            if kind == "script" and not Path(words[0]).is_file():
                raise UserError(f"{words[0]}: no such file")
            return Program(kind, words[0], tuple(words[1:]))
    raise UserError("name a SCRIPT.py, -m MODULE or -c CODE; see irscope run --help")


def _options(args: argparse.Namespace) -> RunOptions:
    from irscope.capturing.messages import RunOptions

    for name, number in (("-j", args.jobs), ("--max-variants", args.max_variants)):
        if number is not None and number < 1:
            raise UserError(f"{name} must be at least 1")
    try:
        target = parse_target(args.target) if args.target else None
    except ValueError as error:
        raise UserError(str(error)) from error
    sweep = dict(map(_sweep, args.sweep))
    return RunOptions(
        target, sweep, args.kernel, args.max_variants, args.jobs, args.timeout, passes=args.passes
    )


def _sweep(text: str) -> tuple[tuple[str, str], tuple[Value, ...]]:
    from irscope.toolchain.signature import split_signature

    kernel, colon, rest = text.partition(":")
    name, equals, values = rest.partition("=")
    parsed = tuple(parse_value(value) for value in split_signature(values))
    if not (colon and equals and parsed and name.strip().isidentifier()):
        raise UserError(f"--sweep {text}: not KERNEL:NAME=V1,V2")
    return (kernel, name.strip()), parsed


def _default_path(program: Program) -> Path:
    """FILE where -o names none; each rank of torchrun has its own."""
    stem = {"code": "command", "module": program.name.rpartition(".")[2]}.get(program.kind)
    rank = os.environ.get("RANK")
    return Path(f"{stem or Path(program.name).stem}{f'.rank{rank}' if rank else ''}.irscope")


@contextmanager
def _telling() -> Iterator[Callable[[WrittenCounts], None]]:
    """Notes on stderr as they come; a bar there while variants are compiled, where it is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("irscope"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
    task = bar.add_task("", total=None)
    shown = 0

    def told(written: WrittenCounts) -> None:
        nonlocal shown
        for note in written.notes[shown:]:
            print(f"irscope: {note}", file=sys.stderr)
        shown = len(written.notes)
        if written.total is not None:
            bar.start()
            bar.update(task, total=written.total, completed=written.variants)

    try:
        yield told
    finally:
        bar.stop()
