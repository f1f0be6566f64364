"""Every command in README.md and docs/ prints the shown output, run in a folder with the samples."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, Command, commands, fits
from tests.docs.shell import Shell, runs_here, shows_commands


def triton_version() -> str:
    try:
        return version("triton")
    except PackageNotFoundError:
        return ""


needs_triton = pytest.mark.skipif(
    not triton_version().startswith("3.9."), reason="the docs show what Triton 3.9 makes"
)


@pytest.fixture(scope="session")
def shell(run_folder: Path) -> Shell:
    folder = run_folder / "docs"
    folder.mkdir(exist_ok=True)
    return Shell(folder)


@pytest.mark.slow
@needs_triton
@pytest.mark.parametrize(
    "page", filter(shows_commands, PAGES), ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_page(page: Path, shell: Shell) -> None:
    folder = shell.prepare(page)
    for command in filter(runs_here, commands(page)):
        check(command, page, shell, folder)


def check(command: Command, page: Path, shell: Shell, folder: Path) -> None:
    """Fails with the output; `python docs/scripts/refresh_outputs.py` writes it into the page."""
    done = shell.run(command.text, folder)
    printed = shell.printed(done)
    where = f"{page.relative_to(ROOT)}:{command.line}: $ {command.text}\n{printed}"
    assert done.returncode == command.exit_code, f"exit code {done.returncode}: {where}"
    assert command.output is None or fits(command.output, printed.splitlines()), (
        f"prints something else: {where}"
    )


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("a\nb", "a\nb", True),
        ("a", "a\nb", False),
        ("a\n...", "a\nb", True),
        ("...\nb", "a\nb", True),
        ("a\n...\nc\n...\ne", "a\nb\nc\nd\ne", True),
        ("a\n...\nd\n...\nc\n...", "a\nb\nc\nd\ne", False),
        ("a\n  ...\nb", "a\nb", True),
        ("a\n...\na", "a", False),
        ("made in 4.2 s", "made in 13 s", True),
        ("registers 128", "registers 129", False),
        ("a ... c", "a b c", True),
        ("report.html: 162,300 bytes", "report.html: 150,001 bytes", True),
        ("report.html: 162,300 bytes", "report.html: 3,634,651 bytes", False),
        ("report.html: ... bytes", "report.html: 3,634,651 bytes", True),
    ],
)
def test_fits(shown: str, printed: str, expected: bool) -> None:
    assert fits(shown.splitlines(), printed.splitlines()) is expected
