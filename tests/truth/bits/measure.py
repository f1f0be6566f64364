"""Measures on a GPU which configs compute the same bits: a JSON line per config.

    python -m tests.truth.bits.measure --output bits.jsonl [--seconds 540] [--skip FILE ...] [GLOB ...]
    python -m tests.truth.bits.measure --list

Every line is appended at once; configs that the output or a file given with --skip has are skipped, so that the next
call goes on. Processes compile the configs side by side while another one launches those that are ready, three times
each from the same inputs. A config that crashes its process or takes longer than a minute is recorded as an error,
and the process is started anew. The TTGIR of each launch is appended to bits.stages.jsonl.xz beside the output.
"""

from __future__ import annotations

import argparse
import json
import lzma
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TextIO

from tests.truth.bits.space import Config, Space
from tests.truth.bits.spaces import spaces

_FORK = multiprocessing.get_context("fork")
_MOST_SECONDS = {"compile": 120.0, "launch": 60.0}


@dataclass(frozen=True)
class Task:
    """A config of a space, by its position."""

    space: int
    config: int


class Worker:
    """Does one task at a time in a process of its own, which is started anew after a crash."""

    def __init__(self, kind: str, listed: Sequence[Space]) -> None:
        self.kind = kind
        self._listed = listed
        self.task: Task | None = None
        self._since = time.monotonic()
        self._start()

    def _start(self) -> None:
        self.connection, theirs = _FORK.Pipe()
        loop = _compile if self.kind == "compile" else _launch
        self.process = _FORK.Process(target=_work, args=(loop, theirs, self._listed), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, task: Task) -> None:
        """Start a task."""
        self.task, self._since = task, time.monotonic()
        try:
            self.connection.send(task)
        except OSError:  # it ended after its last task
            self._restarted("")
            self.connection.send(task)

    def result(self) -> tuple[Task, dict[str, Any]]:
        """Return the task and its result; if the process ended, start another one."""
        task = self.task
        if task is None:
            raise RuntimeError(f"A process that should {self.kind} ended before its first task")
        self.task = None
        try:
            answer: dict[str, Any] = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(timeout=30)
            return task, self._restarted(f"the process ended with {self.process.exitcode}")
        if answer.pop("broken", False):
            self._restarted("")
        return task, answer

    def overdue(self) -> bool:
        """Return True if its task takes too long."""
        return self.task is not None and time.monotonic() - self._since > _MOST_SECONDS[self.kind]

    def stop_task(self) -> tuple[Task, dict[str, Any]]:
        """Return its task as failed, and start another process."""
        task = self.task
        if task is None:
            raise RuntimeError("There is no task")
        self.task = None
        return task, self._restarted("no end within the limit of time")

    def _restarted(self, reason: str) -> dict[str, Any]:
        self.end()
        self._start()
        return {"error": f"{self.kind}: {reason}"}

    def end(self) -> None:
        """Stop the process."""
        self.connection.close()
        if self.process.is_alive():
            self.process.kill()
        self.process.join(timeout=30)


def _work(loop: Callable[[Connection, Sequence[Space]], None], connection: Connection, listed: Any) -> None:
    import torch

    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the process ends
    loop(connection, listed)


def _compile(connection: Connection, listed: Sequence[Space]) -> None:
    """Fill Triton's cache. The arguments are on the CPU: only their types and alignment count."""
    from tests.truth.bits.launching import use_scratch_memory

    use_scratch_memory("cpu")
    index, arguments = -1, ()
    while True:
        task: Task = connection.recv()
        space = listed[task.space]
        if task.space != index:
            index, arguments = task.space, space.tensors("cpu")
        config = space.configs[task.config]
        started = time.monotonic()
        try:
            kernel = space.kernel.warmup(
                *space.arguments(arguments, config), grid=space.grid(config), **config
            )
            if task.config == 0:
                _ = kernel.run  # compiles the launcher, which the configs share
        except Exception as error:  # noqa: BLE001 - whatever Triton raises
            connection.send({"error": _said(error)})
        else:
            connection.send({"seconds": round(time.monotonic() - started, 2)})


def _launch(connection: Connection, listed: Sequence[Space]) -> None:
    from tests.truth.bits.launching import Launcher, use_scratch_memory

    use_scratch_memory("cuda")
    launcher = None
    while True:
        task: Task = connection.recv()
        space = listed[task.space]
        try:
            if launcher is None or launcher.space is not space:
                launcher = None
                launcher = Launcher(space)
            connection.send(launcher.measured(space.configs[task.config]))
        except Exception as error:  # noqa: BLE001 - too much shared memory, an illegal address
            connection.send({"error": f"launch: {_said(error)}", "broken": _is_broken()})


def _is_broken() -> bool:
    """Return True if an earlier launch left the device unusable for this process."""
    import torch

    try:
        torch.cuda.synchronize()
        torch.zeros(1, device="cuda").cpu()
    except Exception:  # noqa: BLE001 - torch raises several kinds
        return True
    return False


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


