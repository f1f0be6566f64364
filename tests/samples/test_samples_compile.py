"""Every sample compiles on the command line, without a GPU, for all of its targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.model import format_value
from irscope.store import Capture
from tests.conftest import Irscope

from .cases import CASES, Case

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file}-{case.kernel}-{case.signature[-9:]}")
def test_sample_compiles_for_its_targets(irscope: Irscope, tmp_path: Path, case: Case):
    words = [f"{SAMPLES / case.file}::{case.kernel}", "--signature", case.signature, "-o", "s.irscope"]
    for name, values in case.config.items():
        words += ["--config", f"{name}={','.join(map(format_value, values))}"]
    for name, value in case.const.items():
        words += ["--const", f"{name}={format_value(value)}"]
    for target in case.targets:
        words += ["--target", target]
    done = irscope("compile", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    with Capture(tmp_path / "s.irscope") as capture:
        variants = capture.variants()
    assert {str(variant.target) for variant in variants} == set(case.targets)
    for variant in variants:
        assert {"ttir", "ttgir", "llir"} <= set(variant.artifacts)
        assert variant.artifacts.keys() & {"cubin", "hsaco"}
