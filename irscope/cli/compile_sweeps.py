"""Compiles the plans of `irscope compile` into one capture, and prints what became of them."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.capturing.compile.sweep import Progress, Sweep, compile_rest, lay_out, reuse
from irscope.cli import options
from irscope.cli.progress import compilation_bar, counting_bar
from irscope.model import UserError
from irscope.model.text import pluralize, printable
from irscope.workspace import CaptureWriter

if TYPE_CHECKING:
    from irscope.capturing.compile.baseline import Baseline
    from irscope.capturing.compile.executor import Executor
    from irscope.capturing.messages import Plan


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
            found = self._all_sweeps(accepted, writer) if all_first else self._sweeps(accepted, writer)
            for place, sweep in enumerate(found):
                if not sweep.ids:
                    _add(total, sweep.progress())
                    continue
                until = self._until(len(found) - place) if isinstance(found, list) else None
                with compilation_bar(sweep.plan) as report:
                    _add(total, compile_rest(sweep, executor, writer, self.args.timeout, report, until))
        add_derived(path, self.args.sass)
        return self._print_summary(path, total) or int(self._rejected > 0)

    def _accepted(self, plans: Iterable[Plan | UserError]) -> Iterator[Plan]:
        """Yield the plans, and print why the others were rejected."""
        for plan in plans:
            if isinstance(plan, UserError):
                self._rejected += 1
                _print_note(plan.command_line_text)
            else:
                yield plan

    def _all_sweeps(self, plans: Iterable[Plan], writer: CaptureWriter) -> list[Sweep]:
        """The sweep of each plan, without the variants that the baseline has."""
        first = writer.next_id()
        sweeps = list(self._sweeps(plans, writer))
        writer.expect(sum(id_ >= first for sweep in sweeps for id_ in sweep.ids.values()))
        if self.baseline is None:
            return sweeps
        with counting_bar(str(self.args.baseline)) as report:
            return reuse(sweeps, self.baseline, writer, report)

    def _sweeps(self, plans: Iterable[Plan], writer: CaptureWriter) -> Iterator[Sweep]:
        """The sweep of each plan."""
        first, printed = 1, set[str]()
        for plan in plans:
            for note in plan.notes:
                if note not in printed:
                    _print_note(note)
            printed.update(plan.notes)
            sweep = lay_out(plan, writer, shlex.join(sys.argv), first)
            first = max([first, *(id_ + 1 for id_ in sweep.ids.values())])
            yield sweep

    def _until(self, sweeps: int) -> float | None:
        """The time to stop compiling the next of the remaining `sweeps`, which share what is left equally."""
        if self.args.budget is None:
            return None
        now = time.monotonic()
        return now + max(self.start + float(self.args.budget) - now, 0.0) / sweeps

    def _print_summary(self, path: Path, progress: Progress) -> int:
        """Prints how many variants compiled, and each failure; returns the exit code."""
        name = shlex.quote(str(path))
        kept = f", {progress.kept} already there" if progress.kept else ""
        if self.baseline is not None:
            kept += f", {progress.reused} from {shlex.quote(str(self.args.baseline))}"
        compiled, seconds = progress.done - progress.failed, time.monotonic() - self.start
        print(f"{name}: {compiled} compiled{kept}, {progress.failed} failed, {seconds:.1f} s")
        for rate in progress.rates:
            number = pluralize(rate.jobs, "variant")
            print(f"  {printable(rate.name)}: {number}, {rate.per_minute:.0f} per minute", file=sys.stderr)
        if progress.left:
            left = pluralize(progress.left, "variant")
            _print_note(f"--budget is used up: {left} left of {progress.total:,}; --resume compiles them")
        if progress.failed:
            options.print_failures(path)
        print(f"browse: irscope {name}   compare: irscope table {name}")
        return 1 if progress.failed else 0


def _add(total: Progress, one: Progress) -> None:
    """Adds the progress of one plan."""
    for name in ("total", "kept", "done", "failed", "reused", "left"):
        setattr(total, name, getattr(total, name) + getattr(one, name))
    total.rates = one.rates or total.rates


def _print_note(note: str) -> None:
    print(f"irscope: {note}", file=sys.stderr)


def add_derived(path: Path, sass: bool) -> None:
    """Adds the facts that are missing, and SASS if it was asked for."""
    from irscope.workspace import Workspace

    if sass:
        from concurrent.futures import ThreadPoolExecutor

        with Workspace(path, writable=True) as workspace, ThreadPoolExecutor() as threads:
            list(threads.map(workspace.derive_stages, workspace.variants))
    Workspace(path).store_facts()
