"""Compile a kernel under each of its configs and keep every stage, with no GPU.

The kernel is named FILE.py::KERNEL; where the file has just one, FILE.py will do. Its configs are those
of @triton.autotune, and the product of all --config values laid over them. The signature is in Triton's
own ahead-of-time notation: a type for each argument, `:16` for divisible by 16, `1` for equal to 1;
constexpr parameters may be left out of it.

  irscope compile add.py --signature "*fp32:16, *fp32:16, *fp32:16, i32:16" --config BLOCK_SIZE=256,1024
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from irscope.cli import request

NAME = "compile"
SUMMARY = "compile a kernel under each of its configs and keep every stage"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares FILE.py[::KERNEL] and what to compile it for."""
    parser.add_argument("kernel", metavar="FILE.py[::KERNEL]", help="the file and the @triton.jit function")
    request.add_request(parser)
    parser.add_argument("--sass", action="store_true", help="disassemble every cubin too")
    request.add_output(parser, "KERNEL.irscope")


def run(args: argparse.Namespace) -> int:
    """Compiles and writes the capture; 1 where a variant failed."""
    from irscope.capturing.compile.sweep import compile_plan, planned
    from irscope.cli.progress import progress_bar
    from irscope.store import CaptureWriter

    wanted = request.sweep_request(args, args.kernel)
    begun = time.monotonic()
    with planned(wanted, args.jobs) as (plan, workers):
        path = args.output or Path(f"{plan.source.name}.irscope")
        for note in plan.notes:
            print(f"irscope: {note}", file=sys.stderr)
        again = args.resume and path.exists()
        writer = CaptureWriter.resume(path) if again else CaptureWriter.create(path, args.force)
        with writer, progress_bar(plan) as report:
            progress = compile_plan(plan, workers, writer, shlex.join(sys.argv), args.timeout, report)
    _add_derived(path, args.sass)
    name = shlex.quote(str(path))
    kept = f", {progress.kept} there already" if progress.kept else ""
    spent = time.monotonic() - begun
    compiled = progress.done - progress.failed
    print(f"{name}: {compiled} compiled{kept}, {progress.failed} failed, {spent:.1f} s")
    print(f"browse: irscope {name}   compare: irscope table {name}")
    return 1 if progress.failed else 0


def _add_derived(path: Path, sass: bool) -> None:
    """Adds what is made from the stages: the facts of the table, and SASS where it is asked for."""
    from irscope.workspace import Workspace

    if sass:
        with Workspace(path) as workspace, ThreadPoolExecutor() as threads:
            list(threads.map(lambda variant: workspace.find_content(variant, "sass"), workspace.variants))
    Workspace(path).store_facts()
