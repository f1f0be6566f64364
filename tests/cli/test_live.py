"""Compiling for the app: its events, the capture, and the processes that stay."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue

import pytest

from irscope.cli.written_options import with_options
from irscope.compiling.messages import SweepRequest
from irscope.jobs.live_sweep import LiveSweep
from irscope.store import CaptureReader, CaptureWriter
from irscope.targets import parse_target
from irscope.workspace.live import (
    Ended,
    Event,
    Planned,
    Refused,
    StageMade,
    Started,
    Unchanged,
    VariantFinished,
)
from tests.conftest import Irscope
from tests.tui import captures

pytestmark = pytest.mark.slow

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) + 1, mask=offsets < n)
"""
_PATIENCE_SECONDS = 120.0

Make = Callable[..., LiveSweep]


class Received:
    """The events in the order they came."""

    def __init__(self) -> None:
        self.queue: Queue[Event] = Queue()

    def until(self, *kinds: type) -> list[Event]:
        """The events up to one of these kinds, that one last."""
        events = [self.queue.get(timeout=_PATIENCE_SECONDS)]
        while not isinstance(events[-1], kinds):
            events.append(self.queue.get(timeout=_PATIENCE_SECONDS))
        return events


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    return path


@pytest.fixture
def make(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    made = []
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))

    def sweep(*blocks: int) -> LiveSweep:
        path = tmp_path / "k.irscope"
        CaptureWriter.create(path).close()
        targets = (parse_target("cuda:90"),)
        request = SweepRequest(file, "add", "*fp32:16, i32:16", {}, {"BLOCK": blocks}, targets)
        made.append(LiveSweep(request, path, 1, 60.0, with_options))
        return made[-1]

    yield sweep
    for one in made:
        one.stop()


