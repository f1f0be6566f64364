"""The rule about float64, on a kernel that gets one float64 tensor among float32 ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Irscope

PROGRAM = """
import triton
import triton.language as tl


@triton.jit
def center(x_ptr, mean_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    mean = tl.load(mean_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x - mean, mask=at < n)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("types", "reported"),
    [
        ("*fp32, *fp64, *fp32, i32", True),
        ("*fp32, *fp32, *fp32, i32", False),
        ("*fp64, *fp64, *fp64, i32", False),
    ],
)
def test_arithmetic_in_float64_that_is_not_stored(
    irscope: Irscope, tmp_path: Path, types: str, reported: bool
) -> None:
    (tmp_path / "center.py").write_text(PROGRAM)
    settings = ["--signature", types, "--const", "BLOCK=256", "--target", "cuda:90", "-o", "x.irscope"]
    done = irscope("compile", "center.py", *settings)
    assert done.returncode == 0, done.stderr
    found = [line for line in irscope("lint", "x.irscope").stdout.splitlines() if "IRS214" in line]
    assert len(found) == reported
    (tmp_path / "center.py").write_text(PROGRAM.replace("x - mean", "(x.to(tl.float64) - mean)"))
    assert irscope("compile", "center.py", *settings, "--force").returncode == 0
    assert "IRS214" not in irscope("lint", "x.irscope").stdout  # on purpose
    if found:
        assert "center.py:11:" in found[0] and "computes in float64 at line 11" in found[0]
