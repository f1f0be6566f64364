"""Compiles what-ifs in threads; stores their variants in the sweep's capture, or in one of their own.

Compiles variants once more with their passes, as a user of the app asks, and stores them like what-ifs.
"""

from __future__ import annotations

import itertools
import os
import shlex
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from irscope.compiling.edits.edited_variant import EditRequest, RebuildError, build_variant
from irscope.compiling.messages import Plan, WhatIfRequest
from irscope.compiling.pool import Stop, Stopped, Worker, run_jobs
from irscope.compiling.sweep import (
    IMPORT_SECONDS,
    Sweep,
    compiled_before,
    lay_out,
    planned_variant,
    stored_variant,
    unfinished_variant,
)
from irscope.model import Expression, Kernel, Toolchain, UserError, Value, Variant
from irscope.store import CaptureWriter
from irscope.workspace.live import (
    Added,
    EditRejected,
    NotAdded,
    PassesRecorded,
    PassesRefused,
    Publish,
    StageMade,
    Started,
    VariantFinished,
)
from irscope.workspace.what_if import PassRequest, StageEdit, WhatIf

if TYPE_CHECKING:
    from irscope.compiling.edits.edited_variant import BuiltVariant
    from irscope.compiling.job import Job
    from irscope.store import NewVariant


# More messages than these follow from the first ones.
_MAX_PROBLEMS = 8


def build_edit(edit: StageEdit, storage: LiveCapture, seconds: float, publish: Publish, ended: Event) -> None:
    """Build and store the variant of an edit; nothing is stored once the app has ended."""
    request = EditRequest(edit.stage, edit.text, seconds=seconds)
    try:
        built = build_variant(edit.variant, edit.contents.get, request, edit.taken)
        if not ended.is_set():
            _store(edit, built, storage, publish)
    except RebuildError as error:
        publish(EditRejected(edit, *_problems(error)))
    except (UserError, OSError, sqlite3.Error) as error:
        publish(NotAdded(str(error)))


def _problems(error: RebuildError) -> tuple[tuple[str, ...], int | None]:
    """Return the messages, and the line of the first that has one."""
    errors = [diagnostic for diagnostic in error.diagnostics if diagnostic.severity == "error"]
    line = next((diagnostic.line for diagnostic in errors if diagnostic.line), None)
    texts = tuple(dict.fromkeys(map(str, errors)))[:_MAX_PROBLEMS]
    return texts or (str(error),), line


def _store(edit: StageEdit, built: BuiltVariant, storage: LiveCapture, publish: Publish) -> None:
    """Add the variant to the app and the capture; it is compared with its original."""
    old, new = edit.variant, built.new
    id_ = storage.reserve(1, edit.first_id)
    variant = Variant(
        id_,
        old.kernel,
        new.target,
        new.specialization,
        new.config,
        old.toolchain,
        metadata=new.metadata,
        cache_key=new.cache_key,
    )
    publish(Added((variant,), old.id, id_))

    def write(writer: CaptureWriter) -> None:
        writer.add_compiled(old.kernel, old.toolchain, new, id_)
        publish(VariantFinished(stored_variant(variant, new), storage.path))

    storage.store(write)


# Writes a variant into a capture that is open for writing.
Write = Callable[[CaptureWriter], None]


class LiveCapture:
    """The capture of the variants that are compiled while the app runs, which several threads write.

    `path` is the file, None if it is the capture on screen. `added` counts the variants of what-ifs.
    """

    def __init__(self, file: Path, path: Path | None = None) -> None:
        self._file, self.path = file, path
        # Held while the capture is opened, closed or written for a what-if, and while ids are given.
        self._lock = Lock()
        self._next_id = 1
        self._writing = False
        self._waiting: list[Write] = []
        self.added = 0

    def reserve(self, count: int, first: int) -> int:
        """Return the first of `count` free ids; at least `first`."""
        with self._lock:
            start = max(self._next_id, first)
            self._next_id = start + count
            return start

    def lay_out(self, plan: Plan, writer: CaptureWriter) -> Sweep:
        """Match a plan with the capture, and take the ids of its new variants."""
        with self._lock:
            sweep = lay_out(plan, writer, _command(), self._next_id)
            self._next_id = max([self._next_id, *(id_ + 1 for id_ in sweep.ids.values())])
            return sweep

    def store(self, write: Write) -> None:
        """Call `write` with the capture: now, or after the next variant of a running sweep.

        Any thread may call it. Raises UserError, OSError or sqlite3.Error if that fails.
        """
        with self._lock:
            if self._writing:
                self._waiting.append(write)
                return
            if self.path is not None and not self.path.exists():
                self.path.parent.mkdir(parents=True, exist_ok=True)
                CaptureWriter.create(self.path).close()
            with CaptureWriter.resume(self._file, amends=True) as writer:
                self._write(write, writer)

    @contextmanager
    def opened(self) -> Iterator[CaptureWriter]:
        """Open the capture for a sweep."""
        with self._lock:
            writer = CaptureWriter.resume(self._file)
            self._writing = True
        try:
            yield writer
        finally:
            with self._lock, writer:
                self._writing = False
                self._write_waiting(writer)

    def write_waiting(self, writer: CaptureWriter) -> None:
        """Write what was stored since the sweep has the capture open."""
        with self._lock:
            self._write_waiting(writer)

    def _write_waiting(self, writer: CaptureWriter) -> None:
        while self._waiting:
            self._write(self._waiting.pop(0), writer)

    def _write(self, write: Write, writer: CaptureWriter) -> None:
        """Call `write`, and count the variant unless it replaces one, which has its passes now."""
        before = writer.count()
        write(writer)
        self.added += writer.count() - before

    def finish(self) -> None:
        """Leave the capture as a single file: merge the log, which the app kept open."""
        if self.added:
            with self._lock, CaptureWriter.resume(self._file, amends=True):
                pass


