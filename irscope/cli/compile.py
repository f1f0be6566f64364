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
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import option_values, options
from irscope.model import UserError

if TYPE_CHECKING:
    from irscope.capturing.cluster.cluster import Cluster
    from irscope.capturing.compile.baseline import Baseline

NAME = "compile"
GROUP = "capture"
SUMMARY = "compile a kernel under each of its configs and store every stage"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares FILE.py[::KERNEL] and what to compile it for."""
    parser.add_argument(
        "kernel",
        metavar="FILE.py[::KERNEL]",
        help="the file and the @triton.jit function; with --guess, also a folder",
    )
    options.add_compilation(parser)
    options.add_helion_configs(parser, "default: the kernel's own configs, or Helion's default")
    parser.add_argument(
        "--guess",
        action="store_true",
        help="guess missing types and constexprs; without ::KERNEL, compile every kernel of it",
    )
    parser.add_argument("--sass", action="store_true", help="disassemble every cubin too")
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="compile on the workers of a Dask scheduler, for example tcp://10.0.0.1:8786",
    )
    parser.add_argument(
        "--baseline",
        metavar="OLD.irscope",
        type=Path,
        help="copy the variants whose cache key did not change since OLD.irscope instead of compiling them",
    )
    parser.add_argument(
        "--budget",
        metavar="TIME",
        type=option_values.duration,
        help="stop after TIME (90, 5m, 2h) with the most informative variants compiled",
    )
    options.add_output(parser, "KERNEL.irscope")


def run(args: argparse.Namespace) -> int:
    """Compiles and writes the capture; returns 1 if a variant failed."""
    from irscope.capturing.compile.helion import helion_kernel
    from irscope.capturing.compile.sweep import planned, planned_each
    from irscope.cli.compile_sweeps import Sweeps, add_derived

    start = time.monotonic()
    if Path(args.kernel).is_dir():
        return _compile_folder(args, Path(args.kernel), start)
    request = options.sweep_request(args, args.kernel)
    if (kernel := helion_kernel(request.file, request.kernel)) is not None:
        from irscope.cli.compile_helion import compile_helion_kernel

        _refuse(args, "a Helion kernel", "cluster", "baseline", "budget")
        path, code = compile_helion_kernel(args, request, kernel)
        if path.exists():
            add_derived(path, args.sass)
        return code
    if args.configs is not None:
        raise UserError("--configs applies only to a Helion kernel")
    with ExitStack() as stack:
        cluster, baseline = _cluster(args), _baseline(args, stack)
        request = replace(request, keys=baseline is not None)
        sweeps = Sweeps(args, start, baseline)
        if args.guess and request.kernel is None:
            each = planned_each(request, args.jobs, args.timeout, cluster, baseline)
            return sweeps.compile(request.file.stem, *stack.enter_context(each))
        plan, executor = stack.enter_context(
            planned(request, args.jobs, seconds=args.timeout, cluster=cluster, baseline=baseline)
        )
        return sweeps.compile(plan.source.name, iter([plan]), executor)


def _compile_folder(args: argparse.Namespace, folder: Path, start: float) -> int:
    """Compile every kernel in the files of a folder into one capture."""
    from irscope.capturing.compile.sweep import planned_requests
    from irscope.cli.compile_sweeps import Sweeps

    _refuse(args, "a folder", "cluster", "configs")
    requests = options.folder_requests(args, folder)
    with ExitStack() as stack:
        baseline = _baseline(args, stack)
        requests = [replace(request, keys=baseline is not None) for request in requests]
        planned = planned_requests(requests, args.jobs, args.timeout, baseline)
        sweeps = Sweeps(args, start, baseline)
        return sweeps.compile(folder.resolve().name, *stack.enter_context(planned))


def _refuse(args: argparse.Namespace, what: str, *names: str) -> None:
    """Raises UserError if one of these options is given, which cannot be used with `what`."""
    for name in names:
        if getattr(args, name) is not None:
            raise UserError(f"--{name} does not apply to {what}")


def _cluster(args: argparse.Namespace) -> Cluster | None:
    """The cluster of --cluster. Raises UserError if -j is also given: it counts processes of this machine."""
    if args.cluster is None:
        return None
    if args.jobs is not None:
        raise UserError("-j counts processes of this machine; on a cluster: dask worker --nthreads N")
    from irscope.capturing.cluster.cluster import Cluster

    return Cluster(args.cluster)


def _baseline(args: argparse.Namespace, stack: ExitStack) -> Baseline | None:
    """The capture of --baseline, open until the stack is closed."""
    if args.baseline is None:
        return None
    from irscope.capturing.compile.baseline import open_baseline

    return stack.enter_context(open_baseline(args.baseline, args.output))
