"""Listens in every Python process of a program that `irscope warm --check` runs; see checking.py.

The processes find the folder for their reports in an environment variable, which startup/sitecustomize.py
reads. A process writes each cold start when it happens, so that one that is killed has reported it, and at
its end the kernels that it loaded from the cache. One that compiles nothing imports little of irscope.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading

from irscope.compiling.toolchain.process_hooks import Event, TritonCompilation, cache_folder, observe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from irscope.jobs.warm.collector import Collector
    from irscope.jobs.warm.expecting import ColdStart

# The folder that the reports are written into.
VARIABLE = "IRSCOPE_WARM_CHECK"


def start() -> None:
    """Report this process from now on, and those that it forks."""
    if (folder := os.environ.get(VARIABLE)) is None:
        return
    reporter = Reporter(folder)
    observe(reporter.observe)
    atexit.register(reporter.finish)
    os.register_at_fork(after_in_child=reporter.forked)


class Reporter:
    """Writes the report of this process: FOLDER/PID.jsonl."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._hits: dict[str, str] = {}
        self._collector: Collector | None = None
        self._graphs: dict[str, int] = {}
        self._write({"started": sys.argv})

    def forked(self) -> None:
        """Begin a report of the forked process, which multiprocessing ends without `atexit`."""
        self._lock = threading.Lock()
        self._begin()
        if "multiprocessing.util" in sys.modules:
            from multiprocessing.util import Finalize

            Finalize(None, self.finish, exitpriority=-10)

    def observe(self, event: Event) -> None:
        """Collect what is cold, and the hashes of what is not."""
        if isinstance(event, TritonCompilation) and event.hit:
            self._hits[event.hash] = str(getattr(event.source, "name", ""))
        else:
            self._cold_starts().observe(event)

    def _cold_starts(self) -> Collector:
        with self._lock:
            if self._collector is None:
                from irscope.jobs.warm.collector import Collector

                self._collector = Collector(cache_folder(), self._report, self._graphs)
            return self._collector

    def _report(self, cold: ColdStart) -> None:
        from dataclasses import asdict

        self._write({"cold": [asdict(cold)]})

    def finish(self) -> None:
        """Write the hits, and all cold starts as they are known at the end of the process."""
        from dataclasses import asdict

        if self._collector is not None or "torch._dynamo.utils" in sys.modules:
            self._cold_starts().finish()
        cold = [] if self._collector is None else [asdict(cold_start) for cold_start in self._collector.cold]
        self._write({"hits": self._hits, "cold": cold})

    def _write(self, line: object) -> None:
        path = os.path.join(self._folder, f"{os.getpid()}.jsonl")  # noqa: PTH118 - pathlib may be shadowed
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(json.dumps(line, default=str) + "\n")