def own_capture(of: Path) -> LiveCapture:
    """Return a capture only for what-ifs, in the user's cache folder: the one on screen is never changed.

    Its file is made when a variant is stored.
    """
    import platformdirs

    base = Path(os.environ.get("IRSCOPE_CACHE") or platformdirs.user_cache_path("irscope"))
    path = base / "what-if" / f"{of.stem}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.irscope"
    return LiveCapture(path, path)


def stage_events(
    ids: Mapping[Job, int], publish: Publish
) -> tuple[Callable[[Job], None], Callable[[Job, str, bytes], None]]:
    """Return what publishes that a job is being compiled, and each of its stages."""

    def started(job: Job) -> None:
        publish(Started(ids[job]))

    def made(job: Job, stage: str, content: bytes) -> None:
        publish(StageMade(ids[job], stage, content))

    return started, made


class WhatIfCompiler:
    """Compiles what-ifs, each in a worker process of its own: a tui.live_connection.VariantCompiler.

    A worker imports the kernel's file once, and the file may have changed since the last what-if.
    """

    def __init__(self, storage: LiveCapture, seconds: float, trusted: Path | None = None) -> None:
        self._storage = storage
        self._seconds = seconds
        self.trusted = trusted
        self._stop = Stop()
        self._ended = Event()
        self._spare: Worker | None = None
        self._threads: list[Thread] = []

    def prepare(self) -> None:
        """Start a worker, which loads Triton while the user types."""
        if self._spare is None:
            self._spare = Worker()

    def begin(self, what_if: WhatIf, publish: Publish) -> None:
        """Compiles in a new thread."""
        ids = set[int]()
        compile_ = partial(self._compile_what_if, what_if, publish, ids)
        self._start(compile_, lambda problem: publish(NotAdded(problem, tuple(ids))))

    def record_passes(self, request: PassRequest, publish: Publish) -> None:
        """Compiles in a new thread."""
        compile_ = partial(self._compile_passes, request, publish)
        self._start(compile_, lambda problem: publish(PassesRefused(request.variant.id, problem)))

    def _start(self, compile_: Callable[[list[Worker]], None], refuse: Callable[[str], None]) -> None:
        """Call `compile_` in a new thread with a worker, and `refuse` with why it fails."""
        workers, self._spare = [self._spare or Worker()], None

        def run() -> None:
            try:
                compile_(workers)
            except Stopped:  # the app has quit
                pass
            except (UserError, OSError, sqlite3.Error) as error:
                refuse(str(error))
            finally:
                for worker in workers:
                    worker.stop()

        thread = Thread(target=run, name="irscope-what-if", daemon=True)
        self._threads.append(thread)
        thread.start()

    def edit(self, edit: StageEdit, publish: Publish) -> None:
        """Build in a new thread, which the end of the app does not wait for: nothing is stored after it."""
        arguments = edit, self._storage, self._seconds, publish, self._ended
        Thread(target=build_edit, args=arguments, name="irscope-edit", daemon=True).start()

    def stop(self) -> None:
        """Stop what is being compiled; what is compiled is stored."""
        self._stop.set()
        self._ended.set()
        for thread in self._threads:
            thread.join()
        if self._spare is not None:
            self._spare.stop()
            self._spare = None

    def _compile_what_if(
        self, what_if: WhatIf, publish: Publish, left: set[int], workers: list[Worker]
    ) -> None:
        """Compiles and stores the variants of a what-if; `left` are the ids of those that are not stored."""
        request = _request(what_if, what_if.values, what_if.passes)
        plan = workers[0].ask(request, IMPORT_SECONDS, self._stop)
        sweep, added = self._lay_out(plan, what_if)
        left.update(sweep.ids.values())
        publish(added)
        started, made = stage_events(sweep.ids, publish)
        for job, outcome in run_jobs(list(sweep.ids), workers, self._seconds, started, made, self._stop):
            new = outcome.added_to(unfinished_variant(job))
            self._storage.store(partial(self._write, sweep, job, new, publish))
            left.discard(sweep.ids[job])

    def _lay_out(self, plan: Plan, what_if: WhatIf) -> tuple[Sweep, Added]:
        """Return the jobs that are not compiled yet, with their ids, and the pair to compare.

        The variant itself is compiled again if its file or toolchain changed since; it is then A.
        Without other values, it is B.
        """
        itself, *other_jobs = dict.fromkeys(plan.jobs)
        compiled = compiled_before(plan, [*what_if.known, what_if.variant])
        missing = [job for job in (itself, *other_jobs) if job not in compiled]
        first = self._storage.reserve(len(missing), what_if.first_id)
        ids = dict(zip(missing, itertools.count(first), strict=False))
        sweep = Sweep(plan, _kernel(plan, what_if, first), Toolchain(-first, plan.versions, _command()), ids)
        a, b = (
            compiled[job].id if job in compiled else ids[job] for job in (itself, (other_jobs or [itself])[0])
        )
        if not what_if.values:
            a = what_if.variant.id
        return sweep, Added(tuple(planned_variant(sweep, job) for job in ids), a, b)

    def _write(
        self, sweep: Sweep, job: Job, new: NewVariant, publish: Publish, writer: CaptureWriter
    ) -> None:
        writer.add_compiled(sweep.plan.kernel(), sweep.toolchain, new, sweep.ids[job])
        publish(VariantFinished(stored_variant(planned_variant(sweep, job), new), self._storage.path))

    def _compile_passes(self, request: PassRequest, publish: Publish, workers: list[Worker]) -> None:
        """Compiles and stores a variant with its passes.

        Raises UserError if the variant has no passes, or fails unlike before.
        """
        variant = request.variant
        plan = workers[0].ask(_request(request, {}, passes=True), IMPORT_SECONDS, self._stop)
        _check_same(plan, request)
        job = plan.jobs[0]
        ((_, outcome),) = run_jobs([job], workers, self._seconds, stop=self._stop)
        new = outcome.added_to(unfinished_variant(job))
        if new.failure is not None and (variant.failure is None or not new.passes):
            raise UserError(f"#{variant.id} with passes: {new.failure.summary}")
        if not new.passes:
            raise UserError(f"#{variant.id} has no passes that can be recorded")
        new = replace(new, config=variant.config, launches=variant.launches, benchmarks=variant.benchmarks)

        def write(writer: CaptureWriter) -> None:
            """Add the variant; in a capture that has it without passes, it replaces that one."""
            stored = writer.add_compiled(variant.kernel, variant.toolchain, new, variant.id)
            publish(PassesRecorded(variant.id, self._storage.path, stored))

        self._storage.store(write)


