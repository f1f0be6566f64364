"""shared-memory-order on kernels in Gluon that wait for their copies, or do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Irscope

pytest.importorskip("triton")

KERNELS = Path(__file__).parents[1] / "truth" / "events" / "gluon_kernels.py"


def test_reads_before_the_copies_are_complete(irscope: Irscope) -> None:
    words = ["--target", "cuda:80", "--signature", "*fp32:16, *fp32:16, i32:16", "-o", "rows.irscope"]
    words += ["--const", "B=512", "--const", "num_warps=4", "--config", "WRONG=0,3"]
    assert irscope("compile", f"{KERNELS}::copied_rows", *words).returncode == 0
    lines = irscope("lint", "rows.irscope", "--select", "shared-memory-order").stdout.splitlines()
    (report,) = [line for line in lines if "IRS311" in line]
    lines = KERNELS.read_text().split("\n")
    number = next(number for number, line in enumerate(lines, 1) if "tiles.index(step % 3).load" in line)
    assert f":{number}:" in report and "#2 WRONG=3 on cuda:80" in report
    assert "tiles[0] is read in iteration 0 of the kernel before the asynchronous copy of line " in report
