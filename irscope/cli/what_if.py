"""Compiles what-ifs in threads; stores their variants in the sweep's capture, or in one of their own."""

from __future__ import annotations

import itertools
import os
import shlex
import sqlite3
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Protocol

from irscope.cli.pass_recording import record_passes
from irscope.compiling.edits.edited_variant import EditRequest, RebuildError, build_variant
from irscope.compiling.messages import Plan, WhatIfRequest
from irscope.compiling.pool import Stop, Stopped, Worker, run_jobs
from irscope.compiling.sweep import (
    IMPORT_SECONDS,
    Sweep,
    compiled_before,
    planned_variant,
    stored_variant,
    unfinished_variant,
)
from irscope.model import Kernel, Toolchain, UserError, Variant
from irscope.model.text import pluralize
from irscope.tui.live_connection import Publish
from irscope.workspace import CaptureWriter
from irscope.workspace.live import Added, EditRejected, NotAdded, StageMade, Started, VariantFinished
from irscope.workspace.what_if import StageEdit, WhatIf

if TYPE_CHECKING:
    from irscope.compiling.edits.edited_variant import BuiltVariant
    from irscope.compiling.job import Job
    from irscope.store import NewVariant
    from irscope.workspace.what_if import PassRequest


# More messages than these follow from the first ones.
_MAX_PROBLEMS = 8


def build_edit(edit: StageEdit, storage: Storage, seconds: float, publish: Publish, ended: Event) -> None:
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


def _store(edit: StageEdit, built: BuiltVariant, storage: Storage, publish: Publish) -> None:
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
        toolchain = writer.add_toolchain(old.toolchain.versions, old.toolchain.command)
        kernel = writer.add_kernel(old.kernel.source, old.kernel.helpers, old.kernel.parameters)
        writer.add_variant(kernel, toolchain, old.toolchain.versions.get("triton", ""), new, id_)
        publish(VariantFinished(stored_variant(variant, new), storage.path))

    storage.store(write)


# Writes a variant into a capture that is open for writing.
Write = Callable[[CaptureWriter], None]


class Storage(Protocol):
    """The storage of the variants of what-ifs."""

    @property
    def path(self) -> Path | None:
        """Their capture; None if it is the one on screen."""

    def reserve(self, count: int, first: int) -> int:
        """Reserve `count` free ids; return the first of them, which is at least `first`."""

    def store(self, write: Write) -> None:
        """Call `write` with the capture, now or soon, from any thread. Raises UserError, OSError."""


class OwnCapture:
    """A capture only for what-ifs, in the user's cache folder: the capture on screen is never changed."""

    def __init__(self, of: Path) -> None:
        self._of = of
        self._lock = Lock()
        self._next = 1
        self._path: Path | None = None
        self.variants = 0

    @property
    def path(self) -> Path:
        """Return the capture, which exists once a variant is stored."""
        if self._path is None:
            import platformdirs

            base = Path(os.environ.get("IRSCOPE_CACHE") or platformdirs.user_cache_path("irscope"))
            name = f"{self._of.stem}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.irscope"
            self._path = base / "what-if" / name
        return self._path

    def reserve(self, count: int, first: int) -> int:
        """Reserve `count` free ids; return the first of them, which is at least `first`."""
        with self._lock:
            first_free = max(self._next, first)
            self._next = first_free + count
            return first_free

    def store(self, write: Write) -> None:
        """Call `write` with the capture. Raises UserError, OSError or sqlite3.Error if that fails."""
        with self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            exists = self.path.exists()
            open_ = partial(CaptureWriter.resume, amends=True) if exists else CaptureWriter.create
            with open_(self.path) as writer:
                write(writer)
                self.variants = writer.count()

    def finish(self) -> str:
        """Leaves the capture as a single file; returns the lines that name it, "" without a capture."""
        if not self.variants:
            return ""
        # Merges the log, which the app kept open.
        with self._lock, CaptureWriter.resume(self.path, amends=True):
            pass
        name, of = shlex.quote(str(self.path)), shlex.quote(str(self._of))
        return (
            f"{name}: {pluralize(self.variants, 'variant')} compiled in the app; {of} was not changed\n"
            f"both in one: irscope merge {of} {name} -o NEW.irscope\n"
        )


class WhatIfCompiler:
    """Compiles what-ifs, each in a worker process of its own: a tui.live_connection.VariantCompiler.

    A worker imports the kernel's file once, and the file may have changed since the last what-if.
    """

    def __init__(self, storage: Storage, seconds: float, trusted: Path | None = None) -> None:
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
        self._start(partial(self._run, what_if, publish))

    def record_passes(self, request: PassRequest, publish: Publish) -> None:
        """Compiles in a new thread."""
        self._start(partial(record_passes, request, self._storage, self._seconds, publish, self._stop))

    def _start(self, run: Callable[[Worker], None]) -> None:
        """Call `run` in a new thread with a worker that it ends."""
        worker, self._spare = self._spare or Worker(), None
        thread = Thread(target=run, args=(worker,), name="irscope-what-if", daemon=True)
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

    def _run(self, what_if: WhatIf, publish: Publish, worker: Worker) -> None:
        workers, ids = [worker], set[int]()
        try:
            plan = worker.ask(_request(what_if), IMPORT_SECONDS, self._stop)
            sweep, added = self._lay_out(plan, what_if)
            ids.update(sweep.ids.values())
            publish(added)
            self._compile(sweep, workers, publish, ids)
        except Stopped:  # the app has quit
            pass
        except (UserError, OSError, sqlite3.Error) as error:
            publish(NotAdded(str(error), tuple(ids)))
        finally:
            for started_worker in workers:
                started_worker.stop()

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

    def _compile(self, sweep: Sweep, workers: list[Worker], publish: Publish, left: set[int]) -> None:
        def started(job: Job) -> None:
            publish(Started(sweep.ids[job]))

        def made(job: Job, stage: str, content: bytes) -> None:
            publish(StageMade(sweep.ids[job], stage, content))

        for job, outcome in run_jobs(list(sweep.ids), workers, self._seconds, started, made, self._stop):
            new = outcome.added_to(unfinished_variant(job))
            self._storage.store(partial(self._write, sweep, job, new, publish))
            left.discard(sweep.ids[job])

    def _write(
        self, sweep: Sweep, job: Job, new: NewVariant, publish: Publish, writer: CaptureWriter
    ) -> None:
        plan = sweep.plan
        toolchain = writer.add_toolchain(plan.versions, sweep.toolchain.command)
        kernel = writer.add_kernel(plan.source, plan.helpers, plan.parameters)
        writer.add_variant(kernel, toolchain, plan.versions["triton"], new, sweep.ids[job])
        publish(VariantFinished(stored_variant(planned_variant(sweep, job), new), self._storage.path))


def _request(what_if: WhatIf) -> WhatIfRequest:
    variant = what_if.variant
    return WhatIfRequest(
        what_if.file,
        variant.kernel.name,
        variant.target,
        variant.specialization,
        variant.config,
        what_if.values,
        passes=what_if.passes,
        reasons=variant.reasons is not None,
    )


def _kernel(plan: Plan, what_if: WhatIf, first: int) -> Kernel:
    """Return the kernel of the plan: one that is on screen if it is the same, else one with a new id."""
    for kernel in dict.fromkeys(variant.kernel for variant in (what_if.variant, *what_if.known)):
        if (kernel.source, kernel.helpers, kernel.parameters) == (plan.source, plan.helpers, plan.parameters):
            return kernel
    return Kernel(-first, plan.source.name, plan.source, plan.helpers, plan.parameters)


def _command() -> str:
    return shlex.join(sys.argv)
