"""`irscope compile FOLDER` and `irscope versions FOLDER`."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from irscope.compiling.folder import folder_kernels
from irscope.model import UserError
from irscope.store import CaptureReader
from tests.conftest import Irscope

FOLDER = {
    "add.py": """
import triton
import triton.language as tl
from triton import jit

@triton.jit
def _double(x):
    return x + x

@jit
def _store(p, x):
    tl.store(p, x)

@jit
def add(p, N: tl.constexpr):
    _store(p + tl.arange(0, N), _double(1.0))
""",
    "sub/tuned.py": """
import triton
import triton.language as tl

@triton.autotune([triton.Config({"N": 64}), triton.Config({"N": 128})], key=[])
@triton.jit
def tuned(p, N: tl.constexpr):
    tl.store(p + tl.arange(0, N), 1)
""",
    "exits.py": """
import os
import triton
os._exit(3)

@triton.jit
def never(p):
    pass
""",
    "setup.py": "raise SystemExit('a file without kernels is not executed')",
    "broken.py": "def (",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FOLDER.items():
        file = tmp_path / "kernels" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "kernels"


def test_the_kernels_of_a_folder_are_found_without_executing_it(folder: Path, tmp_path: Path) -> None:
    assert folder_kernels(folder) == [
        (folder / "add.py", "add"),
        (folder / "exits.py", "never"),
        (folder / "sub/tuned.py", "tuned"),
    ]
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"no file in it has a @triton.jit kernel"):
        folder_kernels(tmp_path / "empty")


@pytest.mark.slow
@pytest.mark.parametrize("words", [("compile", "kernels", "-j", "1"), ("versions", "kernels")])
def test_every_kernel_of_a_folder_compiles_with_guesses(
    irscope: Irscope, tmp_path: Path, folder: Path, words: tuple[str, ...]
) -> None:
    command, *_ = words
    assert "kernels is a folder: add --guess" in irscope(*words).stderr
    own = ("--triton", importlib.metadata.version("triton")) if command == "versions" else ()
    done = irscope(*words, *own, "--guess")
    assert "kernels/exits.py: the compiler ended its process with exit code 3" in done.stderr
    capture = "kernels.irscope" if command == "compile" else "kernels-versions.irscope"
    with CaptureReader(tmp_path / capture) as reader:
        compiled = [(variant.kernel.name, variant.config.get("N")) for variant in reader.variants()]
    assert sorted(compiled) == [("add", None), ("tuned", 64), ("tuned", 128)]
