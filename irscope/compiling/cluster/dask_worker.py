"""The functions that run in a Dask worker: they compile in irscope's own worker processes.

A compiler that crashes or hangs ends such a process, never the Dask worker. If the Dask worker is killed, its
processes end with it (see supervisor.py).

Checks a worker of a cluster before it gets its first job: the versions there, and the kernel's file.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.compiling.cluster.shipment import Shipment, unpack
from irscope.compiling.job import Job, Outcome
from irscope.compiling.messages import SourcesRequest
from irscope.compiling.pool import Stop, Worker, run_jobs, spawn
from irscope.model import UserError
from irscope.model.errors import error_line
from irscope.model.records import frozen

if TYPE_CHECKING:
    from distributed import Client


_CHILD = "irscope.compiling.cluster.worker_process"
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
        """Return a process without a job: if possible, the one that compiled this group before."""
        if not self.idle:
            return self.new_worker()
        groups = [of for of, _ in self.idle]
        return self.idle.pop(groups.index(group) if group in groups else 0)[1]

    def end(self) -> None:
        """End its processes without a job and remove its files."""
        while self.idle:
            self.idle.pop()[1].stop()
        shutil.rmtree(self.folder, ignore_errors=True)


_sessions: dict[str, _Session] = {}
_lock = threading.Lock()


def prepare_worker(shipment: Shipment, seconds: float) -> Mapping[str, str]:
    """Start a process for a sweep, which imports the kernel's file; the versions that it compiles with.

    Raises UserError if the file cannot be imported here within `seconds`.
    """
    session = _session(shipment)
    with _lock:
        worker = session.take(None)
    try:
        sources = worker.ask(SourcesRequest(shipment.file, shipment.targets, contents=False), seconds)
    except BaseException:
        worker.stop()
        raise
    with _lock:
        session.idle.append((None, worker))
    return sources.versions


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
        ((_, outcome),) = run_jobs([job], workers, seconds, stop=stop)
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
    """End what a sweep has here, its running compilations included."""
    with _lock:
        session = _sessions.pop(name, None)
        if session is not None:
            for stop in session.busy:
                with suppress(OSError):
                    stop.set()
            session.end()


def _end_unused() -> None:
    """End sessions whose sweep did not end them: the process or the machine that it ran on died."""
    while _sessions:
        time.sleep(_IDLE_SECONDS / 8)
        now = time.monotonic()
        with _lock:
            unused = [s for s in _sessions.items() if not s[1].busy and now - s[1].used > _IDLE_SECONDS]
            for _, session in unused:
                session.end()  # a late job starts another process


# Evaluated by Python's own eval, for the case that irscope is missing there, or another one.
_EXPRESSION = "(__import__('platform').python_version(), __import__('irscope').__version__)"
# Versions that may differ: Triton compiles without torch, and builds of it for CPUs and GPUs differ in name.
_MAY_DIFFER = frozenset({"torch"})
_AT_ONCE = 16
# A check whose connection fails is tried so often.
_TRIES = 3


@frozen
class Accepted:
    """The worker at this address compiles as this machine does."""

    address: str


@frozen
class UnusableWorker:
    """The worker at this address cannot be used; `problem` is a line that names it and says why."""

    address: str
    problem: str


class WorkerChecks:
    """The checks of a sweep's workers, each in a thread; `report` takes each result, in any thread.

    `expected` are the versions of this machine. `versions` are those found, by address. `running` has the
    addresses whose results were not taken yet.
    """

    def __init__(
        self,
        client: Client,
        shipment: Shipment,
        expected: Mapping[str, str],
        seconds: float,
        report: Callable[[Accepted | UnusableWorker], None],
    ) -> None:
        self._client, self._shipment, self._expected = client, shipment, expected
        self._seconds, self._report = seconds, report
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="irscope-check")
        self.running: set[str] = set()
        self.versions: dict[str, Mapping[str, str]] = {}

    def start(self, addresses: Iterable[str]) -> None:
        """Start the checks of workers, unless they are running."""
        for address in addresses:
            if address not in self.running:
                self.running.add(address)
                self._threads.submit(self._check, address)

    def ended(self, address: str) -> None:
        """Take the result of a worker."""
        self.running.discard(address)

    def stop(self) -> None:
        """Start no more checks."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _check(self, address: str) -> None:
        try:
            versions = self._found_again(address)
            self.versions[address] = versions
            problem = _difference(versions, self._expected)
        except ModuleNotFoundError as error:
            problem = f"lacks the module '{error.name}'; install what this machine has; it gets no jobs"
        except UserError as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 - whatever the worker or the connection raises
            problem = f"cannot be checked: {error_line(error)}"
        self._report(
            UnusableWorker(address, f"the worker {address} {problem}") if problem else Accepted(address)
        )

    def _found_again(self, address: str) -> Mapping[str, str]:
        """Return the versions of a worker.

        A connection that fails is tried again: the worker may be busy.
        """
        for _ in range(_TRIES - 1):
            with suppress(OSError):
                return self._found(address)
            time.sleep(1.0)
        return self._found(address)

    def _found(self, address: str) -> Mapping[str, str]:
        """Return the versions of a worker: only Python's and irscope's if these differ."""
        python, irscope = self._client.run(eval, _EXPRESSION, workers=[address])[address]
        versions = {"python": python, "irscope": irscope}
        if _difference(versions, self._expected):
            return versions
        prepared = self._client.run(prepare_in_thread, self._shipment, self._seconds, workers=[address])
        return dict(prepared[address])


def _difference(found: Mapping[str, str], expected: Mapping[str, str]) -> str:
    """Describe what differs, as the rest of a sentence about the worker; "" if nothing does."""
    different = [
        f"{name} {found[name]} instead of {version}"
        for name, version in expected.items()
        if name in found and name not in _MAY_DIFFER and found[name] != version
    ]
    return f"has {', '.join(different)}; it gets no jobs" if different else ""
