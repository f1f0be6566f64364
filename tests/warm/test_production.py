"""A warm folder as production uses it: plain Triton on a fake GPU, no compiler, no irscope."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from irscope.jobs.warm.manifest import Manifest, read_manifest
from tests.fake_gpu import (
    build_libcuda,
    build_libhip,
    poisoned_programs,
    production_environment,
    run_in_production,
)

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).with_name("program.py")
VARIANTS = 15
Warm = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Built:
    """A folder that was built for a program, and the fake library of the driver that it was built for."""

    program: Path
    folder: Path
    libcuda: Path

    @property
    def manifest(self) -> Manifest:
        manifest = read_manifest(self.folder)
        assert manifest is not None
        return manifest


def warm(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs irscope warm."""
    import os

    return subprocess.run(
        [sys.executable, "-m", "irscope", "warm", *map(str, words)],
        env=os.environ | environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Built:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("warm")
    libcuda = build_libcuda(folder / "lib")
    program = Path(shutil.copy(PROGRAM, folder / "program.py"))
    done = warm(program, "--target", "cuda:90", "-o", folder / "built", "--libcuda", libcuda.parent)
    assert done.returncode == 0, done.stderr
    assert f"{VARIANTS} variants for cuda:90: {VARIANTS} compiled" in done.stdout
    return Built(program, folder / "built", libcuda)


@pytest.fixture
def built(original: Built, tmp_path: Path) -> Built:
    """A copy of the built folder at another path, without relocation, and of the program."""
    moved = tmp_path / "moved"
    shutil.copytree(original.folder, moved)
    return Built(Path(shutil.copy(original.program, tmp_path)), moved, original.libcuda)


def ptxas() -> dict[str, str]:
    spec = importlib.util.find_spec("triton")
    assert spec is not None
    tools = Path(str(spec.origin)).parent / "backends/nvidia/bin"
    return {
        "TRITON_PTXAS_PATH": str(tools / "ptxas"),
        "TRITON_PTXAS_BLACKWELL_PATH": str(tools / "ptxas-blackwell"),
    }


def relocate(folder: Path) -> str:
    """Runs the script in the folder, as production would."""
    words = [sys.executable, "-I", "-S", str(folder / "relocate.py")]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def run(built: Built, tmp_path: Path) -> tuple[int, int, int]:
    """Exit code, launches, and calls of the C compiler and ptxas of the program with the folder."""
    log, poison = tmp_path / "cuda.log", poisoned_programs(tmp_path / "poison", ptxas())
    environment = production_environment(built.libcuda, built.folder, log=log) | poison
    done = run_in_production(built.program, environment)
    calls = Path(poison["POISON_LOG"])
    launches = log.read_text().count("launch") if log.exists() else 0
    return done.returncode, launches, len(calls.read_text().splitlines()) if calls.exists() else 0


def test_a_moved_folder_compiles_nothing_once_it_is_relocated(built: Built, tmp_path: Path) -> None:
    assert f"{VARIANTS} kernels, {VARIANTS} relocated" in relocate(built.folder)
    before = set(built.folder.rglob("*"))
    code, launches, compilations = run(built, tmp_path)
    assert (code, compilations) == (0, 0)
    assert launches == 18  # 4 configs x 3 tunings, and 2 kernels x 3 calls
    assert set(built.folder.rglob("*")) == before


def test_a_folder_needs_only_to_be_readable(built: Built, tmp_path: Path) -> None:
    relocate(built.folder)
    for path in [built.folder, *built.folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    assert run(built, tmp_path)[0] == 0
    for path in [built.folder, *built.folder.rglob("*")]:
        path.chmod(0o755)


def test_an_old_path_or_another_environment_is_reported_before_the_first_request(built: Built) -> None:
    environment = {"TRITON_LIBCUDA_PATH": str(built.libcuda.parent)}
    elsewhere = warm("--verify", built.folder, **environment)
    assert "files are those in another folder" in elsewhere.stdout
    assert warm("--relocate", built.folder, "--at", "/nowhere").returncode == 0
    moved = warm("--verify", built.folder, **environment)
    assert moved.returncode == 1
    assert "differs  paths" in moved.stdout
    relocate(built.folder)
    whole = warm("--verify", built.folder, **environment)
    assert whole.returncode == 0, whole.stdout
    assert "ok       cuda_utils" in whole.stdout
    other = warm("--verify", built.folder, DISABLE_LLVM_OPT="1", TRITON_LIBCUDA_PATH="/another/lib")
    assert other.returncode == 1
    assert "unset DISABLE_LLVM_OPT" in other.stdout


def test_a_second_build_compiles_only_the_kernel_that_changed(built: Built) -> None:
    text = built.program.read_text()
    built.program.write_text(text.replace("* factor", "* factor + 1.0"))
    name = ["--libcuda", str(built.libcuda.parent), "--at", "/opt/triton-cache", "--binary-only"]
    first = warm(built.program, "-o", built.folder, *name)
    # The program was built at another path before, so its entries belong to another input.
    assert f"12 compiled, {VARIANTS - 12} there already" in first.stdout
    built.program.write_text(text)
    second = warm(built.program, "-o", built.folder, "--libcuda", built.libcuda.parent)
    assert f"{VARIANTS} there already, 12 removed" in second.stdout
    assert {entry.kernel for entry in built.manifest.entries} == {"scale", "add"}


def test_the_launches_of_a_program_can_be_varied(original: Built, tmp_path: Path) -> None:
    words = [original.program, "-o", tmp_path / "built", "--libcuda", original.libcuda.parent, "--no-prices"]
    done = warm(*words, "--vary", "add:n=1..4;BLOCK=128,256", "--vary", "multiply:n=1")
    assert "add (cuda:90): 6 compilations, 3 of them for recorded launches" in done.stdout
    assert "vary multiply:n: no kernel has this name; kernels: add, scale" in done.stderr
    assert done.returncode == 1


def test_an_input_without_kernels_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    done = warm(tmp_path / "empty.py", "-o", tmp_path / "built")
    assert (done.returncode, done.stdout) == (1, f"{tmp_path / 'built'}: no kernel\n")
    assert "empty.py: no kernel was launched; nothing was added" in done.stderr


def test_a_build_that_was_killed_continues(original: Built, tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    words = [sys.executable, "-m", "irscope", "warm", str(original.program), "-o", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        for _ in range(1200):
            if len(list(folder.glob("*/__grp__*"))) > 2:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    done = warm(original.program, "-o", folder)
    assert done.returncode == 0, done.stderr
    assert "there already" in done.stdout
    assert not list(folder.rglob("tmp*"))


def test_an_amd_program_compiles_nothing(original: Built, tmp_path: Path) -> None:
    library = build_libhip(tmp_path / "lib")
    words = ["--target", "hip:gfx942", "-o", tmp_path / "built", "--libhip", library]
    done = warm(original.program, *words)
    assert done.returncode == 0, done.stderr
    (tmp_path / "built").rename(tmp_path / "moved")
    relocate(tmp_path / "moved")
    assert run(Built(original.program, tmp_path / "moved", library), tmp_path) == (0, 18, 0)
