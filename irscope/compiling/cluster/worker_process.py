"""The process of a cluster's worker that compiles: a worker process of irscope with the user's files."""

from __future__ import annotations

import os
from multiprocessing.connection import Connection
from pathlib import Path

from irscope.compiling.supervisor import supervise


def main(pipe: str, lifeline: str, folder: str) -> None:
    """Serve the pipe with this file descriptor, supervised; `folder` is where the shipment was unpacked."""
    from irscope.compiling.cluster.shipment import install
    from irscope.compiling.worker import serve_requests

    supervise(int(lifeline))
    os.set_inheritable(int(pipe), False)
    try:
        install(Path(folder))
        serve_requests(Connection(int(pipe)))
    finally:
        os._exit(0)  # without the exit handlers of user code, which may hang
