"""Every case of docs/gallery.md prints what the page shows, with the library's release that it names."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.learn.sample_commands import sample_file, written_command
from tests.docs.pages import ROOT, commands
from tests.docs.shell import Shell
from tests.docs.test_commands import check, needs_triton

PAGE = ROOT / "docs" / "gallery.md"
VERSIONS = "Triton 3.6 to 3.9"
NEEDS = list(dict.fromkeys(command.needs for command in commands(PAGE)))


@pytest.mark.slow
@needs_triton
@pytest.mark.parametrize("needs", NEEDS, ids=lambda needs: needs or "samples")
def test_case(needs: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    if needs == VERSIONS:
        prepare_versions(shell)
    elif needs:
        shell = replace(shell, packages=installed(needs, tmp_path / "packages"))
    folder = shell.prepare(PAGE)
    for command in commands(PAGE):
        if command.needs == needs:
            check(command, PAGE, shell, folder)


def installed(requirement: str, folder: Path) -> Path:
    """`folder` with a release of a library from PyPI, without its dependencies; skips if it cannot be had."""
    words = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), requirement]
    try:
        done = subprocess.run([sys.executable, *words], capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"pip did not finish installing {requirement}")
    if done.returncode:
        pytest.skip(f"pip cannot install {requirement}: {done.stderr[-200:].decode(errors='replace')}")
    return folder


def prepare_versions(shell: Shell) -> None:
    """Lets the commands use the versions of Triton in the user's cache folder; skips if they lack."""
    cache = Path.home() / ".cache" / "irscope"
    if not cache.is_dir():
        pytest.skip("irscope bisect has installed no version of Triton here yet")
    own = shell.scratch / "home" / ".cache"
    own.mkdir(parents=True)
    (own / "irscope").symlink_to(cache)


def test_every_case_has_a_command() -> None:
    text = PAGE.read_text(encoding="utf-8")
    cases = text.split("\n## ")[1:]
    assert len(cases) == 6
    for case in cases:
        assert "**Symptom.**" in case
        assert "**Command" in case
        assert "**Fix.**" in case
        assert "https://github.com/" in case
        assert "$ irscope " in case


def test_its_kernels_are_found_by_name() -> None:
    for path in (ROOT / "samples" / "gallery").glob("*.py"):
        assert sample_file(f"samples/gallery/{path.stem}") == path
        assert written_command(path)[0] == f"samples/gallery/{path.name}"
    assert sample_file("samples/serving/service") is None
    assert sample_file("samples/gallery/../matmul") is None
