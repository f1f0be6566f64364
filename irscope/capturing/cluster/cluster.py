"""Opens a cluster for a sweep: the connection, the checks of its workers, and the executor on them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.capturing.cluster.shipment import Shipment, compiler_environment
from irscope.capturing.compile.pool import Worker
from irscope.capturing.messages import SourcesRequest, SweepRequest

if TYPE_CHECKING:
    from distributed import Client

    from irscope.capturing.cluster.dask_executor import DaskExecutor


def print_note(text: str) -> None:
    """Prints a line for the user."""
    print(f"irscope: {text}", file=sys.stderr)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where a sweep is compiled: the address of a Dask scheduler, or its client. `note` takes lines."""

    at: str | Client
    note: Callable[[str], None] = print_note

    @contextmanager
    def executor(self, request: SweepRequest, planner: Worker, seconds: float) -> Iterator[DaskExecutor]:
        """The executor of a request's jobs; `planner` is a worker here that has imported the file.

        Raises UserError if the scheduler cannot be reached.
        """
        from irscope.capturing.cluster.connection import Connected, connect
        from irscope.capturing.cluster.dask_executor import DaskExecutor
        from irscope.capturing.cluster.worker_checks import WorkerChecks

        client, own = connect(self.at)
        try:
            found = planner.sources(SourcesRequest(request.file, request.targets), seconds)
            shipment = Shipment(
                Path(request.file), request.targets, found.files, found.folders, compiler_environment()
            )
            connected = Connected(client, shipment.session)
            checks = WorkerChecks(client, shipment, found.versions, seconds, connected.put)
            try:
                yield DaskExecutor(connected, checks, self.note)
            finally:
                checks.stop()
                connected.close()
        finally:
            if own:
                client.close(timeout=1)
