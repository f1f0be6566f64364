"""Every number in a finding equals a recount that shares nothing with irscope (tests/truth)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.exhaustive import EXHAUSTIVE
from tests.truth.numbers import Tally, recount_capture, recounted
from tests.truth.recount import Side

ROOT = Path(__file__).resolve().parents[2]
MATMUL = [
    f"{ROOT}/samples/matmul.py::matmul_kernel",
    "--signature", "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1",
    "--const", "BLOCK_N=64", "--const", "BLOCK_K=32", "--const", "GROUP_M=8",
]  # fmt: skip
SPECIALIZED = [
    f"{ROOT}/samples/warp_specialization.py",
    "--signature", "tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 128]>, tensordesc<fp16[64, 128]>, "
    "i32:16, i32:16, i32:16",
    "--const", "BLOCK_M=64", "--const", "BLOCK_N=128", "--const", "BLOCK_K=64",
    "--config", "STAGES=2,3", "--config", "WARP_SPECIALIZE=False,True",
    "--target", "cuda:90", "--target", "cuda:100",
]  # fmt: skip


def tally_of(irscope, folder, *words):
    """The recount of the findings of a capture that is compiled anew."""
    done = irscope("compile", *words, "-o", "numbers.irscope")
    assert done.returncode == 0, done.stderr
    tally = Tally()
    recount_capture(folder / "numbers.irscope", 6, tally)
    return tally


def test_the_numbers_of_a_stored_capture_are_recounted():
    tally = Tally()
    recount_capture(ROOT / "tests/data/captures/v1.irscope", 6, tally)
    assert tally.differences == []
    assert tally.parts > 20


@pytest.mark.slow
def test_the_numbers_of_findings_are_recounted(irscope, tmp_path):
    tally = tally_of(
        irscope, tmp_path, *MATMUL, "--config", "BLOCK_M=32,128", "--config", "num_stages=3",
        "--target", "cuda:90", "--target", "hip:gfx942",
    )  # fmt: skip
    assert tally.differences == []
    assert tally.parts > 50


@pytest.mark.slow
@pytest.mark.skipif(not EXHAUSTIVE, reason="tried in CI")
@pytest.mark.parametrize("words", [MATMUL, SPECIALIZED], ids=["matmul", "warp_specialization"])
def test_more_numbers_are_recounted(irscope, tmp_path, words):
    more = ["--config", "BLOCK_M=32,64,128", "--config", "num_stages=1,2,4"] if words is MATMUL else []
    tally = tally_of(irscope, tmp_path, *words, *more)
    assert tally.differences == []
    assert tally.parts > 100


PTX = """\
\t.loc\t1 7 5
\tst.shared.v2.b32 [%r1], {%r2, %r3};
\tldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1}, [%r2];
"""


def side(ptx):
    return Side("cuda:90", "f", {"shared": 1024}, {"ptx": ptx.encode()}, "")


@pytest.mark.parametrize("number", ["1", "2"])
def test_a_wrong_number_is_found(number):
    text = f"Shared memory loads of line 7 (x): none -> {number} x ldmatrix 16-byte"
    checks = recounted("shared load", text, side(""), side(PTX))
    assert checks is not None
    assert all(said == counted for said, counted in checks) == (number == "1")


def test_a_finding_with_numbers_that_no_checker_knows_is_an_error():
    assert recounted("moons", "B has 2 moons", side(PTX), side(PTX)) is None
    assert recounted("shared load", "Shared memory loads doubled 3 times", side(PTX), side(PTX)) is None
    assert recounted("moons", "B has moons", side(PTX), side(PTX)) == []


def test_the_recount_imports_nothing_that_it_checks():
    for name in ("recount", "occupancy", "llvm_loops", "loop_numbers", "matrix_paths"):
        text = (ROOT / f"tests/truth/{name}.py").read_text()
        assert not re.search(r"^(from|import) irscope", text, re.M)
