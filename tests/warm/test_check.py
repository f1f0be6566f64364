"""`irscope warm --check`: every process of a program is heard, and its exit code is kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from irscope.cli.warm import check_programs
from irscope.jobs.warm.checking import command_of
from irscope.jobs.warm.manifest import Manifest, write_manifest
from irscope.model import UserError

PROGRAM = """
import multiprocessing, os, sys
sys.path.insert(0, {folder!r})
import triton
from irscope.targets import parse_target
from irscope.compiling.toolchain.stub_driver import StubDriver
from warm_kernels import launch

triton.runtime.driver.set_active(StubDriver(parse_target("cuda:90")))
if __name__ == "__main__":
    launch(1024)
    for method in ("fork", "spawn"):
        n = 16 if method == "fork" else 7
        process = multiprocessing.get_context(method).Process(target=launch, args=(n,))
        process.start()
        process.join()
    if sys.argv[1:]:
        launch(1)
        os._exit(int(sys.argv[1]))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that compiles in its own process, a forked and a spawned one."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(folder=str(Path(__file__).parent)))
    return path


def test_compilations_of_all_processes_are_printed(
    program: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "warm"
    folder.mkdir()
    assert check_programs([f"{program} 3"], folder) == 3
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("irscope:")]
    # The forked process finds n=16 in its parent's memory; the spawned one compiles n=7.
    assert [line.split("n=")[1].split(",")[0] for line in lines if "add_kernel" in line] == [
        "i32:16",
        "1",
        "i32",
    ]
    assert any(line.endswith("exit code 3") for line in lines)
    # Now everything is in the cache, but not because the folder was built so.
    write_manifest(folder, Manifest())
    assert check_programs([str(program)], folder) == 1
    assert "not warm: 2 unlisted entries in 0.00 s; 2 kernels" in capfd.readouterr().err


def test_commands_of_programs(tmp_path: Path) -> None:
    script = tmp_path / "a b.py"
    script.touch()
    assert command_of(str(script)) == [sys.executable, str(script)]
    assert command_of(f"'{script}' --steps 1") == [sys.executable, str(script), "--steps", "1"]
    assert command_of("-m package.bench x") == [sys.executable, "-m", "package.bench", "x"]
    assert command_of("torchrun --nproc 2 a.py") == ["torchrun", "--nproc", "2", "a.py"]
    with pytest.raises(UserError, match=r"no\.py: no such file"):
        command_of("no.py")


def test_a_program_without_triton_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.py").touch()
    with pytest.raises(UserError, match="none of its processes imported Triton"):
        check_programs([str(tmp_path / "empty.py")], None)
    with pytest.raises(UserError, match="no such folder"):
        check_programs([str(tmp_path / "empty.py")], tmp_path / "no")
