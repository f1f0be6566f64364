"""warp-specialization-ignored on kernels compiled for cuda:90, whose loops are split or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.learn.sample_commands import samples_folder
from tests.conftest import Irscope

pytest.importorskip("triton")

NESTED = Path(__file__).parents[1] / "findings" / "nested_loop_kernels.py"
POINTERS = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16"
TILE = ["--const", "BLOCK_M=128", "--const", "BLOCK_N=128", "--const", "BLOCK_K=64"]
CODE = "IRS211 warp-specialization-ignored"


def line_of(path: Path, text: str) -> int:
    lines = path.read_text().split("\n")
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_a_flattened_loop_that_is_not_split(irscope: Irscope, tmp_path: Path) -> None:
    words = ["--signature", POINTERS, *TILE, "--config", "FLATTEN=True,False", "-o", "nested.irscope"]
    assert irscope("compile", str(NESTED), *words).returncode == 0
    assert "ttg.warp_specialize" not in irscope("show", "nested.irscope", "#1", "--stage", "ttgir").stdout
    assert "ttg.warp_specialize" in irscope("show", "nested.irscope", "#2", "--stage", "ttgir").stdout
    (line,) = [one for one in irscope("lint", "nested.irscope").stdout.splitlines() if CODE in one]
    number = line_of(NESTED, "flatten=FLATTEN")
    assert f":{number}:5: {CODE}: the warp specialization requested at line {number} of persistent" in line
    assert line.endswith(
        "has no effect on cuda:90 in 1 of 2 variants, whose TTGIR has no ttg.warp_specialize: #1 FLATTEN=True"
    )
    points = [irscope("verdict", "nested.irscope", name).stdout for name in ("#1", "#2")]
    assert ["warp specialization requested at line" in text for text in points] == [True, False]


def test_a_loop_without_the_request_and_one_that_is_split(irscope: Irscope) -> None:
    sample = samples_folder() / "warp_specialization.py"
    signature = (
        "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 128]>, tensordesc<fp16[64, 128]>, i32, i32, i32"
    )
    blocks = ["--const", "BLOCK_M=64", "--const", "BLOCK_N=128", "--const", "BLOCK_K=64"]
    axes = ["--config", "STAGES=3", "--config", "WARP_SPECIALIZE=False,True", "-o", "split.irscope"]
    done = irscope("compile", str(sample), "--signature", signature, *blocks, *axes)
    assert done.returncode == 0, done.stderr
    assert CODE not in irscope("lint", "split.irscope").stdout


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
