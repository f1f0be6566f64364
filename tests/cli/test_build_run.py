"""`irscope build --run`: the original and the edit are launched with the same made-up arguments."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from irscope.compiling.edits.launch import LaunchComparison, compare_launches
from irscope.compiling.processes import child_process
from irscope.model import Launch, UserError
from irscope.workspace import Workspace
from tests.cli.conftest import Run
from tests.fake_gpu import build_libcuda, production_environment

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
PRODUCTION = Path(__file__).parent.parent / "fake_gpu" / "production.py"
TENSOR = "float32[4096]"
LAUNCH = Launch((4,), (("x_ptr", TENSOR), ("y_ptr", TENSOR), ("out_ptr", TENSOR), ("n", "4096")))


def test_what_the_launches_say() -> None:
    same = LaunchComparison("H100", {}, ("out_ptr",), (10.0, 20.0))
    assert same.lines == [
        "H100: results are bit-identical (out_ptr)",
        "time: A 10.00 us, B 20.00 us (2.00 x)",
    ]
    wrong = LaunchComparison("H100", {"out_ptr": 0.5}, ("out_ptr",), ())
    assert wrong.lines == ["H100: results differ: out_ptr by at most 0.5"]
    assert "results say nothing" in LaunchComparison("", {}, (), ()).lines[0]


@pytest.mark.slow
def test_a_launch_and_a_gpu_are_needed(tmp_path: Path, irscope: Run) -> None:
    adds = shutil.copy(CAPTURES / "v1.irscope", tmp_path / "adds.irscope")
    done = irscope("build", adds, "#3", "--skip-pass", "sccp", "--any-triton", "--run")
    assert done.returncode == 2
    assert "--run: no launch of #3 was recorded; irscope run PROGRAM.py records them" in done.stderr
    with Workspace(adds) as workspace:
        a, b = workspace.live.by_id(3), workspace.live.by_id(1)
        with pytest.raises(UserError, match=r"^--run: [^\n]*$"):
            compare_launches(a, b, LAUNCH, workspace.contents.read, 60.0)
        unknown = Launch((4,), (("x_ptr", "*fp32"), *LAUNCH.arguments[1:]))
        with pytest.raises(UserError, match="no shape for argument x_ptr"):
            compare_launches(a, b, unknown, workspace.contents.read, 60.0)


@pytest.mark.slow
def test_both_are_launched_with_the_same_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = build_libcuda(tmp_path / "lib")
    environment = production_environment(library, tmp_path / "cache")

    def command(*words: str) -> list[str]:
        return [sys.executable, str(PRODUCTION), child_process.__file__, *words]

    monkeypatch.setattr("irscope.compiling.processes.run_tool.python_command", command)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with Workspace(CAPTURES / "v1.irscope") as workspace:
        found = compare_launches(
            workspace.live.by_id(1), workspace.live.by_id(3), LAUNCH, workspace.contents.read, 60.0
        )
        assert found.differences == {}
        assert found.written == ()  # the fake GPU computes nothing
