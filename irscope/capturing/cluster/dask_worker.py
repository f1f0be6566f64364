"""The functions that run in a Dask worker: they compile in irscope's own worker processes.

A compiler that crashes or hangs ends such a process, never the Dask worker. If the Dask worker is killed, its
processes end with it (see supervisor.py).
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from irscope.capturing.cluster.shipment import Shipment, unpack
from irscope.capturing.compile.pool import Stop, Worker, run_jobs, spawn
from irscope.capturing.messages import SourcesRequest
from irscope.toolchain.job import Job, Outcome

_CHILD = "irscope.capturing.cluster.child"
# If the process that started a sweep is gone, its processes here end after so many seconds without a job.
_IDLE_SECONDS = 120.0


class UnknownSession(Exception):  # noqa: N818 - the worker was restarted, or the sweep ended
    """Nothing of the sweep is in this process."""


@dataclass
class _Session:
    """The processes of one sweep here. `idle` has the last job's group with each that has no job."""

    shipment: Shipment
    folder: Path
    idle: list[tuple[int | None, Worker]] = field(default_factory=list)
    busy: set[Stop] = field(default_factory=set)
    used: float = field(default_factory=time.monotonic)

    def new_worker(self) -> Worker:
        if not self.folder.exists():
            unpack(self.shipment, self.folder)
        return Worker(partial(spawn, module=_CHILD, arguments=[str(self.folder)]))

    def take(self, group: int | None) -> Worker:
        """A process without a job; the one that compiled this group before, if there is one."""
        if not self.idle:
            return self.new_worker()
        groups = [of for of, _ in self.idle]
        return self.idle.pop(groups.index(group) if group in groups else 0)[1]

    def end(self) -> None:
        """Ends its processes without a job and removes its files."""
        while self.idle:
            self.idle.pop()[1].stop()
        shutil.rmtree(self.folder, ignore_errors=True)


_sessions: dict[str, _Session] = {}
_lock = threading.Lock()


def prepare_worker(shipment: Shipment, seconds: float) -> Mapping[str, str]:
    """Starts a process for a sweep, which imports the kernel's file; the versions that it compiles with.

    Raises UserError if the file cannot be imported here within `seconds`.
    """
    session = _session(shipment)
    with _lock:
        worker = session.take(None)
    try:
        found = worker.sources(SourcesRequest(shipment.file, shipment.targets, contents=False), seconds)
    except BaseException:
        worker.stop()
        raise
    with _lock:
        session.idle.append((None, worker))
    return found.versions


async def prepare_in_thread(shipment: Shipment, seconds: float) -> Mapping[str, str]:
    """`prepare_worker` in a thread: the worker's own loop has to answer the scheduler meanwhile."""
    return await asyncio.to_thread(prepare_worker, shipment, seconds)


def _session(shipment: Shipment) -> _Session:
    with _lock:
        if shipment.session not in _sessions:
            folder = Path(tempfile.gettempdir()) / f"irscope-cluster-{shipment.session}-{os.getpid()}"
            _sessions[shipment.session] = _Session(shipment, folder)
            if len(_sessions) == 1:
                threading.Thread(target=_end_unused, name="irscope-idle", daemon=True).start()
        return _sessions[shipment.session]


def compile_here(name: str, job: Job, seconds: float) -> Outcome:
    """Compiles a job of the sweep with this session name, within `seconds`; a task of Dask.

    Its contents are compressed here: the client has to store what many workers compile. Raises
    UnknownSession if this process was not prepared for it, Stopped if the sweep ends meanwhile.
    """
    stop = Stop()
    with _lock:
        session = _sessions.get(name)
        if session is None:
            raise UnknownSession(name)
        session.busy.add(stop)
        workers = [session.take(job.group)]
    try:
        ((_, outcome),) = run_jobs([job], workers, seconds, lambda _: None, stop=stop)
    except BaseException:
        workers[0].stop()
        raise
    else:
        with _lock:
            session.idle.append((job.group, workers[0]))
            if name not in _sessions:  # it ended while this was compiled
                session.end()
        return outcome.packed()
    finally:
        with _lock:
            session.busy.discard(stop)
            session.used = time.monotonic()


def end_session(name: str) -> None:
    """Ends what a sweep has here, its running compilations included."""
    with _lock:
        session = _sessions.pop(name, None)
        if session is not None:
            for stop in session.busy:
                with suppress(OSError):
                    stop.set()
            session.end()


def _end_unused() -> None:
    """Ends sessions whose sweep did not end them: the process or the machine that it ran on died."""
    while _sessions:
        time.sleep(_IDLE_SECONDS / 8)
        now = time.monotonic()
        with _lock:
            unused = [s for s in _sessions.items() if not s[1].busy and now - s[1].used > _IDLE_SECONDS]
            for _, session in unused:
                session.end()  # a late job starts another process