def _request(
    asked: WhatIf | PassRequest, values: Mapping[str, tuple[Value | Expression, ...]], passes: bool
) -> WhatIfRequest:
    """Return the request to compile a variant again, with other values if there are some."""
    variant = asked.variant
    return WhatIfRequest(
        asked.file,
        variant.kernel.name,
        variant.target,
        variant.specialization,
        variant.config,
        values,
        passes=passes,
        reasons=variant.reasons is not None,
    )


def _kernel(plan: Plan, what_if: WhatIf, first: int) -> Kernel:
    """Return the kernel of the plan: one that is on screen if it is the same, else one with a new id."""
    for kernel in dict.fromkeys(variant.kernel for variant in (what_if.variant, *what_if.known)):
        if (kernel.source, kernel.helpers, kernel.parameters) == (plan.source, plan.helpers, plan.parameters):
            return kernel
    return plan.kernel(-first)


def _command() -> str:
    return shlex.join(sys.argv)


def _check_same(plan: Plan, request: PassRequest) -> None:
    """Raise UserError unless the first job of a plan compiles the variant as it was compiled before.

    A function that has moved within its file, or with it, is the same.
    """
    variant, kernel = request.variant, request.variant.kernel
    texts = [function.text for function in (plan.source, *plan.helpers)]
    if texts != [function.text for function in (kernel.source, *kernel.helpers)]:
        raise UserError(f"{kernel.name} in {request.file} has changed since #{variant.id} was compiled")
    placed = replace(plan, source=kernel.source, helpers=kernel.helpers)
    if plan.jobs[0] not in compiled_before(placed, [variant]):
        raise UserError(f"#{variant.id} was compiled with other settings of Triton than irscope has now")
