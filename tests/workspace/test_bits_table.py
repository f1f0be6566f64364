"""Each row of the table in docs/commands/bits.md holds for a kernel that is compiled here.

The rows are read from the page, so that it cannot say anything else than what was proved.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from irscope.interpreting.bits.classes import classify
from irscope.model.records import varying_keys
from irscope.workspace import Workspace

PAGE = Path(__file__).parents[2] / "docs" / "commands" / "bits.md"
HEADING = "## What changes bits, and what does not"

# What each row is proved with: the kernel, the choices in which its configs differ, and the kinds of the
# reasons that irscope gives.
PROOFS: dict[str, tuple[str, set[str], set[str]]] = {
    "block sizes of a product": ("tiles", {"BM", "BN", "BK"}, set()),
    "`num_stages`": ("pipelined", {"num_stages"}, set()),
    "order of the programs of a grid": ("ordered", {"COLUMNS_FIRST"}, set()),
    "block sizes of an `int8` product": ("integers", {"BM", "BN", "BK"}, set()),
    "precision of an `fp32` product, `tf32` or `ieee`": ("precisions", {"PRECISION"}, {"product"}),
    "type of the accumulator of a product": ("accumulator", {"ACCUMULATOR"}, {"product"}),
    "`SPLIT_K`, 1 or 2": ("split_k", {"SPLIT_K"}, {"split"}),
    "`num_warps` of a product with 2 atomic additions to each element": ("split_in_2", {"num_warps"}, set()),
    "`num_warps` of a product with 4 atomic additions to each element": (
        "split_in_4",
        {"num_warps"},
        {"atomics"},
    ),
    "block size and `num_warps` of an element-wise kernel": ("swish", {"BLOCK", "num_warps"}, set()),
    "`enable_fp_fusion`": ("multiply_add", {"enable_fp_fusion"}, {"fusion"}),
    "rounding of a cast": ("cast", {"ROUNDING"}, {"cast"}),
    "`num_warps` of a row sum": ("row_sum", {"num_warps"}, {"sum"}),
    "`num_warps` of a sum of integers": ("integer_sum", {"num_warps"}, set()),
    "`num_warps` of a maximum": ("row_maximum", {"num_warps"}, set()),
    "block size of a looped sum": ("looped_sum", {"BLOCK"}, {"loop", "sum"}),
    "`BLOCK_N` of an online softmax": ("online_softmax", {"BLOCK_N"}, {"loop", "sum"}),
}


def table_rows() -> dict[str, str]:
    """Return the first two cells of each row of the table: the choice, and what it does to bits."""
    section = PAGE.read_text().partition(HEADING)[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    return {choice: bits for choice, bits, _ in cells}


ROWS = table_rows()


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Iterator[Workspace]:
    path = tmp_path_factory.mktemp("table") / "table.irscope"
    program = Path(__file__).parent / "bits_table_program.py"
    words = ["-m", "irscope", "run", "--target", "cuda:90", "-o", str(path), str(program)]
    environment = {"TRITON_CACHE_DIR": str(triton_cache), "TRITON_DEFAULT_FP_FUSION": "1"}
    subprocess.run([sys.executable, *words], env=os.environ | environment, check=True, timeout=600)
    with Workspace(path) as workspace:
        yield workspace


@pytest.mark.parametrize("choice", ROWS)
def test_the_page_says_what_a_choice_does_to_bits(opened: Workspace, choice: str):
    kernel, choices, kinds = PROOFS[choice]
    variants = opened.select(kernel)
    assert set(varying_keys(variant.settings for variant in variants)) == choices
    # `Workspace.bits` compares no two variants whose flags differ, as a precision, unless they were timed.
    evaluations = {variant.id: opened.evaluations.of(variant, variant.launches[0]) for variant in variants}
    answer = classify(evaluations)
    assert not answer.unknown
    repeatable = all(item.repeatable for item in answer.classes)
    if ROWS[choice] == "same":
        assert len(answer.classes) == 1 and repeatable
    else:
        assert ROWS[choice] == ("differ" if repeatable else "not repeatable")
        assert len(answer.classes) == len(variants)
    assert {reason.kind for item in answer.differences for reason in item.reasons} == kinds


@pytest.mark.parametrize("choice", ROWS)
def test_a_pair_has_a_finding_for_each_reason_and_none_if_its_bits_are_the_same(
    opened: Workspace, choice: str
):
    kernel, _, kinds = PROOFS[choice]
    reasons = set()
    for a, b in combinations(opened.select(kernel), 2):
        pair = opened.compare(a, b)
        if pair.duplicate:
            continue
        found = [finding.text for finding in pair.findings if finding.kind == "bits"]
        assert pair.bits is not None and pair.bits.same is (ROWS[choice] == "same")
        # Two configs that add alike in an undefined order do not differ from each other.
        assert bool(found) is (ROWS[choice] == "differ")
        assert len(found) == max(len(pair.bits.reasons), bool(found))
        assert bool(pair.bits_text) is not bool(found)
        reasons |= {reason.kind for reason in pair.bits.reasons}
    assert reasons == kinds - {"atomics"}


@pytest.mark.parametrize(
    ("kernel", "a", "b", "lines"),
    [
        ("layer_norm", 0, 1, ["mean = tl.sum(", "scale = 1 / tl.sqrt(tl.sum("]),
        ("layer_norm", 0, 2, ["squares += value * value", "tl.store(y + row + columns, value * "]),
        ("scaled", 0, 1, []),
        ("scaled", 1, 2, ["total = total * factor + "]),
    ],
)
def test_findings_name_the_lines_that_decide(
    opened: Workspace, kernel: str, a: int, b: int, lines: list[str]
):
    variants = opened.select(kernel)
    pair = opened.compare(variants[a], variants[b])
    assert pair.bits is not None and pair.bits.same is not bool(lines)
    for finding, line in zip(pair.bits.findings, lines, strict=True):
        number = next(
            number
            for number, text in enumerate(pair.b.kernel.source.text.splitlines(), pair.b.kernel.source.line)
            if text.strip().startswith(line)
        )
        assert finding.text.startswith(f"Results of line {number} ({line}")
    # Changed results come first.
    assert [finding.kind for finding in pair.findings[: len(lines)]] == ["bits"] * len(lines)


def test_each_proof_is_a_row():
    assert ROWS.keys() == PROOFS.keys()
