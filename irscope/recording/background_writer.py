"""Writes the records of a running program into a capture, in a background thread."""

from __future__ import annotations

import contextlib
import queue
import shlex
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from irscope.compiling.messages import (
    Answer,
    BenchmarkRecorded,
    CompilationsStarted,
    Finished,
    KernelRecorded,
    LaunchRecorded,
    MissingQuery,
    Note,
    Question,
    Record,
    ToolchainUsed,
    ValuesRecorded,
    VariantDone,
)
from irscope.compiling.standalone import VALUES
from irscope.model import Benchmark, Launch
from irscope.model.text import pluralize
from irscope.store.writer import CaptureWriter

OpenCapture = Callable[[], CaptureWriter]


@dataclass(slots=True)
class WrittenCounts:
    """The size of the capture so far; `total` is None until the program starts to compile.

    `finished` is true once a program has sent everything. If it ended before, `interrupted` says how, and
    `missing` how many variants it had launched that were not compiled.
    """

    kernels: int = 0
    variants: int = 0
    failed: int = 0
    kept: int = 0
    total: int | None = None
    finished: bool = False
    interrupted: str = ""
    missing: int = 0
    notes: list[str] = field(default_factory=list)


def summary(path: Path, written: WrittenCounts) -> str:
    """Return one line that summarizes the capture."""
    name = shlex.quote(str(path))
    missing = f"{pluralize(written.missing, 'launched variant')} not compiled"
    if written.interrupted and not written.variants and not written.kept:
        lost = f", {missing}" if written.missing else ""
        return f"interrupted: the program {written.interrupted}{lost}; {name} was not written"
    if not written.kernels:
        return f"no Triton kernel was captured; {name} was not written"
    kept_text = f", {written.kept} there already" if written.kept else ""
    variants = f"{pluralize(written.variants, 'variant')} of {pluralize(written.kernels, 'kernel')}"
    text = f"{name}: {variants}{kept_text}, {written.failed} failed"
    if written.interrupted:
        rest = f", {missing}: --resume compiles the rest" if written.missing else ""
        text = f"{text}; interrupted: the program {written.interrupted}{rest}"
    return f"{text}; browse: irscope {name}"


@dataclass(slots=True)
class _Measurements:
    """The launches and benchmarks of one variant, and the variant's id once it is written.

    `values` are those of its first launch.
    """

    id: int | None = None
    launches: list[Launch] = field(default_factory=list)
    benchmarks: list[Benchmark] = field(default_factory=list)
    values: dict[str, bytes] = field(default_factory=dict)


