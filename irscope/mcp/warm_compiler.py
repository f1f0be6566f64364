"""Compiles for the server in worker processes: one is warm, with Triton loaded, and waits for a source.

A kernel's file is executed by importing it, so each source gets a worker of its own: what one leaves behind
(modules, patches, memory) cannot reach the next, and a source that is compiled again under other configs
finds its worker and imports nothing. A worker that runs out of time or memory is killed; the next request
gets another one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING

from irscope.compiling.messages import Plan, SweepRequest
from irscope.compiling.pool import Start, Stop, Stopped, Worker, spawn
from irscope.compiling.sweep import compile_sweep, compiled_before, lay_out
from irscope.model import UserError
from irscope.model.process import available_cores
from irscope.workspace import CaptureWriter, Workspace

if TYPE_CHECKING:
    from irscope.compiling.job import Job

MODULE = "irscope.mcp.limited_worker"
NO_TRITON = (
    "Triton is not installed where irscope runs, so nothing can be compiled: pip install 'irscope[compile]'; "
    "captures that exist can be opened"
)
COMMAND = "irscope mcp"
# The fewest variants for which further workers are worth the time in which they load Triton.
_PARALLEL = 4
# The time limit of a sweep, as a multiple of the limit of one variant.
_WHOLE = 5
_MOST_FILES = 500
MOST_VARIANTS = 64


@dataclass(frozen=True)
class Limits:
    """The limits of a compilation: `seconds` to import the file and per variant, `memory` in bytes."""

    seconds: float = 60.0
    memory: int = 8 << 30


@dataclass
class CompileOutcome:
    """The result of a request.

    `ids` are its variants in the order of the plan, `new` those of them that were not in the capture before;
    `missing` is how many were not compiled because time ran out. `import_seconds` is the time that
    importing the file and planning took, `seconds` all of it.
    """

    plan: Plan
    ids: tuple[int, ...]
    new: frozenset[int] = frozenset()
    missing: int = 0
    import_seconds: float = 0.0
    seconds: float = 0.0
    notes: tuple[str, ...] = field(default=())


class Compiler:
    """The workers of a server. One request at a time; `stop` in `compile` ends it from another thread."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._start: Start = partial(spawn, module=MODULE, arguments=(str(limits.memory),))
        self._spare: Worker | None = None
        self._workers: list[Worker] = []
        self._key: tuple[str, str] | None = None
        self._lock = Lock()

    def warm_up(self) -> None:
        """Start the worker that will get the next source, unless it waits already.

        Call it when nothing else is to be done: loading Triton takes a core for a second.
        """
        if find_spec("triton") is None:
            return
        with self._lock:
            if self._spare is None or not self._spare.alive:
                if self._spare is not None:
                    self._spare.stop()
                self._spare = Worker(self._start)

    def close(self) -> None:
        """End all workers."""
        with self._lock:
            self._end()
            if self._spare is not None:
                self._spare.stop()
                self._spare = None

    def compile(self, request: SweepRequest, path: Path, stop: Stop) -> CompileOutcome:
        """Compiles what the capture at `path` lacks of a request, into it, and creates it if needed.

        Raises UserError if the request does not fit the file, the file cannot be imported, or it takes too
        much time or memory; Stopped, after which the capture has what was compiled until then.
        """
        if find_spec("triton") is None:
            raise UserError(NO_TRITON)
        with self._lock:
            try:
                return self._compile(request, path, stop)
            except Stopped:
                self._end()  # a worker that is busy
                raise

    def _compile(self, request: SweepRequest, path: Path, stop: Stop) -> CompileOutcome:
        start = time.monotonic()
        worker = self._worker_for(request.file)
        plan = worker.ask(request, self.limits.seconds, stop)
        planned = time.monotonic()
        if len(plan.jobs) > MOST_VARIANTS:
            raise UserError(
                f"{len(plan.jobs)} configs at once, at most {MOST_VARIANTS}: give fewer values, or use "
                "irscope compile and open the capture"
            )
        done = self._compile_plan(plan, path, stop)
        return replace(
            done, import_seconds=planned - start, seconds=time.monotonic() - start, notes=plan.notes
        )

    def _compile_plan(self, plan: Plan, path: Path, stop: Stop) -> CompileOutcome:
        known_ids = _known(plan, path)
        with CaptureWriter.resume(path) if path.exists() else CaptureWriter.create(path) as writer:
            sweep = lay_out(plan, writer, COMMAND)
            self._add_workers(len(sweep.ids))
            done: dict[Job, int] = {}
            timer = Timer(_WHOLE * self.limits.seconds, stop.set)
            timer.daemon = True
            timer.start()
            begun = time.monotonic()
            try:
                run = compile_sweep(sweep, self._workers, writer, self.limits.seconds, stop)
                for job, _ in run:
                    done[job] = sweep.ids[job]
            except Stopped:
                if time.monotonic() - begun < _WHOLE * self.limits.seconds:
                    raise
                self._end()
            finally:
                timer.cancel()
        ids = {**known_ids, **done}
        return CompileOutcome(
            plan,
            tuple(ids[job] for job in plan.jobs if job in ids),
            frozenset(done.values()),
            sum(job not in ids for job in plan.jobs),
        )

    def _worker_for(self, file: Path) -> Worker:
        """Return the worker that has imported this very source, or the warm one."""
        key = (str(file), source_stamp(file))
        if self._key == key and self._workers and self._workers[0].alive:
            return self._workers[0]
        self._end()
        spare, self._spare = self._spare, None
        fresh = spare is not None and spare.alive
        self._workers = [spare if spare is not None and fresh else Worker(self._start)]
        self._key = key
        return self._workers[0]

    def _add_workers(self, jobs: int) -> None:
        cores = available_cores()
        while jobs >= _PARALLEL and len(self._workers) < min(cores, jobs):
            self._workers.append(Worker(self._start))

    def _end(self) -> None:
        for worker in self._workers:
            worker.stop()
        self._workers, self._key = [], None


def source_stamp(file: Path) -> str:
    """Return a digest of the state of a source: its text, and the Python files next to it.

    The source may import these files. In a large folder, return a number that no other state has:
    then nothing is known to be unchanged.
    """
    state = sha256(file.read_bytes())
    neighbors = sorted(_neighbors(file))
    if len(neighbors) > _MOST_FILES:
        return str(time.monotonic_ns())
    for path, changed, size in neighbors:
        state.update(f"{path}\0{changed}\0{size}\0".encode("utf-8", "replace"))
    return state.hexdigest()


def _neighbors(file: Path) -> Iterator[tuple[str, int, int]]:
    """Yield the Python files of the package that a file is in, or of its folder.

    Each has its path, time of change and size.
    """
    packages = [folder for folder in file.parents if (folder / "__init__.py").is_file()]
    paths = packages[-1].rglob("*.py") if packages else file.parent.glob("*.py")
    for number, path in enumerate(paths):
        if number > _MOST_FILES:
            return
        try:
            status = path.stat()
        except OSError:
            continue
        yield str(path), status.st_mtime_ns, status.st_size


def _known(plan: Plan, path: Path) -> Mapping[Job, int]:
    """Return the variants of a plan that the capture has, by job.

    Variants that failed are compiled again.
    """
    if not path.exists():
        return {}
    with Workspace(path) as workspace:
        compiled = compiled_before(plan, workspace.variants)
    return {job: variant.id for job, variant in compiled.items() if variant.failure is None}