def workers() -> int:
    """The number of this test's worker processes."""
    command = ["ps", "-ww", "--ppid", str(os.getpid()), "-o", "args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    return listed.stdout.count("irscope.compiling.worker")


def test_each_stage_is_reported_before_its_variant_finishes(make: Make, tmp_path: Path) -> None:
    sweep, received = make(64, 96, 128), Received()
    sweep.begin(received.queue.put)
    events = received.until(Ended, Refused)
    planned = events[0]
    assert isinstance(planned, Planned)
    assert [(v.id, v.config.get("BLOCK")) for v in planned.variants] == [(1, 64), (2, 96), (3, 128)]
    of_first = [e for e in events if isinstance(e, Started | StageMade) and e.variant == 1]
    assert isinstance(of_first[0], Started)
    stages = [event.stage for event in of_first if isinstance(event, StageMade)]
    assert stages[:5] == ["ttir", "ttgir", "llir", "ptx", "cubin"]
    finished = [event.variant for event in events if isinstance(event, VariantFinished)]
    assert [variant.id for variant in finished] == [1, 3, 2]  # the extremes first
    finished.sort(key=lambda variant: variant.id)
    assert [variant.failure is not None for variant in finished] == [False, True, False]
    with CaptureReader(tmp_path / "k.irscope") as capture:
        assert capture.variants() == finished
    assert (sweep.compiled, sweep.failed, sweep.left) == (2, 1, 0)


def test_an_edit_an_error_and_a_reverted_edit(make: Make, file: Path, tmp_path: Path) -> None:
    sweep, received = make(64), Received()

    def again(text: str) -> Event:
        file.write_text(text)
        sweep.begin(received.queue.put)
        return received.until(Ended, Unchanged, Refused)[0]

    first = again(KERNEL)
    assert isinstance(again(KERNEL), Unchanged)
    assert isinstance(again(KERNEL + "\nOTHER = 1\n"), Unchanged)
    edited = again(KERNEL.replace("+ 1,", "+ 2,"))
    refused = again(KERNEL.replace("+ 1,", "+ ,"))
    back = again(KERNEL)
    assert isinstance(first, Planned)
    assert isinstance(edited, Planned)
    assert isinstance(refused, Refused)
    assert isinstance(back, Planned)
    assert "SyntaxError" in refused.problem
    assert [variant.id for variant in edited.variants] == [2]
    assert back.kernel == first.kernel  # which the capture has, so that there is nothing to compile
    assert back.variants == ()
    with CaptureReader(tmp_path / "k.irscope") as capture:
        assert [v.kernel.source.text.count("+ 2") for v in capture.variants()] == [0, 1]


def test_a_missing_signature_is_guessed_and_taken_from_the_user(file: Path, tmp_path: Path) -> None:
    target = parse_target("cuda:90")
    request = SweepRequest(file, None, None, {}, {"BLOCK": (64,)}, (target,))
    CaptureWriter.create(tmp_path / "k.irscope").close()
    sweep, received = LiveSweep(request, tmp_path / "k.irscope", 1, 300.0, with_options), Received()
    try:
        sweep.begin(received.queue.put)
        refused = received.until(Refused, Planned)[-1]
        assert isinstance(refused, Refused)
        assert refused.options.startswith("--signature ")
        assert "--nope" in sweep.add_options("--nope 3")
        assert "BLOCK" in sweep.add_options("--config BLOCK=")
        assert sweep.add_options(refused.options) == ""
        sweep.begin(received.queue.put)
        planned = received.until(Refused, Planned)[-1]
        assert isinstance(planned, Planned)
        assert [variant.config.get("BLOCK") for variant in planned.variants] == [64]
        assert sweep.options == refused.options
    finally:
        sweep.stop()


def test_stopping_ends_the_workers_at_once_and_loses_nothing(make: Make, tmp_path: Path) -> None:
    sweep, received = make(64, 128, 256, 512, 1024, 2048), Received()
    sweep.begin(received.queue.put)
    received.until(VariantFinished)
    assert workers() == 1
    begun = time.monotonic()
    sweep.stop()
    assert time.monotonic() - begun < 5
    assert workers() == 0
    with CaptureReader(tmp_path / "k.irscope") as capture:
        there = capture.variants()
    assert len(there) == sweep.compiled >= 1
    assert sweep.left == 6 - sweep.compiled
    assert [path.name for path in tmp_path.glob("k.irscope*")] == ["k.irscope"]


def test_a_new_plan_stops_the_previous_sweep(make: Make, file: Path) -> None:
    sweep, received = make(*(64 << power for power in range(10))), Received()
    sweep.begin(received.queue.put)
    received.until(VariantFinished)
    file.write_text(KERNEL.replace("+ 1,", "+ 2,"))
    sweep.begin(received.queue.put)
    events = received.until(Planned, Refused)
    assert not any(isinstance(event, Ended) for event in events)
    assert isinstance(events[-1], Planned)
    numbers = {event.variant.id for event in events if isinstance(event, VariantFinished)} | {1}
    assert not numbers & {variant.id for variant in events[-1].variants}
    received.until(StageMade)
    sweep.stop()
    assert workers() == 0


def test_only_workers_import_triton(file: Path, tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from queue import Queue
from irscope.compiling.messages import SweepRequest
from irscope.cli.written_options import with_options
from irscope.jobs.live_sweep import LiveSweep
from irscope.targets import parse_target
from irscope.store import CaptureWriter
path = Path({str(tmp_path / "x.irscope")!r})
CaptureWriter.create(path).close()
targets = (parse_target("cuda:90"),)
request = SweepRequest(Path({str(file)!r}), "add", "*fp32, i32", {{}}, {{"BLOCK": (64,)}}, targets)
sweep, received = LiveSweep(request, path, 1, 60.0, with_options), Queue()
sweep.begin(received.put)
print(type(received.get()).__name__)
sweep.stop()
print([name for name in ("triton", "torch") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:2] == ["Planned", "[]"], done.stderr


def test_without_a_terminal_there_is_an_error_and_no_capture(
    irscope: Irscope, file: Path, tmp_path: Path
) -> None:
    done = irscope("tui", f"{file}::add", "--signature", "*fp32, i32", "-o", "x.irscope")
    assert done.returncode == 2
    assert done.stderr == "irscope: the app needs a terminal; irscope compile works without one\n"
    assert not (tmp_path / "x.irscope").exists()


def test_a_terminal_that_cannot_draw_gets_the_command_that_works(
    tmp_path: Path,
) -> None:
    path = captures.matmul(tmp_path / "x.irscope")
    master, slave = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "irscope", str(path)],
        stdin=slave,
        stdout=slave,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "TERM": "dumb"},
    )
    os.close(master)
    os.close(slave)
    assert done.returncode == 2
    assert "TERM=dumb" in done.stderr
    assert f"irscope table {path} works without one" in done.stderr


def test_compile_options_are_only_for_python_files(irscope: Irscope, tmp_path: Path) -> None:
    done = irscope("tui", "x.irscope", "--config", "BLOCK=1")
    assert done.returncode == 2
    assert done.stderr.startswith("irscope: --config applies only to FILE.py[::KERNEL]")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("flag", ["--resume", "--force"])
def test_without_a_terminal_a_capture_is_unchanged(
    irscope: Irscope, file: Path, tmp_path: Path, flag: str
) -> None:
    (tmp_path / "x.irscope").write_text("mine")
    done = irscope("tui", f"{file}::add", "--signature", "*fp32, i32", "-o", "x.irscope", flag)
    assert done.returncode == 2
    assert (tmp_path / "x.irscope").read_text() == "mine"