class BackgroundWriter:
    """Writes a running program's records into a capture.

    Calls `on_change` after each record. Raises what `open_` raises if the capture cannot be opened.
    """

    def __init__(self, open_: OpenCapture, command: str, on_change: Callable[[WrittenCounts], None]) -> None:
        self._command, self._on_change = command, on_change
        self._queue: queue.SimpleQueue[tuple[Record, Callable[[Answer], None]] | None] = queue.SimpleQueue()
        self._opened: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
        self._error: Exception | None = None
        self.written = WrittenCounts()
        self._toolchain, self._triton, self._first_id = 0, "", 1
        self._kernels: dict[int, int] = {}
        # The family that each kernel counts as, by the kernel's id in the capture.
        self._families: dict[int, str | int] = {}
        self._measurements: dict[int, _Measurements] = {}
        # How many variants the capture gets from what the program has begun to compile.
        self._requested = 0
        self._thread = threading.Thread(target=self._serve, args=(open_,), name="irscope", daemon=True)
        self._thread.start()
        if (error := self._opened.get()) is not None:
            raise error

    def put(self, record: Record) -> None:
        """Queues a record and returns at once."""
        self._queue.put((record, lambda _: None))

    def ask(self, question: Question) -> Answer:
        """Queues a question and waits for its answer."""
        answer: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._queue.put((question, answer.put))
        return answer.get()

    def close(self, interrupted: str = "") -> WrittenCounts:
        """Write the queue and close the capture. Raises the first error of the thread.

        `interrupted` says how the program ended if it could not send everything: the capture is then marked.
        """
        self.written.interrupted = interrupted
        self._queue.put(None)
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self.written

    def _serve(self, open_: OpenCapture) -> None:
        try:
            writer = open_()
        except Exception as error:  # noqa: BLE001 - raised again in __init__
            self._opened.put(error)
            return
        self._first_id = writer.next_id()
        self._opened.put(None)
        with writer:
            while (item := self._queue.get()) is not None:
                record, reply = item
                answer = Answer()
                try:
                    if self._error is None:
                        answer = self._handle(record, writer)
                except Exception as error:  # noqa: BLE001 - raised again in close(); the program goes on
                    self._error = error
                reply(answer)
            if self.written.interrupted:
                self.written.missing = self._missing_variants()
                writer.leave_incomplete(self.written.missing)

    def _handle(self, record: Record, writer: CaptureWriter) -> Answer:
        match record:
            case VariantDone():
                self._add(record, writer)
            case ValuesRecorded(number, content):
                self._keep_values(number, content, writer)
            case LaunchRecorded() | BenchmarkRecorded():
                self._measure(record, writer)
            case KernelRecorded(number, source, helpers, parameters, family):
                self._kernels[number] = writer.add_kernel(source, helpers, parameters)
                self._families[self._kernels[number]] = family or self._kernels[number]
                self.written.kernels = len(set(self._families.values()))
            case ToolchainUsed(versions):
                self._triton = versions["triton"]
                self._toolchain = writer.add_toolchain(versions, self._command)
            case MissingQuery():
                return self._missing(record, writer)
            case CompilationsStarted(total):
                self._requested = self.written.variants + total
                self.written.total = total
                writer.expect(max(total - self.written.variants, 0))
            case Note(text):
                self.written.notes.append(text)
            case Finished():
                self.written.finished = True
        self._on_change(self.written)
        return Answer()

    def _missing_variants(self) -> int:
        """Return how many variants the program launched, or began to compile, that are not written."""
        launched = sum(measurements.id is None for measurements in self._measurements.values())
        return max(launched - self.written.kept, self._requested - self.written.variants, 0)

    def _missing(self, query: MissingQuery, writer: CaptureWriter) -> Answer:
        finished = writer.finished()
        missing = tuple(
            writer.identity(self._kernels[kernel], self._triton, variant) not in finished
            for kernel, variant in query.variants
        )
        self.written.kept = missing.count(False)
        return Answer(missing)

    def _add(self, done: VariantDone, writer: CaptureWriter) -> None:
        measurements = self._measurements.setdefault(done.number, _Measurements())
        variant = replace(
            done.variant,
            artifacts={**done.variant.artifacts, **_read(done)},
            launches=tuple(measurements.launches),
            benchmarks=tuple(measurements.benchmarks),
            attachments={**done.variant.attachments, **measurements.values},
        )
        # Ids follow the order in which the program asked, not the order of completion.
        id_ = self._first_id + done.number
        kernel = self._kernels[done.kernel]
        measurements.id = writer.add_variant(kernel, self._toolchain, self._triton, variant, id_)
        self.written.variants += 1
        self.written.failed += variant.failure is not None

    def _keep_values(self, number: int, content: bytes, writer: CaptureWriter) -> None:
        measurements = self._measurements.setdefault(number, _Measurements())
        if measurements.id is None:
            measurements.values = {VALUES: content}
        else:
            writer.add_attachments(measurements.id, {VALUES: content})

    def _measure(self, record: LaunchRecorded | BenchmarkRecorded, writer: CaptureWriter) -> None:
        measurements = self._measurements.setdefault(record.number, _Measurements())
        if isinstance(record, LaunchRecorded):
            measurements.launches.append(record.launch)
        else:
            measurements.benchmarks.append(record.benchmark)
        if measurements.id is not None:
            writer.set_measured(measurements.id, tuple(measurements.launches), tuple(measurements.benchmarks))


def _read(done: VariantDone) -> dict[str, bytes]:
    """Read the artifacts in Triton's cache; files that no longer exist are skipped."""
    contents = {}
    for stage, path in done.files.items():
        with contextlib.suppress(OSError):
            contents[stage] = Path(path).read_bytes()
    return contents
