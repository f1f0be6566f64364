"""`irscope run --passes`, posing as a device and on a stand-in for a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from irscope.store import CaptureReader
from tests.conftest import Irscope
from tests.record import programs

pytest.importorskip("torch")
pytestmark = pytest.mark.slow


def passes_of(path: Path) -> dict[str, int]:
    """How many passes each compiled variant has."""
    with CaptureReader(path) as capture:
        return {str(v.id): len(capture.passes(v)) for v in capture.variants() if v.failure is None}


def test_without_a_gpu(irscope: Irscope, tmp_path: Path):
    (tmp_path / "script.py").write_text(programs.ORDINARY)
    done = irscope("run", "--target", "cuda:80", "--passes", "script.py", "--kernel", "7")
    assert done.returncode == 7, done.stderr
    counts = passes_of(tmp_path / "script.irscope")
    assert counts
    assert min(counts.values()) > 50


def test_on_a_gpu_the_program_notices_nothing(tmp_path: Path):
    # A cache that has everything: the passes run all the same.
    for _ in range(2):
        (tmp_path / "w.irscope").unlink(missing_ok=True)
        done = subprocess.run(
            [
                sys.executable, "-W", "ignore", Path(__file__).with_name("watched.py"),
                tmp_path / "w.irscope", "--passes",
            ],
            env=os.environ | {"TRITON_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[0] == "as always"
        assert done.stderr == ""
        assert min(passes_of(tmp_path / "w.irscope").values()) > 50
