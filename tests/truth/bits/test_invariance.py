"""irscope says of twenty kernels whether the bits of a row depend on how many rows there are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import irscope
from tests.truth.bits.invariance import CASES

_ROOT = Path(__file__).resolve().parents[3]
_WORD = {True: "invariant", False: "not invariant"}


@pytest.mark.slow
def test_kernels_whose_rows_depend_on_their_number_or_not(tmp_path: Path) -> None:
    assert (len(CASES), sum(case.invariant for case in CASES)) == (20, 10)
    path = tmp_path / "rows.irscope"
    words = [
        "-m",
        "irscope",
        "run",
        "--target",
        "cuda:90",
        "-o",
        str(path),
        "-m",
        "tests.truth.bits.invariance",
    ]
    subprocess.run(
        [sys.executable, *words], env=os.environ | {"TRITON_DEFAULT_FP_FUSION": "1"}, cwd=_ROOT, check=True
    )
    with irscope.open(path) as capture:
        answers = {case.name: capture.bits(case.name, invariant=case.vary) for case in CASES}
    said = {
        name: [bits.invariance.answer for bits in every if bits.invariance] for name, every in answers.items()
    }
    assert said == {case.name: [_WORD[case.invariant]] for case in CASES}
    for every in answers.values():
        assert all(difference.reasons for bits in every for difference in bits.invariance.differences)
