"""Run an unmodified script and capture every Triton kernel that it launches, with or without a GPU.

On a GPU, records compilations, first launches and autotuning results without changing the program. Without
one, or with --target, CUDA tensors are simulated by CPU tensors, launches are compiled instead of run, and
every config of the autotuners is compiled. The exit code is the script's; arguments after SCRIPT.py are
passed to it. The script is executed in either case.

example: irscope run train.py --steps 1
  irscope run --target cuda:90 -o laptop.irscope -m mypackage.bench
  irscope run --target hip:gfx942 --sweep add_kernel:BLOCK_SIZE=256,512,1024 add.py
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model import Expression, UserError, Value, parse_argument, parse_value
from irscope.model.errors import print_note
from irscope.model.text import split_entries

if TYPE_CHECKING:
    from irscope.compiling.messages import Program, RunOptions

NAME = "run"
GROUP = "capture"
SUMMARY = "run an unmodified script and capture every kernel it launches"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the program and how to capture it."""
    parser.add_argument(
        "--target", metavar="TARGET", help="simulate this device (default: the GPU, or cuda:90)"
    )
    parser.add_argument(
        "--sweep",
        metavar="KERNEL:NAME=V1,V2",
        action="append",
        default=[],
        help="also compile the launches of KERNEL under these values; repeat for the product",
    )
    parser.add_argument(
        "--assume",
        metavar="FILE:LINE=VALUE",
        action="append",
        default=[],
        help="without a GPU, the number that this line reads from a kernel's result",
    )
    parser.add_argument(
        "--assume-item", metavar="VALUE", help="without a GPU, any other number read from a kernel's result"
    )
    parser.add_argument(
        "--stub-module",
        metavar="MODULE",
        action="append",
        default=[],
        help="without a GPU, an extension module that cannot be built here: importing it works, calls stop",
    )
    parser.add_argument("--kernel", metavar="GLOB", default="*", help="only kernels matching GLOB")
    parser.add_argument("--max-variants", metavar="N", type=int, help="capture at most N variants per kernel")
    parser.add_argument(
        "--values", action="store_true", help="keep the argument values of each variant's first launch"
    )
    parser.add_argument(
        "--values-limit", metavar="MIB", type=options.count, default=64, help="per launch (default: 64)"
    )
    options.add_helion_configs(parser, "default: 10; without a GPU")
    options.add_workers(parser)
    options.add_passes(parser)
    options.add_output(parser, "SCRIPT.irscope")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="run a module")
    parser.add_argument("-c", dest="code", nargs=argparse.REMAINDER, metavar="CODE", help="run this code")
    parser.add_argument("script", nargs=argparse.REMAINDER, metavar="SCRIPT.py [ARGS...]", help="the script")


def run(args: argparse.Namespace) -> int:
    """Run the program and return its exit code."""
    from irscope.cli.progress import counting_bar, recording_bar
    from irscope.compiling.messages import SubprocessOptions
    from irscope.recording.background_writer import BackgroundWriter, summary
    from irscope.recording.process_recorder import with_default_target
    from irscope.recording.program import how_interrupted, run_captured
    from irscope.workspace import CaptureWriter, Workspace

    program, run_options = _program(args), with_default_target(_options(args))
    path = args.output or _default_path(program)
    existing = "force" if args.force else "resume" if args.resume else ""
    command = shlex.join(sys.argv)
    subprocesses = SubprocessOptions(run_options, str(path.absolute().with_suffix("")), existing, command)
    with recording_bar() as report_written:
        writer = BackgroundWriter(partial(options.open_writer, args, path), command, report_written)
        code = run_captured(program, subprocesses, writer)
        on_gpu = run_options.target is None
        counts = writer.close(how_interrupted(code, writer.written.finished, on_gpu))
    if counts.variants:
        with counting_bar("facts") as report:
            Workspace(path).store_facts(report)
    CaptureWriter.remove_if_empty(path)
    print_note(summary(path, counts))
    if counts.failed:
        options.print_failures(path, "irscope: ")
    return code


def _program(args: argparse.Namespace) -> Program:
    from irscope.compiling.messages import Program

    choices = {"module": args.module, "code": args.code, "script": args.script}
    for kind, words in choices.items():
        if words:
            name = options.script_path(words[0]) if kind == "script" else words[0]
            if kind == "script" and not Path(name).exists():
                raise UserError(f"{name}: no such file")
            if kind == "script":
                options.check_output(args, Path(name))
            _note_misplaced(name, words[1:])
            return Program(kind, name, tuple(words[1:]))
    raise UserError("specify SCRIPT.py, -m MODULE or -c CODE; see irscope run --help")


def _note_misplaced(name: str, arguments: list[str]) -> None:
    """Says on stderr that the program gets what looks like an option of irscope."""
    for option, value in pairwise(arguments):
        of_capture = option in {"-o", "--output"} and value.endswith(".irscope")
        if of_capture or (option == "--target" and value.startswith(("cuda:", "hip:"))):
            print_note(f"{name} gets {option} {value}: options of irscope go before it")


def _options(args: argparse.Namespace) -> RunOptions:
    from irscope.compiling.messages import DEFAULT_CONFIGS, RunOptions
    from irscope.recording.launch_records import MIB

    options.check_workers(args, "--max-variants", "--configs")
    target = options.target(args.target) if args.target else None
    sweep = dict(map(_sweep, args.sweep))
    assumed = dict(map(_assumption, args.assume))
    if args.assume_item is not None:
        assumed[""] = parse_value(args.assume_item)
    return RunOptions(
        target,
        sweep,
        args.kernel,
        args.max_variants,
        args.jobs,
        args.timeout,
        passes=args.passes,
        assumed=assumed,
        configs=args.configs or DEFAULT_CONFIGS,
        stubs=tuple(args.stub_module),
        values=args.values_limit * MIB if args.values else None,
    )


def _assumption(text: str) -> tuple[str, Value]:
    """(FILE:LINE, VALUE)."""
    location, equals, value = text.rpartition("=")
    file, colon, line = location.rpartition(":")
    if not (file and colon and equals and line.isdigit() and value):
        raise UserError(f"--assume {text}: not FILE:LINE=VALUE")
    return f"{file}:{int(line)}", parse_value(value)


def _sweep(text: str) -> tuple[tuple[str, str], tuple[Value | Expression, ...]]:
    kernel, colon, rest = text.partition(":")
    name, equals, values = rest.partition("=")
    parsed = tuple(map(parse_argument, split_entries(values)))
    if not (colon and equals and parsed and name.strip().isidentifier()):
        raise UserError(f"--sweep {text}: not KERNEL:NAME=V1,V2")
    return (kernel, name.strip()), parsed


def _default_path(program: Program) -> Path:
    """Return the capture without -o; each rank of torchrun has its own."""
    stem = {"code": "command", "module": program.name.rpartition(".")[2]}.get(program.kind)
    rank = os.environ.get("RANK")
    return Path(f"{stem or Path(program.name).stem}{f'.rank{rank}' if rank else ''}.irscope")
