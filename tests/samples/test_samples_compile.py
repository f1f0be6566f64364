"""Every sample compiles on the command line, without a GPU, for all of its targets."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from irscope.model import Value, Variant, format_value
from irscope.store import CaptureReader
from tests.conftest import Irscope

from .cases import CASES, Case

SAMPLES = Path(__file__).parents[2] / "samples"
# Compiled for under every config; the others, outside of CI, under the first config.
MAIN_TARGET = "cuda:90"


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file}-{case.kernel}-{case.signature[-9:]}")
def test_sample_compiles_for_its_targets(irscope: Irscope, tmp_path: Path, case: Case):
    path = tmp_path / "s.irscope"
    others = [target for target in case.targets if target != MAIN_TARGET]
    if os.environ.get("CI") or MAIN_TARGET not in case.targets:
        compile_sample(irscope, case, case.config.items(), case.targets)
    else:
        compile_sample(irscope, case, case.config.items(), [MAIN_TARGET])
        first = variants_of(path)[0].config
        axes = [(name, [value]) for name, value in first.values if name not in case.const]
        compile_sample(irscope, case, axes, others)
    variants = variants_of(path)
    assert {str(variant.target) for variant in variants} == set(case.targets)
    for variant in variants:
        assert {"ttgir", "llir"} <= set(variant.artifacts)
        assert ("ttir" in variant.artifacts) != case.file.startswith("gluon")
        assert variant.artifacts.keys() & {"cubin", "hsaco"}


def compile_sample(
    irscope: Irscope, case: Case, axes: Iterable[tuple[str, list[Value]]], targets: list[str]
) -> None:
    """Adds the product of `axes` for each target to s.irscope."""
    words = [f"{SAMPLES / case.file}::{case.kernel}", "--signature", case.signature]
    for name, values in axes:
        words += ["--config", f"{name}={','.join(map(format_value, values))}"]
    for name, value in case.const.items():
        words += ["--const", f"{name}={format_value(value)}"]
    for target in targets:
        words += ["--target", target]
    done = irscope("compile", *words, "--resume", "-o", "s.irscope")
    assert done.returncode == 0, done.stdout + done.stderr


def variants_of(path: Path) -> list[Variant]:
    with CaptureReader(path) as capture:
        return list(capture.variants())
