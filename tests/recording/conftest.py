"""Programs that several tests look at, each run only once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.recording import programs


class Recorded(NamedTuple):
    """A finished program, the capture of its run and the Triton cache that it filled."""

    done: subprocess.CompletedProcess[str]
    capture: Path
    cache: Path


def run_program(folder: Path, capture: str, cache: Path, *words: str | Path, **environment: str) -> Recorded:
    """Runs Python with these words in `folder`, where it writes the capture."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder, env=os.environ | {"TRITON_CACHE_DIR": str(cache)} | environment,
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    return Recorded(done, folder / capture, cache)


@pytest.fixture(scope="session")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """`irscope run --passes` of programs.ORDINARY, with arguments that look like irscope's own."""
    folder = tmp_path_factory.mktemp("ordinary")
    (folder / "script.py").write_text(programs.ORDINARY)
    words = ("-m", "irscope", "run", "--target", "cuda:80", "--passes", "script.py", "--kernel", "7")
    return run_program(folder, "script.irscope", folder / "cache", *words)


def run_gpu_program(folder: Path, cache: Path, *words: str) -> Recorded:
    """Runs gpu_program.py, which writes gpu.irscope."""
    program = Path(__file__).with_name("gpu_program.py")
    return run_program(folder, "gpu.irscope", cache, "-W", "ignore", program, "gpu.irscope", *words)


@pytest.fixture(scope="session")
def gpu_program(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """gpu_program.py with a cold cache."""
    folder = tmp_path_factory.mktemp("gpu-program")
    return run_gpu_program(folder, folder / "cache")
