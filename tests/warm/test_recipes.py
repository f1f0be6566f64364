"""The recipes of docs/production.md: their steps run here on a fake GPU, as a build machine and a pod do."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fake_gpu import build_libcuda, poisoned_programs, production_environment

pytest.importorskip("torch")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SERVING = ROOT / "samples" / "serving"
PRODUCTION = ROOT / "tests" / "fake_gpu" / "production.py"


class Machine:
    """A machine whose root folder is `root`: runs the commands of recipes, with a fake libcuda."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "app").mkdir(parents=True)
        self.libcuda = build_libcuda(root / "driver")
        self.environment = production_environment(self.libcuda, root / "home")
        del self.environment["TRITON_CACHE_DIR"]
        scripts = root / "bin"
        scripts.mkdir()
        for name, command in (("irscope", [sys.executable, "-m", "irscope"]), ("python", self.python)):
            (scripts / name).write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
            (scripts / name).chmod(0o755)
        self.environment |= {
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": f"{ROOT}{os.pathsep}{root / 'app'}",
        }

    @property
    def python(self) -> list[str]:
        """A Python whose torch has a GPU."""
        return [sys.executable, str(PRODUCTION)]

    def here(self, text: str) -> str:
        """A command or path of a recipe, with its absolute folders below the root of this machine."""
        return re.sub(r"(?<![\w/.])/(app|opt|kernels)\b", rf"{self.root}/\1", text)

    def run(self, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a command of a recipe in /app."""
        values = {name: self.here(value) for name, value in variables.items()}
        return subprocess.run(
            ["sh", "-c", self.here(command)],
            env=self.environment | values,
            cwd=self.root / "app",
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


def instructions(stage: int) -> list[tuple[str, str]]:
    """The instructions of a stage of the Dockerfile (from 0), by name."""
    lines = (SERVING / "Dockerfile").read_text().splitlines()
    found = [line.partition(" ")[::2] for line in lines if line and not line.startswith(("#", " "))]
    starts = [index for index, (name, _) in enumerate(found) if name == "FROM"]
    return found[starts[stage] : [*starts, len(found)][stage + 1]]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine on which the steps of the Dockerfile have run, apart from the installation of packages."""
    machine = Machine(tmp_path_factory.mktemp("image"))
    for name, text in instructions(0):
        if name == "COPY":
            shutil.copytree(SERVING, machine.root / "app", dirs_exist_ok=True)
        elif name == "RUN" and text.startswith("irscope"):
            done = machine.run(text)
            assert done.returncode == 0, done.stdout + done.stderr
    return machine


def poison(machine: Machine) -> dict[str, str]:
    """Variables that make ptxas and the C compiler fail."""
    folder = machine.root / "poison"
    variables = poisoned_programs(folder, {})
    return variables | {"PATH": f"{folder}{os.pathsep}{machine.environment['PATH']}"}


def test_the_image_serves_without_compiling(image: Machine) -> None:
    final = dict(instructions(1))
    variables = dict(pair.split("=") for pair in final["ENV"].split())
    command = shlex.join(json.loads(final["CMD"]))
    served = image.run(command, **variables, **poison(image))
    assert served.stdout == "torch.Size([4, 1024])\n", served.stderr
    warm = image.run(f"irscope warm --check '{command}' -o /opt/warm", **variables)
    assert (warm.returncode, warm.stderr.count("irscope: warm: 2 kernels")) == (0, 1), warm.stderr


def test_a_shape_that_is_not_in_the_list_is_named(image: Machine) -> None:
    code = "import service; service.answer(3, 24)"
    (image.root / "app" / "other.py").write_text(code)
    done = image.run("irscope warm --check 'python other.py' -o /opt/warm", TRITON_CACHE_AUTOTUNING="1")
    assert done.returncode == 1
    assert (
        "of warmup.py in argument columns: i32 divisible by 16 -> i32, constexpr BLOCK: 1024 -> 32"
        in done.stderr
    )
    assert "silu_kernel benchmarked 2 configs" in done.stderr


def test_the_init_container_checks_the_moved_folder(image: Machine, tmp_path: Path) -> None:
    pod = (SERVING / "pod.yaml").read_text()
    (command,) = re.findall(r"command: (\[.*\])$", pod, re.MULTILINE)
    (image.root / "kernels").mkdir()
    step = image.run(shlex.join(json.loads(command)))
    assert step.returncode == 0, step.stdout + step.stderr
    shutil.move(image.root / "opt", tmp_path)
    try:
        variables = {"TRITON_CACHE_DIR": "/kernels", "TRITON_CACHE_AUTOTUNING": "1"}
        assert image.run("python service.py", **variables, **poison(image)).returncode == 0
    finally:
        shutil.move(tmp_path / "opt", image.root)


def test_the_page_shows_the_files() -> None:
    page = (ROOT / "docs" / "production.md").read_text()
    for name in ("Dockerfile", "pod.yaml", "warmup.py"):
        assert (SERVING / name).read_text() in page, name
