"""A working folder with modules of somebody else: no command of irscope imports any of them."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import irscope
from irscope.compiling.processes.child_process import irscope_command, module_command
from irscope.compiling.toolchain.local_keys import local_keys
from irscope.jobs.versions import packages
from irscope.jobs.versions.environments import _check_import
from irscope.jobs.versions.packages import interpreter

PACKAGE = Path(irscope.__file__).parent
# Packages and modules of the standard library that commands and their children import.
THEIRS = ("irscope", "pip", "uv", "triton", "torch", "numpy", "json", "runpy", "argparse", "pathlib", "site")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder whose modules write a file when they are executed."""
    folder = tmp_path / "theirs"
    for name in THEIRS:
        (folder / name).mkdir(parents=True)
        for file in ("__init__.py", "__main__.py"):
            (folder / name / file).write_text(f"open({str(tmp_path / 'executed')!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(autouse=True)
def _nothing_executed(tmp_path: Path) -> object:
    yield
    assert not (tmp_path / "executed").exists(), (tmp_path / "executed").read_text()


@pytest.mark.usefixtures("folder")
def test_irscope_starts_itself_without_the_working_folder() -> None:
    done = subprocess.run(irscope_command("--version"), capture_output=True, text=True, check=True)
    assert done.stdout.startswith("irscope ")


@pytest.mark.usefixtures("folder")
def test_modules_of_other_packages_start_without_the_working_folder() -> None:
    words = [*module_command(sys.executable, "json.tool"), "--compact"]
    done = subprocess.run(words, input='{"a": 1}', capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"a": 1}


@pytest.mark.usefixtures("folder")
def test_installers_start_without_the_working_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages.shutil, "which", lambda _: None)
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda _: object())
    for command in packages._installers():
        words = [*command, "--help"]  # an environment may lack pip or uv
        subprocess.run(words, capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_a_version_of_triton_is_imported_without_the_working_folder() -> None:
    triton = pytest.importorskip("triton")
    _check_import(Path(triton.__file__).parents[1], triton.__version__)
    assert local_keys(["cuda:90"]).version == triton.__version__


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_an_interpreter_of_another_triton_imports_nothing_of_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRSCOPE_VERSIONS", str(tmp_path / "versions"))
    monkeypatch.setenv("IRSCOPE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "package").mkdir()
    python = interpreter("x", tmp_path / "package")
    subprocess.run([python, "-I", "-c", "import json, irscope"], check=True)


@pytest.mark.slow
def test_a_lesson_runs_its_program_without_the_working_folder(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    environment = os.environ | {"IRSCOPE_LESSONS": str(tmp_path / "lessons")}
    words = irscope_command("learn", "21", "--text")
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_line_for_python_leaves_the_working_folder_out() -> None:
    """`python -m` and `python -c` search it first: only `child_process` and isolated ones (-I) use them."""
    problems = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.List | ast.Tuple):
                words = [ast.unparse(element) for element in node.elts]
                uses_python = any("executable" in word or "python" in word.lower() for word in words)
                if uses_python and {"'-m'", "'-c'"} & set(words) and "'-I'" not in words:
                    problems.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {', '.join(words)}")
    known = {"compiling/processes/child_process.py", "jobs/versions/environments.py"}
    known.add("jobs/reproduce/sanitizers.py")  # runs the reproducer of the folder that it is in
    known.add("recording/main_module.py")  # not a command: the program's `sys.orig_argv`
    assert {line.partition(":")[0] for line in problems} == known, problems
