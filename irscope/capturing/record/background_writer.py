"""The messages of a running program, made into a capture by a thread of its own."""

from __future__ import annotations

import contextlib
import queue
import shlex
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from irscope.capturing.messages import (
    BenchmarkSeen,
    Compiling,
    Finished,
    KernelSeen,
    LaunchSeen,
    Message,
    Note,
    VariantDone,
    Versions,
    Wanted,
)
from irscope.model import Benchmark, Launch
from irscope.model.text import pluralize
from irscope.store.writer import CaptureWriter

Open = Callable[[], CaptureWriter]


@dataclass(slots=True)
class Written:
    """What is in the capture so far; `total` is None until the program says what it will compile."""

    kernels: int = 0
    variants: int = 0
    failed: int = 0
    kept: int = 0
    total: int | None = None
    notes: list[str] = field(default_factory=list)


def summary(path: Path, written: Written) -> str:
    """What was captured, as one line says it when the program has ended."""
    name = shlex.quote(str(path))
    if not written.kernels:
        return f"{name}: no Triton kernel was captured"
    kept = f", {written.kept} there already" if written.kept else ""
    made = f"{pluralize(written.variants, 'variant')} of {pluralize(written.kernels, 'kernel')}"
    return f"{name}: {made}{kept}, {written.failed} failed; browse: irscope {name}"


@dataclass(slots=True)
class _Measured:
    """What a run saw of one variant, and the variant's id once it is written."""

    id: int | None = None
    launches: list[Launch] = field(default_factory=list)
    benchmarks: list[Benchmark] = field(default_factory=list)


class Writing:
    """A capture that a running program's messages go to.

    `told` hears of each change and of each note. Raises what `open_` raises where it cannot be written.
    """

    def __init__(self, open_: Open, command: str, told: Callable[[Written], None]) -> None:
        self._command, self._told = command, told
        self._queue: queue.SimpleQueue[tuple[Message, Callable[[Any], None]] | None] = queue.SimpleQueue()
        self._opened: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
        self._fault: Exception | None = None
        self.written = Written()
        self._toolchain, self._triton, self._first = 0, "", 1
        self._kernels: dict[int, int] = {}
        self._measured: dict[int, _Measured] = {}
        self._thread = threading.Thread(target=self._serve, args=(open_,), name="irscope", daemon=True)
        self._thread.start()
        if (fault := self._opened.get()) is not None:
            raise fault

    def put(self, message: Message) -> None:
        """Hands on a message; returns at once."""
        self._queue.put((message, lambda _: None))

    def ask(self, message: Message) -> Any:
        """Hands on a message and waits for its answer."""
        answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._queue.put((message, answer.put))
        return answer.get()

    def close(self) -> Written:
        """Writes what is left and closes the capture. Raises what went wrong on the way."""
        self._queue.put(None)
        self._thread.join()
        if self._fault is not None:
            raise self._fault
        return self.written

    def _serve(self, open_: Open) -> None:
        try:
            writer = open_()
        except Exception as fault:  # noqa: BLE001 - raised again where the caller waits
            self._opened.put(fault)
            return
        self._first = writer.next_id()
        self._opened.put(None)
        with writer:
            while (item := self._queue.get()) is not None:
                message, answer = item
                given = None
                try:
                    if self._fault is None:
                        given = self._take(message, writer)
                except Exception as fault:  # noqa: BLE001 - raised again in close(); the program goes on
                    self._fault = fault
                answer(given)

    def _take(self, message: Message, writer: CaptureWriter) -> Any:
        if isinstance(message, VariantDone):
            self._add(message, writer)
        elif isinstance(message, LaunchSeen | BenchmarkSeen):
            self._measure(message, writer)
        elif isinstance(message, KernelSeen):
            id_ = writer.add_kernel(message.source, message.helpers, message.parameters)
            self._kernels[message.number] = id_
            self.written.kernels = len(set(self._kernels.values()))
        elif isinstance(message, Versions):
            self._triton = message.versions["triton"]
            self._toolchain = writer.add_toolchain(message.versions, self._command)
        elif isinstance(message, Wanted):
            return self._wanted(message, writer)
        elif isinstance(message, Compiling):
            self.written.total = message.total
        elif isinstance(message, Note):
            self.written.notes.append(message.text)
        self._told(self.written)
        return isinstance(message, Finished)

    def _wanted(self, message: Wanted, writer: CaptureWriter) -> list[bool]:
        finished = writer.finished()
        answer = [
            writer.identity(self._kernels[kernel], self._triton, variant) not in finished
            for kernel, variant in message.variants
        ]
        self.written.kept = answer.count(False)
        return answer

    def _add(self, message: VariantDone, writer: CaptureWriter) -> None:
        seen = self._measured.setdefault(message.number, _Measured())
        variant = replace(
            message.variant,
            artifacts=message.variant.artifacts or _read(message),
            launches=tuple(seen.launches),
            benchmarks=tuple(seen.benchmarks),
        )
        # Numbered in the order in which the program asked, whatever order they finish in.
        id_ = self._first + message.number
        kernel = self._kernels[message.kernel]
        seen.id = writer.add_variant(kernel, self._toolchain, self._triton, variant, id_)
        self.written.variants += 1
        self.written.failed += variant.failure is not None

    def _measure(self, message: LaunchSeen | BenchmarkSeen, writer: CaptureWriter) -> None:
        seen = self._measured.setdefault(message.number, _Measured())
        if isinstance(message, LaunchSeen):
            seen.launches.append(message.launch)
        else:
            seen.benchmarks.append(message.benchmark)
        if seen.id is not None:
            writer.set_measured(seen.id, tuple(seen.launches), tuple(seen.benchmarks))


def _read(message: VariantDone) -> dict[str, bytes]:
    """The artifacts that lie in Triton's cache; what is gone from there is left out."""
    contents = {}
    for stage, path in message.files.items():
        with contextlib.suppress(OSError):
            contents[stage] = Path(path).read_bytes()
    return contents
