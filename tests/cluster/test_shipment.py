"""Compilations of a cluster's worker from a shipment, in processes of this machine."""

from __future__ import annotations

import queue
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irscope.compiling.cluster import cluster
from irscope.compiling.cluster.dask_worker import (
    UnknownSession,
    WorkerChecks,
    compile_here,
    end_session,
    prepare_worker,
)
from irscope.compiling.cluster.scheduler import FinishedJob
from irscope.compiling.cluster.shipment import Shipment, compiler_environment
from irscope.compiling.job import Outcome
from irscope.compiling.messages import Plan, SourcesRequest, SweepRequest
from irscope.compiling.pool import Stop, Worker, run_jobs
from irscope.model import UserError
from irscope.targets import parse_target

TARGET = parse_target("cuda:90")
HELPERS = """
import triton
import triton.language as tl

@triton.jit
def twice(x):
    return x + x
"""
KERNEL = """
import triton
import triton.language as tl
from mathlib.helpers import twice

@triton.jit
def double_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(x_ptr + offsets, twice(tl.load(x_ptr + offsets, mask=mask)), mask=mask)
"""


def _project(folder: Path) -> Path:
    (folder / "mathlib").mkdir(parents=True)
    (folder / "mathlib" / "__init__.py").write_text("")
    (folder / "mathlib" / "helpers.py").write_text(HELPERS)
    (folder / "kernels.py").write_text(KERNEL)
    return folder / "kernels.py"


@pytest.fixture(scope="module")
def compiled(
    tmp_path_factory: pytest.TempPathFactory, triton_cache: Path
) -> Iterator[tuple[Plan, Outcome, Shipment]]:
    """The plan of a project, its outcome on this machine, and its shipment; then the project is gone."""
    file = _project(tmp_path_factory.mktemp("project") / "src")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache))
        patch.setenv("DISABLE_LLVM_OPT", "1")
        axes = {"BLOCK": (256,)}
        request = SweepRequest(file, None, "*fp32:16, i32", {}, axes, (TARGET,))
        workers = [Worker()]
        plan = workers[0].ask(request, 300)
        found = workers[0].ask(SourcesRequest(file, (TARGET,)), 300)
        ((_, outcome),) = run_jobs(plan.jobs, workers, 300, lambda _: None)
        workers[0].stop()
        shipment = Shipment(file, (TARGET,), found.files, found.folders, compiler_environment())
        patch.delenv("DISABLE_LLVM_OPT")
        shutil.rmtree(file.parent)
        yield plan, outcome, shipment
        end_session(shipment.session)


def test_stages_are_those_of_the_machine_that_has_the_files(
    compiled: tuple[Plan, Outcome, Shipment], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The helper's module, the file names in the IR and the environment are those of the other machine."""
    plan, here, shipment = compiled
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "0")  # not in the environment of the other machine
    assert prepare_worker(shipment, 300) == plan.versions
    there = compile_here(shipment.session, plan.jobs[0], 300)
    assert there.failure is None
    assert {stage: there.content(stage) for stage in there.artifacts} == here.artifacts
    # They are sent as a capture keeps them, so that the client need not compress what all workers compile.
    assert there.artifacts == here.packed().artifacts
    assert there.cache_key == here.cache_key
    assert str(shipment.file) in (there.content("ttir") or b"").decode()


def test_only_the_users_files_are_sent(compiled: tuple[Plan, Outcome, Shipment]) -> None:
    """Installed packages are not, nor is irscope."""
    names = {Path(name).name for name in compiled[2].files}
    assert names == {"kernels.py", "helpers.py", "__init__.py"}


def test_a_crash_ends_the_child_only(compiled: tuple[Plan, Outcome, Shipment], tmp_path: Path) -> None:
    """Later jobs of the same worker compile."""
    plan, _, shipment = compiled
    deadly = tmp_path / "deadly.py"
    text = KERNEL.replace("from mathlib.helpers import twice", "import os\ntwice = 0")
    deadly.write_text(text + "\nif 'IRSCOPE_TEST_DIE' in os.environ: os.kill(os.getpid(), 11)\n")
    crashing = Shipment(deadly, (TARGET,), {str(deadly): deadly.read_bytes()}, (), {"ENABLE_X": "1"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IRSCOPE_TEST_DIE", "1")
        with pytest.raises(UserError, match="SIGSEGV"):
            prepare_worker(crashing, 300)
        outcome = compile_here(crashing.session, replace(plan.jobs[0], file=deadly), 300)
    assert outcome.failure is not None
    assert "SIGSEGV" in outcome.failure.summary
    end_session(crashing.session)
    prepare_worker(shipment, 300)
    assert compile_here(shipment.session, plan.jobs[0], 300).failure is None


def test_a_process_that_was_not_prepared_says_so(compiled: tuple[Plan, Outcome, Shipment]) -> None:
    """The executor prepares it and submits the job again."""
    with pytest.raises(UnknownSession):
        compile_here("another", compiled[0].jobs[0], 300)


class FlickeringScheduler:
    """A scheduler with one worker, which is missing in the second list that is read."""

    address = "tcp://scheduler"

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.lists: Iterator[bool] = iter([True, False])
        self.messages: queue.Queue[object] = queue.Queue()
        self.put = self.messages.put

    def workers(self) -> Mapping[str, tuple[str, int]]:
        return {"tcp://worker": ("worker", 1)} if next(self.lists, True) else {}

    def submit(self, address: str, job: object, seconds: float) -> int:
        self.put(FinishedJob(address, 1, self.outcome))
        return 1

    def wait(self, stop: object, seconds: float) -> Iterator[object]:
        with suppress(queue.Empty):
            yield self.messages.get(timeout=seconds)

    def run(self, function: Callable[..., object], *_: object, workers: list[str]) -> dict[str, object]:
        """What Dask's client returns for the checks of a worker."""
        return {workers[0]: ("3.11", "1") if function is eval else {"python": "3.11", "irscope": "1"}}


def test_a_worker_that_was_not_listed_when_its_check_ended_gets_jobs(
    compiled: tuple[Plan, Outcome, Shipment], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, outcome, shipment = compiled
    monkeypatch.setattr(cluster, "NO_WORKER_SECONDS", 5.0)
    scheduler: Any = FlickeringScheduler(outcome)
    checks = WorkerChecks(scheduler, shipment, {"python": "3.11", "irscope": "1"}, 10, scheduler.put)
    executor = cluster.DaskExecutor(scheduler, checks, lambda _: None)
    try:
        ((_, got),) = executor.run(plan.jobs, 10, lambda _: None, lambda *_: None, Stop())
    finally:
        checks.stop()
    assert got is outcome
