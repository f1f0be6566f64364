"""inline-assembly-lost: constraints of one vendor on the GPUs of the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Irscope

pytest.importorskip("triton")
pytestmark = pytest.mark.slow

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def power(x_ptr, y_ptr, B: tl.constexpr, TEXT: tl.constexpr, PLACES: tl.constexpr):
    o = tl.arange(0, B)
    x = tl.load(x_ptr + o)
    y = tl.inline_asm_elementwise(TEXT, PLACES, [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(y_ptr + o, y)
"""
PTX = ["--const", "TEXT=ex2.approx.ftz.f32 $0, $1;", "--const", "PLACES==f,f"]
AMD = ["--const", "TEXT=v_exp_f32 $0, $1", "--const", "PLACES==v,v"]


@pytest.mark.parametrize(
    ("words", "lost", "kept", "instruction"),
    [
        (PTX, "hip:gfx942", "cuda:90", "ex2.approx.ftz.f32"),
        (AMD, "cuda:90", "hip:gfx942", "v_exp_f32"),
    ],
)
def test_a_constraint_of_another_vendor(
    irscope: Irscope,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    lost: str,
    kept: str,
    instruction: str,
) -> None:
    # A compilation that is in Triton's cache prints nothing.
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "power.py").write_text(KERNEL)
    settings = ["--signature", "*fp32:16, *fp32:16", "--const", "B=256", *words]
    done = irscope("compile", "power.py", *settings, "--target", lost, "--target", kept, "-o", "x.irscope")
    if "constraint" in done.stdout + done.stderr:
        pytest.skip("this Triton fails to compile the kernel, and says why")
    assert done.returncode == 0, done.stderr
    (line,) = [one for one in irscope("lint", "x.irscope").stdout.splitlines() if "IRS212" in one]
    assert line.startswith("power.py:9:") or "/power.py:9:" in line
    assert f"{instruction} is not in the " in line
    assert "its results are undefined (the compiler reported: could not allocate output register" in line
    assert f"target={lost}" in line

    first, second = irscope("verdict", "x.irscope").stdout.split("\n\n")
    assert "is lost" in first
    assert "is lost" not in second
    for a, b, side in ((1, 2, "A"), (2, 1, "B")):
        text = irscope("diff", "x.irscope", f"#{a}", f"#{b}", "-n", "0").stdout
        finding = next(one for one in text.splitlines() if one.startswith("  1. "))
        assert finding.startswith(f"  1. {side} loses the inline assembly of line 9 (y = ")
