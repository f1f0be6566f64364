"""Compile a kernel under each of its configs and store every stage, without a GPU.

Name the kernel as FILE.py::KERNEL, or as FILE.py if the file has only one; a module (pkg.mod::KERNEL) and a
notebook (NAME.ipynb::KERNEL) work too. This executes the file, as importing it does: compile only files that
you would run. The kernel's configs are those of @triton.autotune, combined with the product of all --config
values. The signature is in Triton's ahead-of-time notation: a type per argument, `:16` for divisible by 16,
`1` for equal to 1; constexpr parameters can be omitted.

example: irscope compile add.py --signature "*fp32:16, *fp32:16, *fp32:16, i32" --config BLOCK_SIZE=256,512
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from irscope.cli import options

NAME = "compile"
SUMMARY = "compile a kernel under each of its configs and store every stage"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares FILE.py[::KERNEL] and what to compile it for."""
    parser.add_argument("kernel", metavar="FILE.py[::KERNEL]", help="the file and the @triton.jit function")
    options.add_compilation(parser)
    parser.add_argument("--sass", action="store_true", help="disassemble every cubin too")
    options.add_output(parser, "KERNEL.irscope")


def run(args: argparse.Namespace) -> int:
    """Compiles and writes the capture; returns 1 if a variant failed."""
    from irscope.capturing.compile.sweep import compile_plan, planned
    from irscope.cli.progress import compilation_bar

    request = options.sweep_request(args, args.kernel)
    start = time.monotonic()
    with planned(request, args.jobs) as (plan, workers):
        path = args.output or Path(f"{plan.source.name}.irscope")
        for note in plan.notes:
            print(f"irscope: {note}", file=sys.stderr)
        with options.open_writer(args, path) as writer, compilation_bar(plan) as report:
            progress = compile_plan(plan, workers, writer, shlex.join(sys.argv), args.timeout, report)
    _add_derived(path, args.sass)
    name = shlex.quote(str(path))
    kept = f", {progress.kept} already there" if progress.kept else ""
    seconds = time.monotonic() - start
    compiled = progress.done - progress.failed
    print(f"{name}: {compiled} compiled{kept}, {progress.failed} failed, {seconds:.1f} s")
    if progress.failed:
        options.print_failures(path)
    print(f"browse: irscope {name}   compare: irscope table {name}")
    return 1 if progress.failed else 0


def _add_derived(path: Path, sass: bool) -> None:
    """Adds the facts of the table, and SASS if it was asked for."""
    from irscope.workspace import Workspace

    if sass:
        with Workspace(path, writable=True) as workspace, ThreadPoolExecutor() as threads:
            list(threads.map(workspace.derive_stages, workspace.variants))
    Workspace(path).store_facts()
