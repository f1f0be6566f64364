"""Every command that README.md and docs/ show does what they say, run in a folder with the samples."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, Command, commands, files, fits, setups

MATMUL = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1"
SIZES = "--config BLOCK_SIZE=256,1024 --config num_stages=2,3"
ADD = f"irscope compile samples/vector_add.py {SIZES} -o add.irscope"
POINTERS = "*fp32:16, *fp32:16, *fp32:16"
# What a page may name as its set-up: the file it makes, and how.
SETUPS = {
    "matmul": (
        "matmul.irscope",
        f'irscope compile samples/matmul.py --signature "{MATMUL}" -o matmul.irscope',
    ),
    "layout": (
        "matmul.irscope",
        f'irscope compile samples/matmul.py --signature "{MATMUL}" -o matmul.irscope '
        "--target cuda:80 --target cuda:90 --target cuda:100 --target hip:gfx942 --config BLOCK_M=64 "
        "--config BLOCK_N=64,128 --config BLOCK_K=32 --config num_warps=4 --config num_stages=3",
    ),
    "add": (
        "add.irscope",
        f'{ADD} --signature "{POINTERS}, i32:16" && {ADD} --signature "{POINTERS}, i32" --resume',
    ),
    "swept": (
        "matmul.irscope",
        f'irscope compile samples/matmul.py --signature "{MATMUL}" -o matmul.irscope --config BLOCK_M=64 '
        "--config BLOCK_N=256 --config BLOCK_K=64 --config num_warps=2,4 --config num_stages=2,8",
    ),
    # The samples with two mistakes.
    "kernels": (
        "kernels",
        "mkdir kernels && sed 's/^@triton.jit$/@triton.jit(do_not_specialize=[\"n\"])/' "
        "samples/vector_add.py > kernels/vector_add.py && "
        "sed '/def grid(META/,/^$/c\\    grid = (triton.cdiv(M, 128) * triton.cdiv(N, 128),)\\n' "
        "samples/matmul.py > kernels/matmul.py",
    ),
}
# What a block may need, and whether it is here; what never is has tests of its own.
NEEDS: dict[str, Callable[[], bool]] = {
    "torch": lambda: find_spec("torch") is not None,
    "the app": lambda: False,  # tests/tui
    "another triton": lambda: False,  # tests/cli/test_diff_captures.py; make test-triton
    "your files": lambda: False,  # placeholders, of no repository
    "the network": lambda: False,
    "this machine": lambda: False,  # prints what is installed here; tests/cli
}


def triton_version() -> str:
    try:
        return version("triton")
    except PackageNotFoundError:
        return ""


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not triton_version().startswith("3.9."), reason="the docs show what Triton 3.9 makes"),
]
Shell = Callable[[str, Path], "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """Runs a line in a folder as a user does in a pipe or a script: no terminal, no settings."""
    home = tmp_path_factory.mktemp("home")
    environment = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
    environment |= {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONIOENCODING": "utf-8",
        "PYTHONWARNINGS": "ignore",  # of Triton and torch, which differ by version
    }

    def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", line],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=600,
            check=False,
        )

    return run


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory, shell: Shell) -> Callable[[str, Path], None]:
    """Puts the file of a set-up into a folder; each is made once."""
    made: dict[str, Path] = {}

    def put(name: str, folder: Path) -> None:
        file, line = SETUPS[name]
        if name not in made:
            where = with_samples(tmp_path_factory.mktemp(name))
            done = shell(line, where)
            assert done.returncode == 0, done.stdout
            made[name] = where / file
        if made[name].is_dir():
            shutil.copytree(made[name], folder / file)
        else:
            shutil.copyfile(made[name], folder / file)

    return put


def with_samples(folder: Path) -> Path:
    shutil.copytree(ROOT / "samples", folder / "samples", ignore=shutil.ignore_patterns(".*", "__*"))
    return folder


def shows_commands(page: Path) -> bool:
    return any(not command.needs or NEEDS[command.needs]() for command in commands(page))


@pytest.mark.parametrize(
    "page", filter(shows_commands, PAGES), ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_page(page: Path, tmp_path: Path, shell: Shell, setup: Callable[[str, Path], None]) -> None:
    folder = with_samples(tmp_path)
    for name in setups(page):
        setup(name, folder)
    for name, text in files(page):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for command in commands(page):
        if not command.needs or NEEDS[command.needs]():
            check(command, page, shell(command.text, folder), folder)


def check(command: Command, page: Path, done: subprocess.CompletedProcess[str], folder: Path) -> None:
    """Fails with what was printed, to be pasted into the page where it is right."""
    # As if the folder, or that in which its set-up was made, were the one that the reader is in.
    printed = re.sub(rf"{re.escape(str(folder.parent))}/[^/\s]+/", "", done.stdout)
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
    ],
)
def test_fits(shown: str, printed: str, expected: bool) -> None:
    assert fits(shown.splitlines(), printed.splitlines()) is expected
