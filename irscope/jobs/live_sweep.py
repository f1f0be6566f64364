"""Compiles a kernel while the app runs: a sweep in a thread, which reports each stage."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from irscope.compiling.executor import Executor
from irscope.compiling.messages import Plan, SweepRequest
from irscope.compiling.pool import Stop, Stopped
from irscope.compiling.sweep import Sweep, compile_sweep, planned, planned_variant, stored_variant
from irscope.jobs.variant_compiler import LiveCapture, stage_events
from irscope.model import UserError
from irscope.model.errors import ArgumentError
from irscope.model.process import available_cores
from irscope.store import CaptureWriter
from irscope.workspace.live import Ended, Planned, Publish, Refused, Unchanged, VariantFinished


class LiveSweep:
    """Compiles `request` into the capture at `path`, once per call of `begin`: a tui.live.Producer.

    The previous sweep continues until the new plan is known and differs. `compiled` and `failed` count
    variants; `left` counts the unfinished ones of the last plan. `problem` explains a missing plan, else "".
    `options` are those that the user added in the app, which `with_options` reads.
    """

    def __init__(
        self,
        request: SweepRequest,
        path: Path,
        processes: int | None,
        seconds: float,
        with_options: Callable[[SweepRequest, str], SweepRequest],
    ) -> None:
        self._request, self._with_options = request, with_options
        self.capture = LiveCapture(path)
        # One core is left for the app, so that it responds to keys while the others compile.
        self._processes = processes or max(1, available_cores() - 1)
        self._seconds = seconds
        self._plan: Plan | None = None
        self._runs: list[tuple[Thread, Stop]] = []
        self.compiled = self.failed = self.left = 0
        self.problem = self.options = ""

    @property
    def name(self) -> str:
        """FILE.py::KERNEL."""
        return "::".join(filter(None, (str(self._request.file), self._request.kernel)))

    @property
    def files(self) -> tuple[Path, ...]:
        """FILE.py."""
        return (self._request.file,)

    def begin(self, publish: Publish) -> None:
        """Plans and compiles in a new thread. Do not call it again before it has reported an event."""
        stop = Stop()
        before = [run for run in self._runs if run[0].is_alive()]
        thread = Thread(target=self._run, args=(publish, stop, before), name="irscope-sweep", daemon=True)
        self._runs = [*before, (thread, stop)]
        thread.start()

    def add_options(self, options: str) -> str:
        """Take options of `irscope compile` for the next plan; returns the problem with them, "" if none."""
        try:
            self._request = self._with_options(self._request, options)
        except UserError as error:
            return str(error)
        self.options = " ".join(filter(None, (self.options, options)))
        return ""

    def stop(self) -> None:
        """Stop the running sweeps and their workers immediately."""
        _end(self._runs)

    def _run(self, publish: Publish, stop: Stop, before: list[tuple[Thread, Stop]]) -> None:
        try:
            with planned(self._request, self._processes, stop, self._seconds) as (plan, workers):
                if plan == self._plan:
                    publish(Unchanged(f"{plan.source.name} and the functions it calls have not changed"))
                    return
                _end(before)
                with self.capture.opened() as writer:
                    sweep = self.capture.lay_out(plan, writer)
                    self._plan, self.problem = plan, ""
                    self._compile(sweep, workers, writer, publish, stop)
        except Stopped:  # replaced by another plan, or the app has quit
            pass
        except ArgumentError as error:
            self.problem = str(error)
            publish(Refused(error.problem, _options_in(error.command)))
        except (UserError, OSError, sqlite3.Error) as error:
            self.problem = str(error)
            publish(Refused(self.problem))

    def _compile(
        self, sweep: Sweep, workers: Executor, writer: CaptureWriter, publish: Publish, stop: Stop
    ) -> None:
        started, made = stage_events(sweep.ids, publish)
        variants = {job: planned_variant(sweep, job) for job in sweep.ids}
        publish(Planned(sweep.kernel, tuple(variants.values()), sweep.plan.notes))
        self.left = len(variants)
        try:
            for job, new in compile_sweep(sweep, workers, writer, self._seconds, stop, started, made):
                self.left -= 1
                self.compiled += new.failure is None
                self.failed += new.failure is not None
                publish(VariantFinished(stored_variant(variants[job], new)))
                self.capture.write_waiting(writer)
        except (OSError, sqlite3.Error) as error:  # the disk is full
            publish(Refused(str(error)))
        publish(Ended())


def _options_in(command: str) -> str:
    """Return the options of a suggested command, which may begin with `irscope compile FILE::KERNEL`."""
    return command[max(command.find("--"), 0) :]


def _end(runs: list[tuple[Thread, Stop]]) -> None:
    for _, stop in runs:
        stop.set()
    for thread, _ in runs:
        thread.join()
