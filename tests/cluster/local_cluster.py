"""A Dask cluster on this machine, whose workers can be killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
# As docs/clusters.md advises for machines with few cores: on two, Dask's own checks take 4% of the CPU time.
DASK = {
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__WORKER__MEMORY__MONITOR_INTERVAL": "1s",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}


@dataclass
class LocalCluster:
    """A Dask scheduler and its workers, each a process group of its own."""

    folder: Path
    address: str = ""
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    started: int = 0

    def start_worker(self, cache: Path) -> None:
        """Adds a worker of one thread with this Triton cache."""
        self.started += 1
        words = ["worker", self.address, "--nthreads", "1", "--name", f"w{self.started}", "--no-dashboard"]
        words += ["--local-directory", str(self.folder / "dask")]
        self.workers.append(self._start(words, cache))

    def kill_worker(self, place: int) -> None:
        """Kills a worker, and the process that would restart it, without a warning."""
        worker = self.workers.pop(place)
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()

    def _start(self, words: list[str], cache: Path) -> subprocess.Popen[bytes]:
        environment = os.environ | DASK | {"TRITON_CACHE_DIR": str(cache)}
        environment["PYTHONPATH"] = f"{ROOT}{os.pathsep}{environment.get('PYTHONPATH', '')}"
        with (self.folder / "dask.log").open("ab") as log:
            command = [sys.executable, "-m", "dask", *words]
            return subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )

    def start(self) -> None:
        """Starts the scheduler on a free port of the loopback interface."""
        found = self.folder / "scheduler.json"
        found.unlink(missing_ok=True)  # of a scheduler that has ended
        words = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        self.scheduler = self._start([*words, "--scheduler-file", str(found)], self.folder)
        deadline = time.monotonic() + 60
        while not self.address and time.monotonic() < deadline:
            time.sleep(0.1)
            if found.exists() and (match := re.search(r'"address": "([^"]+)"', found.read_text())):
                self.address = match[1]

    def stop(self) -> None:
        """Kills all processes."""
        while self.workers:
            self.kill_worker(0)
        if self.scheduler is not None:
            os.killpg(self.scheduler.pid, signal.SIGKILL)
            self.scheduler.wait()


@contextmanager
def local_cluster(folder: Path, workers: int, cache: Path) -> Iterator[LocalCluster]:
    """A scheduler with so many workers, which share a cache folder."""
    folder.mkdir(parents=True, exist_ok=True)
    cluster = LocalCluster(folder)
    try:
        cluster.start()
        for _ in range(workers):
            cluster.start_worker(cache)
        yield cluster
    finally:
        cluster.stop()
