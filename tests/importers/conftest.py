"""A real cache and dump, and the capture of the compilations that filled them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

PLAIN = Path(__file__).parents[1] / "compiling" / "plain.py"


class Compiled(NamedTuple):
    cache: Path
    dump: Path
    capture: Path


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    folder = tmp_path_factory.mktemp("compiled")
    made = Compiled(folder / "cache", folder / "dump", folder / "made.irscope")
    environment = {
        "TRITON_CACHE_DIR": str(made.cache),
        "TRITON_KERNEL_DUMP": "1",
        "TRITON_DUMP_DIR": str(made.dump),
    }
    words = ["--signature", "*fp16:16, i32:16, fp32", "--target", "cuda:90", "--target", "hip:gfx942"]
    subprocess.run(
        [sys.executable, "-m", "irscope", "compile", f"{PLAIN}::scale", *words, "-o", str(made.capture)],
        env=os.environ | environment,
        check=True,
        capture_output=True,
        timeout=300,
    )
    return made
