"""A diff in words, and by source line."""

from irscope.diff.rows import LineCountChange
from tests.diff.stages import diff_files, diff_texts, text_of
from tests.diff.test_stage_diff import matmul

ADD = "add_kernel.cuda-90.BLOCK_SIZE={},num_warps=4.triton-3.9.0.{}"


def test_summaries() -> None:
    ttir = diff_files(matmul("cuda-90", 64, 4, 3, "ttir"), matmul("cuda-90", 128, 4, 3, "ttir"))
    warps = diff_files(matmul("cuda-90", 128, 4, 3, "ttgir"), matmul("cuda-90", 128, 8, 3, "ttgir"))
    deeper = diff_files(matmul("cuda-90", 128, 4, 3, "ttgir"), matmul("cuda-90", 128, 4, 4, "ttgir"))
    text = text_of(matmul("cuda-90", 64, 4, 3, "ttir"))
    same = diff_texts(text, text, "mlir")

    assert same.summary == "equal"
    assert ttir.summary == "0 added, 0 removed, 53 shapes, 2 constants"
    assert warps.summary.startswith("0 added, 0 removed, 1 attribute, 3 layouts: ")
    assert "#mma warpsPerCTA [4, 1] -> [8, 1]" in warps.summary
    assert [diff.label for diff in (same, ttir, warps)] == ["=", "53 shapes", "3 layouts"]
    assert deeper.label.endswith(" -0")
    assert [diff.structural for diff in (same, ttir, warps, deeper)] == [False, False, True, True]


def test_by_source_line() -> None:
    diff = diff_files(ADD.format(256, "ptx"), ADD.format(1024, "ptx"))
    changes = diff.source_lines
    assert all(change.left != change.right for change in changes)
    loads = [change for change in changes if change.opcode.startswith("ld.global")]
    assert loads
    assert changes[0] in [change for change in changes if change.opcode.startswith(("ld", "st"))]
    totals = sum(change.right - change.left for change in changes)
    assert totals == sum(1 for op in diff.right.operations if op.location) - sum(
        1 for op in diff.left.operations if op.location
    )
    assert diff_files(ADD.format(256, "ptx"), ADD.format(256, "ptx")).source_lines == []
    assert isinstance(changes[0], LineCountChange)
