"""The connection to a Dask scheduler: submits jobs to chosen workers and hands over what comes back."""

from __future__ import annotations

import logging
import threading
from asyncio import CancelledError
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import Pipe
from queue import SimpleQueue
from typing import TYPE_CHECKING

from irscope.compiling.cluster.dask_worker import (
    Accepted,
    UnknownSession,
    UnusableWorker,
    compile_here,
    end_session,
)
from irscope.compiling.job import Job, Outcome
from irscope.compiling.pool import Stop
from irscope.model import UserError
from irscope.model.errors import error_line
from irscope.model.records import frozen

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECT_SECONDS = 20
# Threads that fetch results from the workers.
_FETCHING = 4
# At the end, workers that do not answer are not waited for longer than this.
_END_SECONDS = 5.0


@frozen
class FinishedJob:
    """A job, by the number that `submit` returned, and its outcome."""

    address: str
    number: int
    outcome: Outcome


@frozen
class Lost:
    """A job that was not compiled: its worker ended, or Dask reported an error."""

    address: str
    number: int
    reason: str
    restarted: bool = False  # the worker at this address is another process now


Message = FinishedJob | Lost | Accepted | UnusableWorker


def connect(cluster: str | Client) -> tuple[Client, bool]:
    """Return the client of a scheduler, and whether it has to be closed.

    `cluster` is the client itself or the scheduler's address. Raises UserError if Dask is missing
    or the scheduler does not answer.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise UserError("a cluster needs Dask: pip install 'irscope[cluster]'") from error
    if not isinstance(cluster, str):
        if not isinstance(cluster, Client) or cluster.asynchronous:
            raise UserError(
                "cluster must be an address or a dask.distributed.Client that is not asynchronous"
            )
        return cluster, False
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # the command reports what matters
    try:
        return Client(cluster, timeout=_CONNECT_SECONDS, set_as_default=False, name="irscope"), True
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        problem = error_line(error)
        raise UserError(
            f"{cluster}: no Dask scheduler answers ({problem}); start one: dask scheduler"
        ) from error


class Connected:
    """The jobs of one sweep on a cluster; `session` is its name there."""

    def __init__(self, client: Client, session: str) -> None:
        self._client, self._session = client, session
        self._futures: dict[int, Future[Outcome]] = {}
        self._numbers = 0
        self._messages: SimpleQueue[Message] = SimpleQueue()
        self._reader, self._writer = Pipe(duplex=False)
        self._lock = threading.Lock()
        self._fetchers = ThreadPoolExecutor(_FETCHING, thread_name_prefix="irscope-fetch")

    @property
    def address(self) -> str:
        """Return the address of the scheduler."""
        return str(self._client.scheduler.address) if self._client.scheduler else "the cluster"

    def workers(self) -> Mapping[str, tuple[str, int]]:
        """Map the address of each worker that is connected now to its name and threads. Raises UserError."""
        try:
            worker_infos = self._client.scheduler_info(n_workers=-1)["workers"]
        except Exception as error:  # Dask raises many kinds for a scheduler that is gone
            raise UserError(
                f"the connection to {self.address} was lost ({error_line(error)}); --resume compiles the rest"
            ) from error
        return {
            address: (_name(worker["name"], address), worker["nthreads"])
            for address, worker in worker_infos.items()
        }

    def submit(self, address: str, job: Job, seconds: float) -> int:
        """Give a job to a worker; returns its number."""
        self._numbers += 1
        number = self._numbers
        future = self._client.submit(
            compile_here, self._session, job, seconds,
            key=f"irscope-{self._session}-{number}", workers=[address], allow_other_workers=False, pure=False,
        )  # fmt: skip
        self._futures[number] = future
        future.add_done_callback(lambda done: self._fetch_later(address, number, done))
        return number

    def put(self, message: Message) -> None:
        """Hands a message to `wait`, from any thread."""
        self._messages.put(message)
        with self._lock, suppress(OSError):
            self._writer.send_bytes(b"m")

    def wait(self, stop: Stop, seconds: float) -> Iterator[Message]:
        """Yield the messages that have arrived, after at most `seconds`. Raises Stopped."""
        for pipe in stop.wait([self._reader], seconds):
            while pipe.poll():
                pipe.recv_bytes()
                yield self._messages.get()

    def forget(self, numbers: Iterable[int]) -> None:
        """Cancel these jobs."""
        futures = [future for number in numbers if (future := self._futures.pop(number, None)) is not None]
        if futures:
            self._client.cancel(futures, force=True)

    def cancel(self) -> None:
        """Cancel all jobs, and end irscope's processes on the workers, with what they compile now."""

        def end() -> None:
            with suppress(Exception):
                self.forget(list(self._futures))
                self._client.run(end_session, self._session, on_error="ignore")

        ending = threading.Thread(target=end, name="irscope-end", daemon=True)
        ending.start()
        ending.join(_END_SECONDS)

    def close(self) -> None:
        """End the threads, and the jobs that are left."""
        self._fetchers.shutdown(wait=False, cancel_futures=True)
        self.cancel()
        with self._lock:
            self._writer.close()

    def _fetch_later(self, address: str, number: int, future: Future[Outcome]) -> None:
        with suppress(RuntimeError):  # this was closed
            self._fetchers.submit(self._fetch, address, number, future)

    def _fetch(self, address: str, number: int, future: Future[Outcome]) -> None:
        """Get the outcome of a job whose future is done; waits if the worker is lost with it."""
        try:
            self.put(FinishedJob(address, number, future.result()))
        except (Exception, CancelledError) as error:  # noqa: BLE001 - a task may raise anything
            self.put(Lost(address, number, error_line(error), isinstance(error, UnknownSession)))
        finally:
            # The finalizer of a future wakes Dask's thread: in the main thread, it would often lose a Ctrl-C.
            self._futures.pop(number, None)


def _name(name: object, address: str) -> str:
    """Return the name that the user gave a worker, or its address without the protocol."""
    worker_name = str(name)
    return address.partition("://")[2] if worker_name == address else worker_name
