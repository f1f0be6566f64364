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
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.cli.progress import compilation_bar, counting_bar
from irscope.compiling.sweep import Progress, Sweep, compile_rest, lay_out, reuse
from irscope.model import UserError
from irscope.model.errors import print_note
from irscope.model.text import pluralize, printable
from irscope.workspace import CaptureWriter

if TYPE_CHECKING:
    from irscope.compiling.cluster.cluster import Cluster
    from irscope.compiling.executor import Executor
    from irscope.compiling.messages import Plan, SweepRequest
    from irscope.compiling.sweep import Baseline
    from irscope.model import Target
    from irscope.recording.background_writer import OpenCapture, WrittenCounts

NAME = "compile"
GROUP = "capture"
SUMMARY = "compile a kernel under each of its configs and store every stage"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare FILE.py[::KERNEL] and what to compile it for."""
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
        type=options.duration,
        help="stop after TIME (90, 5m, 2h) with the most informative variants compiled",
    )
    options.add_output(parser, "KERNEL.irscope")


def run(args: argparse.Namespace) -> int:
    """Compiles and writes the capture; returns 1 if a variant failed."""
    from irscope.compiling.sweep import planned, planned_each
    from irscope.recording.compile_helion import helion_kernel

    start = time.monotonic()
    if Path(args.kernel).is_dir():
        return _compile_folder(args, Path(args.kernel), start)
    request = options.sweep_request(args, args.kernel)
    if (kernel := helion_kernel(request.file, request.kernel)) is not None:
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
            kernel_plans = planned_each(request, args.jobs, args.timeout, cluster, baseline)
            return sweeps.compile(request.file.stem, *stack.enter_context(kernel_plans))
        plan, executor = stack.enter_context(
            planned(request, args.jobs, seconds=args.timeout, cluster=cluster, baseline=baseline)
        )
        return sweeps.compile(plan.source.name, iter([plan]), executor)


def _compile_folder(args: argparse.Namespace, folder: Path, start: float) -> int:
    """Compile every kernel in the files of a folder into one capture."""
    from irscope.compiling.sweep import planned_requests

    _refuse(args, "a folder", "cluster", "configs")
    requests = options.folder_requests(args, folder)
    with ExitStack() as stack:
        baseline = _baseline(args, stack)
        requests = [replace(request, keys=baseline is not None) for request in requests]
        planned = planned_requests(requests, args.jobs, args.timeout, baseline)
        sweeps = Sweeps(args, start, baseline)
        return sweeps.compile(folder.resolve().name, *stack.enter_context(planned))


def _refuse(args: argparse.Namespace, what: str, *names: str) -> None:
    """Raise UserError if one of these options is given, which cannot be used with `what`."""
    for name in names:
        if getattr(args, name) is not None:
            raise UserError(f"--{name} does not apply to {what}")


def _cluster(args: argparse.Namespace) -> Cluster | None:
    """Return the cluster of --cluster.

    Raises UserError if -j is also given: it counts processes of this machine.
    """
    if args.cluster is None:
        return None
    if args.jobs is not None:
        raise UserError("-j counts processes of this machine; on a cluster: dask worker --nthreads N")
    from irscope.compiling.cluster.cluster import Cluster

    return Cluster(args.cluster)


def _baseline(args: argparse.Namespace, stack: ExitStack) -> Baseline | None:
    """Return the capture of --baseline, open until the stack is closed."""
    if args.baseline is None:
        return None
    from irscope.compiling.sweep import open_baseline

    return stack.enter_context(open_baseline(args.baseline, args.output))


@dataclass
class Sweeps:
    """The sweeps of one command, which has run since `start` (time.monotonic)."""

    args: argparse.Namespace
    start: float
    baseline: Baseline | None = None
    _rejected: int = 0

    def compile(self, stem: str, plans: Iterable[Plan | UserError], executor: Executor) -> int:
        """Compiles each plan into one capture, STEM.irscope by default; returns the exit code.

        A kernel without a plan is reported and left out. If none has one, nothing is written: UserError.
        """
        total = Progress(0)
        path = self.args.output or Path(f"{stem}.irscope")
        accepted = self._accepted(plans)
        first = next(accepted, None)
        if first is None:  # each plan was rejected, with a line that says why
            raise UserError(f"nothing to compile: {path} was not written")
        accepted = chain([first], accepted)
        with options.open_writer(self.args, path) as writer:
            # With a budget, each kernel gets its share, so their number has to be known.
            all_first = self.args.budget is not None or self.baseline is not None
            sweeps = self._all_sweeps(accepted, writer) if all_first else self._sweeps(accepted, writer)
            for index, sweep in enumerate(sweeps):
                if not sweep.ids:
                    _add(total, sweep.progress())
                    continue
                until = self._until(len(sweeps) - index) if isinstance(sweeps, list) else None
                with compilation_bar(sweep.plan) as report:
                    _add(total, compile_rest(sweep, executor, writer, self.args.timeout, report, until))
        add_derived(path, self.args.sass)
        return self._print_summary(path, total) or int(self._rejected > 0)

    def _accepted(self, plans: Iterable[Plan | UserError]) -> Iterator[Plan]:
        """Yield the plans, and print why the others were rejected."""
        for plan in plans:
            if isinstance(plan, UserError):
                self._rejected += 1
                print_note(plan.command_line_text)
            else:
                yield plan

    def _all_sweeps(self, plans: Iterable[Plan], writer: CaptureWriter) -> list[Sweep]:
        """Return the sweep of each plan, without the variants that the baseline has."""
        first = writer.next_id()
        sweeps = list(self._sweeps(plans, writer))
        writer.expect(sum(id_ >= first for sweep in sweeps for id_ in sweep.ids.values()))
        if self.baseline is None:
            return sweeps
        with counting_bar(str(self.args.baseline)) as report:
            return reuse(sweeps, self.baseline, writer, report)

    def _sweeps(self, plans: Iterable[Plan], writer: CaptureWriter) -> Iterator[Sweep]:
        """Yield the sweep of each plan."""
        first, printed = 1, set[str]()
        for plan in plans:
            for note in plan.notes:
                if note not in printed:
                    print_note(note)
            printed.update(plan.notes)
            sweep = lay_out(plan, writer, shlex.join(sys.argv), first)
            first = max([first, *(id_ + 1 for id_ in sweep.ids.values())])
            yield sweep

    def _until(self, sweeps: int) -> float | None:
        """Return the time to stop compiling the next of the remaining `sweeps`.

        They share what is left equally.
        """
        if self.args.budget is None:
            return None
        now = time.monotonic()
        return now + max(self.start + float(self.args.budget) - now, 0.0) / sweeps

    def _print_summary(self, path: Path, progress: Progress) -> int:
        """Print how many variants compiled, and each failure; returns the exit code."""
        reused = ""
        if self.baseline is not None:
            reused = f", {progress.reused} from {shlex.quote(str(self.args.baseline))}"
        compiled, seconds = progress.done - progress.failed, time.monotonic() - self.start
        print(options.compiled_text(path, compiled, progress.kept, progress.failed, seconds, reused))
        for rate in progress.rates:
            number = pluralize(rate.jobs, "variant")
            print(f"  {printable(rate.name)}: {number}, {rate.per_minute:.0f} per minute", file=sys.stderr)
        if progress.left:
            left = pluralize(progress.left, "variant")
            print_note(f"--budget is used up: {left} left of {progress.total:,}; --resume compiles them")
        if progress.failed:
            options.print_failures(path)
        options.print_next(path)
        return 1 if progress.failed else 0


def _add(total: Progress, one: Progress) -> None:
    """Add the progress of one plan."""
    for name in ("total", "kept", "done", "failed", "reused", "left"):
        setattr(total, name, getattr(total, name) + getattr(one, name))
    total.rates = one.rates or total.rates


def add_derived(path: Path, sass: bool) -> None:
    """Add the facts that are missing, and SASS if it was asked for."""
    from irscope.workspace import Workspace

    if sass:
        from concurrent.futures import ThreadPoolExecutor

        with Workspace(path, writable=True) as workspace, ThreadPoolExecutor() as threads:
            list(threads.map(workspace.derive_stages, workspace.variants))
    Workspace(path).store_facts()


def compile_helion_kernel(args: argparse.Namespace, sweep: SweepRequest, kernel: str) -> tuple[Path, int]:
    """Compiles the Helion kernel called `kernel`; returns the capture and the exit code.

    Prints the summary. Raises UserError if an option does not apply to Helion.
    """
    from irscope.cli.progress import recording_bar
    from irscope.compiling.messages import RunOptions
    from irscope.recording.compile_helion import HelionRequest, compile_helion
    from irscope.workspace import CaptureWriter

    if args.reasons:
        raise UserError("--reasons does not apply to a Helion kernel; irscope run records none either")
    constants, axes = options.assigned_texts(args.const), options.value_texts(args.config)
    request = HelionRequest(sweep.file, kernel, args.signature or "", constants, axes, args.configs)
    path = args.output or Path(f"{kernel}.irscope")
    run = RunOptions(None, processes=args.jobs, seconds=args.timeout, passes=args.passes)
    start, command = time.monotonic(), shlex.join(sys.argv)
    with recording_bar() as bar:

        def report(written: WrittenCounts) -> None:
            if written.kernels:  # else the program has said why
                bar(written)

        open_ = partial(_opener, args, path, sweep.targets[0])
        code, written = compile_helion(request, sweep.targets, run, open_, command, report)
    if CaptureWriter.remove_if_empty(path):
        return path, code or 1
    variants, kept, failed = (
        sum(getattr(counts, name) for counts in written) for name in ("variants", "kept", "failed")
    )
    print(options.compiled_text(path, variants - failed, kept, failed, time.monotonic() - start))
    if failed:
        options.print_failures(path)
    options.print_next(path)
    return path, code or int(failed > 0)


def _opener(args: argparse.Namespace, path: Path, first: Target, target: Target) -> OpenCapture:
    """Open the capture: as asked for the first target, to add to it for the others."""
    from irscope.workspace import CaptureWriter

    return (
        partial(options.open_writer, args, path) if target == first else partial(CaptureWriter.resume, path)
    )