class Measurement:
    """Compiles and launches what is missing, and writes a line for each config."""

    def __init__(self, listed: Sequence[Space], output: TextIO, stages: TextIO, skipped: set[str]) -> None:
        self._listed = listed
        self._output = output
        self._stages = stages
        self._waiting = deque(
            Task(space, config)
            for space, listed_space in enumerate(listed)
            for config in range(len(listed_space.configs))
            if key(listed_space.name, listed_space.configs[config]) not in skipped
        )
        self._ready: list[Task] = []
        self._written = self._failed = 0

    def run(self, jobs: int, deadline: float) -> bool:
        """Work until all is done or the time is over; return True if all is done."""
        launching = Worker("launch", self._listed)
        compiling = [Worker("compile", self._listed) for _ in range(min(jobs, max(1, len(self._waiting))))]
        workers = [launching, *compiling]
        printed = time.monotonic()
        while time.monotonic() < deadline:
            for worker in compiling:
                if worker.task is None and self._waiting:
                    worker.give(self._waiting.popleft())
            if launching.task is None and self._ready:
                self._ready.sort(key=lambda task: task.space)
                launching.give(self._ready.pop(0))
            busy = {worker.connection: worker for worker in workers if worker.task is not None}
            if not busy:
                break
            for connection in wait(list(busy), timeout=1):
                self._finish(busy[connection], *busy[connection].result())  # type: ignore[index]
            for worker in workers:
                if worker.overdue():
                    self._finish(worker, *worker.stop_task())
            if time.monotonic() - printed > 20:
                printed = time.monotonic()
                self.report()
        left = any(worker.task for worker in workers) or bool(self._waiting or self._ready)
        for worker in workers:
            worker.end()
        self.report()
        return not left

    def report(self) -> None:
        """Print how far it is."""
        print(
            f"{self._written} written, {self._failed} of them errors; {len(self._waiting)} to compile, "
            f"{len(self._ready)} to launch",
            flush=True,
        )

    def _finish(self, worker: Worker, task: Task, answer: dict[str, Any]) -> None:
        if worker.kind == "compile" and "error" not in answer:
            self._ready.append(task)
            return
        space = self._listed[task.space]
        config = space.configs[task.config]
        stage = answer.pop("stage", None)
        line = {"kernel": space.name, "function": space.kernel.__name__, "shape": space.shape}
        self._output.write(json.dumps(line | {"config": config} | answer) + "\n")
        self._output.flush()
        if stage is not None:
            self._stages.write(json.dumps({"kernel": space.name, "config": config, "ttgir": stage}) + "\n")
        self._written += 1
        if "error" in answer:
            self._failed += 1
            print(f"{space.name} {space.configs[task.config]}: {answer['error'][:160]}", flush=True)


def key(kernel: str, config: Config) -> str:
    """Return the name of a config."""
    return json.dumps([kernel, dict(config)], sort_keys=True)


def finished(files: Sequence[Path], errors: bool = True) -> Iterator[str]:
    """Yield the names of the configs that these files have, those that failed too if `errors`."""
    for file in files:
        for text in file.read_text().splitlines():
            try:
                line = json.loads(text)
            except ValueError:  # the time was over in the middle of a line
                continue
            if errors or "error" not in line:
                yield key(line["kernel"], line["config"])


def main() -> int:
    """Measure the spaces that are asked for; return 1 if the time was too short."""
    parser = argparse.ArgumentParser(
        "python -m tests.truth.bits.measure", description="Measures which configs compute the same bits."
    )
    parser.add_argument("names", nargs="*", default=["*"], metavar="GLOB", help="only these spaces")
    parser.add_argument("--output", type=Path, default=Path(os.environ.get("OUT", "."), "bits.jsonl"))
    parser.add_argument("--seconds", type=float, default=540, help="stop after SECONDS (540)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that compile")
    parser.add_argument(
        "--skip", type=Path, nargs="+", default=[], metavar="FILE", help="lines measured earlier"
    )
    parser.add_argument(
        "--errors", action="store_true", help="measure again what failed; the last line counts"
    )
    parser.add_argument("--configs", type=int, help="only the first CONFIGS configs of each space")
    parser.add_argument("--list", action="store_true", help="print the spaces, and measure nothing")
    options = parser.parse_args()
    deadline = time.monotonic() + options.seconds
    os.environ.setdefault("TRITON_CACHE_DIR", str(Path(tempfile.gettempdir()) / "bits-cache"))
    listed = spaces(options.names)
    if options.list:
        for space in listed:
            print(f"{space.name:24}{len(space.configs):5}  {space.kernel.__name__}")
        print(f"{len(listed)} spaces, {sum(len(space.configs) for space in listed)} launches")
        return 0
    earlier = [file for file in (options.output, *options.skip) if file.exists()]
    skipped = set(finished(earlier, errors=not options.errors))
    if options.configs:
        skipped |= {
            key(space.name, config) for space in listed for config in space.configs[options.configs :]
        }
    with (
        options.output.open("a") as output,
        lzma.open(options.output.with_suffix(".stages.jsonl.xz"), "at", preset=1) as stages,
    ):
        return 0 if Measurement(listed, output, stages, skipped).run(options.jobs, deadline) else 1


if __name__ == "__main__":
    sys.exit(main())
