"""Sweeps on Dask workers of this machine, some of which are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from irscope.model import Variant
from irscope.store import CaptureReader
from tests.cluster.local_cluster import LocalCluster, local_cluster
from tests.conftest import Irscope

pytest.importorskip("distributed", reason="the extra `cluster`")

pytestmark = pytest.mark.slow
KERNEL = """
import os
import time
import triton
import triton.language as tl

def wait(seconds):
    time.sleep(seconds)
    return 0

@triton.jit
def add(x_ptr, n, HOW: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) + HOW, mask=offsets < n)
"""
WORDS = ("compile", "k.py", "--signature", "*fp32:16, i32", "--config", "BLOCK=64,128,256")


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Iterator[LocalCluster]:
    """A scheduler with two workers of one thread."""
    with local_cluster(tmp_path_factory.mktemp("dask"), 2, triton_cache) as cluster:
        yield cluster


def _variants(path: Path) -> dict[str, Variant]:
    with CaptureReader(path) as capture:
        found = capture.variants()
    assert len({str(variant.config) for variant in found}) == len(found)
    return {str(variant.config): variant for variant in found}


def test_the_capture_equals_that_of_this_machine(
    irscope: Irscope, tmp_path: Path, dask: LocalCluster
) -> None:
    (tmp_path / "k.py").write_text(KERNEL)
    axes = ("--config", "HOW=1,2")
    assert irscope(*WORDS, *axes, "-o", "here.irscope").returncode == 0
    result = irscope(*WORDS, *axes, "-o", "there.irscope", "--cluster", dask.address)
    assert (result.returncode, "6 compiled, 0 failed" in result.stdout) == (0, True), result.stderr
    assert " per minute" in result.stderr
    here, there = _variants(tmp_path / "here.irscope"), _variants(tmp_path / "there.irscope")
    assert {name: v.artifacts for name, v in here.items()} == {n: v.artifacts for n, v in there.items()}


def test_a_client_of_python(tmp_path: Path, dask: LocalCluster, triton_cache: Path) -> None:
    """irscope.compile takes the client and leaves it open."""
    program = f"""
import irscope
from distributed import Client
import kernels
if __name__ == "__main__":
    with Client({dask.address!r}) as client:
        capture = irscope.compile(kernels.add, "p.irscope", "*fp32:16, i32",
                                  config={{"BLOCK": [64, 128], "HOW": 1}}, cluster=client)
        print(len(capture.variants), client.submit(max, 1, 2).result())
"""
    (tmp_path / "kernels.py").write_text(KERNEL)
    (tmp_path / "program.py").write_text(program)
    words = [sys.executable, "program.py"]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.split() == ["2", "2"], done.stderr


def test_a_killed_worker_costs_nothing_but_time(
    irscope: Irscope, tmp_path: Path, dask: LocalCluster, triton_cache: Path
) -> None:
    """The processes of a worker are killed in the middle of a sweep; another takes its place."""
    (tmp_path / "k.py").write_text(KERNEL + "\ntime.sleep(1)\n")
    words = [sys.executable, "-m", "irscope", *WORDS, "--config", f"HOW={','.join(map(str, range(20)))}"]
    words += ["-o", "k.irscope", "--cluster", dask.address]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        path, deadline = tmp_path / "k.irscope", time.monotonic() + 120
        while time.monotonic() < deadline and (not path.exists() or not _variants(path)):
            time.sleep(0.05)
        dask.kill_worker(0)
        dask.start_worker(tmp_path / "cache")
        assert "60 compiled, 0 failed" in process.communicate(timeout=180)[0]
    assert len(_variants(path)) == 60


def test_ctrl_c_drops_the_jobs_and_resume_goes_on(
    irscope: Irscope, tmp_path: Path, dask: LocalCluster
) -> None:
    (tmp_path / "k.py").write_text(KERNEL.replace("+ HOW", "- HOW"))  # not in Triton's cache
    axis = f"HOW={','.join(map(str, range(20)))}"
    words = [*WORDS, "--config", axis, "-o", "c.irscope", "--cluster", dask.address]
    process = subprocess.Popen(
        [sys.executable, "-m", "irscope", *words], cwd=tmp_path, stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    )  # fmt: skip
    path, deadline = tmp_path / "c.irscope", time.monotonic() + 120
    while time.monotonic() < deadline and (not path.exists() or not _variants(path)):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    listed = subprocess.run(["ps", "-ww", "-eo", "args="], capture_output=True, text=True, check=True)
    assert str(tmp_path) not in listed.stdout
    kept = len(_variants(path))
    resumed = irscope(*words, "--resume")
    assert f"{60 - kept} compiled, {kept} already there, 0 failed" in resumed.stdout


def test_a_worker_with_another_version_gets_no_jobs(
    irscope: Irscope, tmp_path: Path, dask: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says which, and the command fails if there is no other worker."""
    (tmp_path / "k.py").write_text(KERNEL)
    (tmp_path / "sitecustomize.py").write_text("import platform\nplatform.python_version = lambda: '3.9.9'\n")
    words = (*WORDS, "--config", "HOW=1", "-o", "v.irscope", "--cluster", dask.address)
    root = str(Path(__file__).parents[2])
    result = irscope(*words, PYTHONPATH=f"{tmp_path}:{root}")
    assert result.returncode == 2
    assert "instead of 3.9.9; it gets no jobs" in result.stderr.splitlines()[-1]


def test_a_scheduler_that_is_not_there(irscope: Irscope, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(KERNEL)
    words = (*WORDS, "--config", "HOW=1", "--cluster", "tcp://127.0.0.1:9")
    result = irscope(*words)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "no Dask scheduler answers" in result.stderr
    both = irscope(*words, "-j", "2")
    assert "dask worker --nthreads N" in both.stderr
