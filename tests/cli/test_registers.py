"""`irscope registers` as a user runs it, and the causes that findings name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irscope.cli.main import main
from irscope.workspace import Workspace
from tests.tui.captures import LARGE, SMALL, stage, write

STAGES = ("ttgir", "ptx")


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The matmul with a tile of 64x64 and of 128x128."""
    small = {kind: stage("matmul_kernel", SMALL, kind) for kind in STAGES}
    large = {"ttgir": stage("matmul_kernel", LARGE, "ttgir"), "ptx": small["ptx"]}
    return write(
        tmp_path_factory.mktemp("registers") / "m.irscope",
        [({"BLOCK_M": 64}, small), ({"BLOCK_M": 128}, large)],
    )


def test_text(capture: Path, capsys: pytest.CaptureFixture[str]):
    """PTX is the best stage of a capture without a cubin."""
    assert main(["registers", str(capture), "#1"]) == 0
    shown = capsys.readouterr().out
    assert "; ptx needs about " in shown
    assert "acc is 64x64 f32 over 128 threads: 32 registers per thread (#mma)" in shown
    assert "pill" not in shown  # PTX has none


def test_json(capture: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["registers", str(capture), "#2", "--format", "json", "--stage", "ptx"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "irscope.registers/1"
    assert document["estimate"] is True
    assert sum(value["registers"] for value in document["values"]) == document["peak"]
    (acc,) = (tensor for tensor in document["tensors"] if tensor["name"] == "acc")
    assert (acc["shape"], acc["threads"], acc["registers"]) == ([128, 128], 128, 128)
    assert document["tensor_registers"] == sum(tensor["registers"] for tensor in document["tensors"])


def test_a_stage_without_registers_is_refused(capture: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["registers", str(capture), "#1", "--stage", "ttir"]) == 2
    assert "ttir has no registers; choose sass, ptx, amdgcn" in capsys.readouterr().err
    assert main(["registers", str(capture), "#1", "--stage", "sass"]) == 2


def test_python_gives_the_pressure_of_each_line(capture: Path):
    with Workspace(capture) as workspace:
        report = workspace.registers(workspace.variants[0])
    assert report.pressure is not None and report.peak == max(report.pressure.values())
    assert report.pressure[report.stage_line] == report.peak
