"""`irscope run --passes`, without a GPU and on a stub of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.store import CaptureReader
from tests.recording.conftest import Recorded, run_gpu_program

pytest.importorskip("torch")
pytestmark = pytest.mark.slow


def pass_counts(path: Path) -> list[int]:
    """The number of passes of each variant that compiled."""
    with CaptureReader(path) as capture:
        return [len(capture.passes(variant)) for variant in capture.variants() if variant.failure is None]


def test_without_a_gpu_every_variant_has_its_passes(ordinary: Recorded):
    assert min(pass_counts(ordinary.capture)) > 50


def test_on_a_gpu_passes_run_even_if_the_cache_has_the_kernels(gpu_program: Recorded, tmp_path: Path):
    done, capture, _ = run_gpu_program(tmp_path, gpu_program.cache, "--passes")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "the program caught its error"
    assert done.stderr == ""
    assert min(pass_counts(capture)) > 50
