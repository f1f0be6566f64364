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
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model import UserError
from irscope.model.text import pluralize, printable

if TYPE_CHECKING:
    from irscope.capturing.cluster.cluster import Cluster
    from irscope.capturing.compile.executor import Executor
    from irscope.capturing.compile.sweep import Progress
    from irscope.capturing.messages import Plan, SweepRequest

NAME = "compile"
SUMMARY = "compile a kernel under each of its configs and store every stage"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares FILE.py[::KERNEL] and what to compile it for."""
    parser.add_argument("kernel", metavar="FILE.py[::KERNEL]", help="the file and the @triton.jit function")
    options.add_compilation(parser)
    options.add_helion_configs(parser, "default: the kernel's own configs, or Helion's default")
    parser.add_argument(
        "--guess",
        action="store_true",
        help="guess missing types and constexprs; without ::KERNEL, compile every kernel of the file",
    )
    parser.add_argument("--sass", action="store_true", help="disassemble every cubin too")
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="compile on the workers of a Dask scheduler, for example tcp://10.0.0.1:8786",
    )
    options.add_output(parser, "KERNEL.irscope")


def run(args: argparse.Namespace) -> int:
    """Compiles and writes the capture; returns 1 if a variant failed."""
    from irscope.capturing.compile.helion import helion_kernel
    from irscope.capturing.compile.sweep import compile_plan, planned, planned_each
    from irscope.cli.compile_helion import compile_helion_kernel
    from irscope.cli.progress import compilation_bar

    request = options.sweep_request(args, args.kernel)
    cluster = _cluster(args)
    if (kernel := helion_kernel(request.file, request.kernel)) is not None:
        path, code = compile_helion_kernel(args, request, kernel)
        if path.exists():
            _add_derived(path, args.sass)
        return code
    if args.configs is not None:
        raise UserError("--configs applies only to a Helion kernel")
    if args.guess and request.kernel is None:
        with planned_each(request, args.jobs, args.timeout, cluster) as (plans, workers):
            return _compile_each(args, request, plans, workers)
    start = time.monotonic()
    with planned(request, args.jobs, seconds=args.timeout, cluster=cluster) as (plan, workers):
        path = args.output or Path(f"{plan.source.name}.irscope")
        _print_notes(plan.notes)
        with options.open_writer(args, path) as writer, compilation_bar(plan) as report:
            progress = compile_plan(plan, workers, writer, shlex.join(sys.argv), args.timeout, report)
    _add_derived(path, args.sass)
    return _print_summary(path, progress, time.monotonic() - start)


def _compile_each(
    args: argparse.Namespace, request: SweepRequest, plans: Iterable[Plan | UserError], workers: Executor
) -> int:
    """Compiles the plan of each kernel of a file; one without a plan is reported and left out."""
    from irscope.capturing.compile.sweep import Progress, compile_plan
    from irscope.cli.progress import compilation_bar

    start, total, rejected = time.monotonic(), Progress(0), 0
    printed: set[str] = set()
    path = args.output or Path(f"{request.file.stem}.irscope")
    with options.open_writer(args, path) as writer:
        for plan in plans:
            if isinstance(plan, UserError):
                rejected += 1
                print(f"irscope: {plan.command_line_text}", file=sys.stderr)
                continue
            _print_notes(note for note in plan.notes if note not in printed)
            printed.update(plan.notes)
            with compilation_bar(plan) as report:
                progress = compile_plan(plan, workers, writer, shlex.join(sys.argv), args.timeout, report)
            total.done, total.kept = total.done + progress.done, total.kept + progress.kept
            total.failed += progress.failed
            total.rates = progress.rates
    _add_derived(path, args.sass)
    return _print_summary(path, total, time.monotonic() - start) or int(rejected > 0)


def _cluster(args: argparse.Namespace) -> Cluster | None:
    """The cluster of --cluster. Raises UserError if -j is also given: it counts processes of this machine."""
    from irscope.capturing.cluster.cluster import Cluster

    if args.cluster is not None and args.jobs is not None:
        raise UserError("-j counts processes of this machine; on a cluster: dask worker --nthreads N")
    return None if args.cluster is None else Cluster(args.cluster)


def _print_notes(notes: Iterable[str]) -> None:
    for note in notes:
        print(f"irscope: {note}", file=sys.stderr)


def _print_summary(path: Path, progress: Progress, seconds: float) -> int:
    """Prints how many variants compiled, and each failure; returns the exit code."""
    name = shlex.quote(str(path))
    kept = f", {progress.kept} already there" if progress.kept else ""
    compiled = progress.done - progress.failed
    print(f"{name}: {compiled} compiled{kept}, {progress.failed} failed, {seconds:.1f} s")
    for rate in progress.rates:
        number = pluralize(rate.jobs, "variant")
        print(f"  {printable(rate.name)}: {number}, {rate.per_minute:.0f} per minute", file=sys.stderr)
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
