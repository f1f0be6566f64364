"""Code around the kernels of real programs works without a GPU, or stops the program if it needs one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from irscope.store.reader import CaptureReader
from tests.conftest import Irscope
from tests.recording import patterns

pytest.importorskip("torch")
pytestmark = pytest.mark.slow
Run = Callable[[str], tuple[list[str], list[str]]]


@pytest.fixture
def run(irscope: Irscope, tmp_path: Path) -> Run:
    """Runs a program that must succeed; returns the lines on stdout, and irscope's lines on stderr."""

    def call(text: str) -> tuple[list[str], list[str]]:
        (tmp_path / "script.py").write_text(text)
        done = irscope("run", "--target", "cuda:90", "script.py")
        assert done.returncode == 0, done.stderr
        messages = [line for line in done.stderr.splitlines() if line.startswith("irscope: ")]
        return done.stdout.splitlines(), messages

    return call


def blocks(path: Path) -> list[object]:
    with CaptureReader(path) as capture:
        return [variant.config.get("BLOCK") for variant in capture.variants()]


def test_results_of_kernels_can_be_printed_added_and_asserted(run: Run):
    printed, _ = run(patterns.VALUES)
    assert printed == ["loss ? [?, ?] ?", "?"]


def test_needing_the_value_of_a_result_stops_the_program(run: Run):
    printed, _ = run(patterns.ASKS)
    assert printed == []


def test_the_programs_own_operators_see_fake_cuda_tensors(run: Run, tmp_path: Path):
    printed, _ = run(patterns.OPERATORS)
    assert printed == ["[('default', 'cuda', 0), ('cuda', 'cuda', 0), ('cpu', 'cpu', None)]"]
    assert blocks(tmp_path / "script.irscope") == [32]


def test_the_programs_own_operators_run_on_tensors_of_any_size(run: Run, tmp_path: Path):
    run(patterns.LARGE_OPERATORS)
    assert blocks(tmp_path / "script.irscope") == [16, 32, 128, 64]


def test_benchmarks_launch_their_kernels_for_every_size_and_line(run: Run, tmp_path: Path):
    printed, messages = run(patterns.BENCHMARKS)
    assert printed == ["tensor(not computed without a GPU, size=(4, 4))", "None"]
    assert re.fullmatch(r"irscope: script.py:\d+: benchmarks call each function once and .*", messages[0])
    with CaptureReader(tmp_path / "script.irscope") as capture:
        configs = [variant.config for variant in capture.variants()]
    assert [(config.get("BLOCK"), config.get("num_warps")) for config in configs] == [
        (16, 2), (16, 4), (32, 2), (32, 4),
    ]  # fmt: skip


def test_checkpoints_autocast_threads_and_backward_passes_see_fake_cuda_tensors(run: Run, tmp_path: Path):
    _, messages = run(patterns.TRAINING)
    assert messages[:-1] == []
    assert blocks(tmp_path / "script.irscope") == [16, 64]


def test_processes_that_the_program_starts_write_their_own_captures(run: Run, tmp_path: Path):
    printed, messages = run(patterns.CHILDREN)
    assert printed == ["spawn 0", "fork 0", "no torch"]
    assert blocks(tmp_path / "script.irscope") == [16]
    others = sorted(tmp_path.glob("script.*.irscope"))
    assert sorted(str(block) for path in others for block in blocks(path)) == ["128", "32", "64"]
    assert all(path.name.split(".")[1].isdigit() for path in others)
    assert len(messages) == 4


def test_each_rank_of_torchrun_writes_its_capture_and_merge_joins_them(irscope: Irscope, tmp_path: Path):
    (tmp_path / "train.py").write_text(patterns.RANKS)
    launcher = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "train.py")
    done = irscope("run", "--target", "cuda:90", "-o", "train.irscope", *launcher)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["sum of ranks 3"] * 2
    ranks = [f"train.rank{rank}.irscope" for rank in (0, 1)]
    assert [blocks(tmp_path / name) for name in ranks] == [[16], [32]]
    assert irscope("merge", *ranks, "-o", "both.irscope").returncode == 0
    assert blocks(tmp_path / "both.irscope") == [16, 32]
