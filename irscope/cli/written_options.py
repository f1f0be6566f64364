"""Compiles a kernel while the app runs: a sweep in a thread, which reports each stage."""

from __future__ import annotations

import argparse
import shlex
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, NoReturn

from irscope.cli import options
from irscope.cli.what_if import Write
from irscope.compiling.executor import Executor
from irscope.compiling.messages import Plan, SweepRequest
from irscope.compiling.pool import Stop, Stopped
from irscope.compiling.sweep import Sweep, compile_sweep, lay_out, planned, planned_variant, stored_variant
from irscope.model import UserError
from irscope.model.errors import ArgumentError
from irscope.model.process import available_cores
from irscope.tui.live_connection import Publish
from irscope.workspace import CaptureWriter
from irscope.workspace.live import Ended, Planned, Refused, StageMade, Started, Unchanged, VariantFinished

if TYPE_CHECKING:
    from irscope.compiling.job import Job


class _Rejected(Exception):  # noqa: N818 - never leaves this module
    """The text has something that is not an option of compilation."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Rejected(message)


def complete(args: argparse.Namespace, file: Path, kernel: str | None) -> tuple[str | None, str]:
    """Adds to `args` what the docstring of `file` says about `kernel` and the command line does not.

    Without a signature on the command line, the docstring's is used, and its constants, values and targets
    for each name that the command line leaves out. Returns the kernel, which the docstring may name, and a
    line for the user, "" if nothing was added.
    """
    written = written_arguments(file)
    if args.signature is not None or getattr(args, "guess", False) or written is None:
        return kernel, ""
    named, found = written
    if kernel is not None and named not in (None, kernel):
        return kernel, ""
    given = options.assigned_texts(args.const) | options.assigned_texts(args.config)
    args.signature = found.signature
    args.const = [*args.const, *_missing(found.const, given)]
    args.config = [*_missing(found.config, given), *args.config]
    args.target = args.target or found.target
    return kernel or named, f"{file.name}: with the arguments in its docstring"


def with_options(request: SweepRequest, text: str) -> SweepRequest:
    """The request with the options in `text`, which replace those of the same name.

    Raises UserError if `text` is anything but options of compilation.
    """
    try:
        args = parsed(tuple(shlex.split(text)))
    except (_Rejected, ValueError) as error:
        raise UserError(f"{error}; write options as irscope compile has them") from error
    return replace(
        request,
        signature=args.signature or request.signature,
        constants={**request.constants, **options.constants(args.const)},
        axes={**request.axes, **options.axes(args.config)},
        targets=tuple(map(options.target, args.target)) or request.targets,
    )


def written_arguments(file: Path) -> tuple[str | None, argparse.Namespace] | None:
    """The kernel and the parsed arguments of the command in a docstring; None if there is none to use."""
    from irscope.learn.sample_commands import written_command

    words = written_command(file) if file.suffix == ".py" else ()
    try:
        found = parsed(words[1:]) if words else None
    except _Rejected:  # a command of another version
        return None
    if found is None or found.signature is None:
        return None
    return words[0].partition("::")[2] or None, found


def parsed(words: tuple[str, ...]) -> argparse.Namespace:
    """The options of compilation in `words`. Raises _Rejected if there is anything else."""
    parser = _Parser(add_help=False)
    options.add_compilation(parser)
    return parser.parse_args(words)


def _missing(assignments: list[str], given: dict[str, str]) -> list[str]:
    """The assignments to names that are not given."""
    return [one for one in assignments if one.partition("=")[0].strip() not in given]


class LiveSweep:
    """Compiles `request` into the capture at `path`, once per call of `begin`: a tui.live.Producer.

    The previous sweep continues until the new plan is known and differs. `compiled` and `failed` count
    variants; `left` counts the unfinished ones of the last plan, `what_ifs` those of what-ifs. `problem`
    explains a missing plan, else "". `options` are those that the user added in the app.
    """

    # The variants of what-ifs are stored in the capture on screen.
    path: Path | None = None

    def __init__(self, request: SweepRequest, path: Path, processes: int | None, seconds: float) -> None:
        self._request = request
        self._path = path
        # One core is left for the app, so that it responds to keys while the others compile.
        self._processes = processes or max(1, available_cores() - 1)
        self._seconds = seconds
        self._plan: Plan | None = None
        self._runs: list[tuple[Thread, Stop]] = []
        # Held while the capture is opened, closed or written for a what-if, and while ids are given.
        self._lock = Lock()
        self._next_id = 1
        self._writing = False
        self._waiting: list[Write] = []
        self.compiled = self.failed = self.left = self.what_ifs = 0
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
        """Takes options of `irscope compile` for the next plan; returns the problem with them, "" if none."""
        try:
            self._request = with_options(self._request, options)
        except UserError as error:
            return str(error)
        self.options = " ".join(filter(None, (self.options, options)))
        return ""

    def stop(self) -> None:
        """Stops the running sweeps and their workers immediately."""
        _end(self._runs)

    def reserve(self, count: int, first: int) -> int:
        """The first of `count` free ids; at least `first`."""
        with self._lock:
            found = max(self._next_id, first)
            self._next_id = found + count
            return found

    def store(self, write: Write) -> None:
        """Calls `write` with the capture: now, or after the next variant of a running sweep."""
        with self._lock:
            if self._writing:
                self._waiting.append(write)
            else:
                with CaptureWriter.resume(self._path, amends=True) as writer:
                    self._write(write, writer)

    @contextmanager
    def _open(self) -> Iterator[CaptureWriter]:
        """The capture, open for a sweep."""
        with self._lock:
            writer = CaptureWriter.resume(self._path)
            self._writing = True
        try:
            yield writer
        finally:
            with self._lock, writer:
                self._writing = False
                self._write_waiting(writer)

    def _write_waiting(self, writer: CaptureWriter) -> None:
        while self._waiting:
            self._write(self._waiting.pop(0), writer)

    def _write(self, write: Write, writer: CaptureWriter) -> None:
        """Calls `write`, and counts the variant unless it replaces one, which has its passes now."""
        before = writer.count()
        write(writer)
        self.what_ifs += writer.count() - before

    def _run(self, publish: Publish, stop: Stop, before: list[tuple[Thread, Stop]]) -> None:
        try:
            with planned(self._request, self._processes, stop, self._seconds) as (plan, workers):
                if plan == self._plan:
                    publish(Unchanged(f"{plan.source.name} and the functions it calls have not changed"))
                    return
                _end(before)
                with self._open() as writer:
                    with self._lock:
                        sweep = lay_out(plan, writer, shlex.join(sys.argv), self._next_id)
                        self._next_id = max([self._next_id, *(id_ + 1 for id_ in sweep.ids.values())])
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
        def started(job: Job) -> None:
            publish(Started(sweep.ids[job]))

        def made(job: Job, stage: str, content: bytes) -> None:
            publish(StageMade(sweep.ids[job], stage, content))

        variants = {job: planned_variant(sweep, job) for job in sweep.ids}
        publish(Planned(sweep.kernel, tuple(variants.values()), sweep.plan.notes))
        self.left = len(variants)
        try:
            for job, new in compile_sweep(sweep, workers, writer, self._seconds, started, made, stop):
                self.left -= 1
                self.compiled += new.failure is None
                self.failed += new.failure is not None
                publish(VariantFinished(stored_variant(variants[job], new)))
                with self._lock:
                    self._write_waiting(writer)
        except (OSError, sqlite3.Error) as error:  # the disk is full
            publish(Refused(str(error)))
        publish(Ended())


def _options_in(command: str) -> str:
    """The options of a suggested command, which may begin with `irscope compile FILE::KERNEL`."""
    return command[max(command.find("--"), 0) :]


def _end(runs: list[tuple[Thread, Stop]]) -> None:
    for _, stop in runs:
        stop.set()
    for thread, _ in runs:
        thread.join()
