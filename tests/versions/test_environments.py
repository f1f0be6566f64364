"""Environments: made once, never half, and importing all that the running interpreter imports."""

import os
import subprocess
import sys
import threading
from importlib import metadata
from pathlib import Path

import pytest

from irscope.jobs.versions import packages
from irscope.jobs.versions.environments import VersionUnavailable, prepare
from irscope.jobs.versions.packages import Requirement, package_folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("IRSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "versions"


def installer(monkeypatch, script):
    """Replaces uv and pip by a script, which gets the folder as the argument after --target."""
    monkeypatch.setattr(packages, "_installers", lambda: [[sys.executable, "-c", script]])


REQUIREMENT = Requirement("triton==3.7.1", "triton/__init__.py")
WRITES = """
import pathlib, sys
folder = pathlib.Path(sys.argv[2]) / "triton"
folder.mkdir()
(folder / "__init__.py").write_text("__version__ = '3.7.1'")
with open(pathlib.Path(sys.argv[2]).parent / "calls", "a") as calls:
    calls.write("x")
"""


def fake_triton(folder, version="9.9.9"):
    (folder / "triton").mkdir(parents=True)
    (folder / "triton" / "__init__.py").write_text(f"__version__ = '{version}'\n")
    return folder


def printed(python, code, **environment):
    command = [python, "-c", code]
    done = subprocess.run(command, env=os.environ | environment, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.strip()


def test_the_version_of_this_interpreter_needs_no_environment(cache):
    environment = prepare(metadata.version("triton"))
    assert environment.python == Path(sys.executable)
    assert not cache.exists()


def test_an_environment_imports_its_triton_and_all_else_as_the_running_interpreter(tmp_path):
    environment = prepare(str(fake_triton(tmp_path / "built")))
    assert environment.triton == "9.9.9"
    code = "import triton, irscope, rapidfuzz; print(triton.__version__, irscope.__file__)"
    # Also if another Triton is on PYTHONPATH, which comes before site-packages.
    other = fake_triton(tmp_path / "other", "1.1.1")
    assert (
        printed(environment.python, code, PYTHONPATH=str(other)) == f"9.9.9 {sys.modules['irscope'].__file__}"
    )


def test_an_environment_is_made_once_also_by_several_at_a_time(cache, monkeypatch):
    installer(monkeypatch, WRITES)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(package_folder(REQUIREMENT, lambda _: None, print)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(found)) == 1
    assert (cache / "packages" / "calls").read_text() == "x"


@pytest.mark.parametrize(
    "script", ["import sys; sys.exit('error: no wheels')", WRITES + "\nsys.exit('killed')"]
)
def test_a_failed_installation_leaves_no_folder(cache, monkeypatch, script):
    installer(monkeypatch, script)
    with pytest.raises(VersionUnavailable):
        package_folder(REQUIREMENT, lambda _: None, print)
    assert [path for path in (cache / "packages").iterdir() if path.is_dir()] == []


def test_what_a_killed_process_left_is_removed(cache, monkeypatch):
    left = cache / "packages" / f"{REQUIREMENT.folder_name}.partold"
    left.mkdir(parents=True)
    installer(monkeypatch, WRITES)
    package_folder(REQUIREMENT, lambda _: None, print)
    assert not left.exists()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "error: Failed to fetch: https://index.example/triton/ dns error",
            "access to the package index",
        ),
        (
            "  cause: Because there is no version of triton==3.7.1 and so on",
            "there is no such version for Python",
        ),
        ("error: No space left on device (os error 28)", "cannot be installed (No space left on device"),
    ],
)
def test_a_version_that_cannot_be_had_is_one_line(monkeypatch, said, words):
    installer(monkeypatch, f"import sys; sys.exit({said!r})")
    with pytest.raises(VersionUnavailable) as error:
        package_folder(REQUIREMENT, lambda _: None, print)
    assert words in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("version", "ptxas", "words"),
    [
        ("x", None, "not a version such as 3.8.0"),
        ("3.5.1", None, "3.6 and later"),
        ("/nowhere", None, "neither a Python nor a folder with one"),
        ("3.9.0", "/nowhere/ptxas", "no such file"),
        ("3.9.0", sys.executable, "prints no version of ptxas"),
    ],
)
def test_wrong_versions_are_named(version, ptxas, words):
    with pytest.raises(VersionUnavailable, match=words):
        prepare(version, ptxas)


def test_a_cache_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("IRSCOPE_CACHE", str(tmp_path / "file"))
    with pytest.raises(VersionUnavailable, match="IRSCOPE_CACHE can name another folder"):
        package_folder(REQUIREMENT, lambda _: None, print)
