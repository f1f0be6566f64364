"""Lines that begin a block or a region of an operation differ if their arguments do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import irscope
from irscope.diff.rows import Change, LineCountChange, StageDiff
from irscope.model import Dtype
from irscope.tui.pair_state import PairState
from irscope.workspace import Detail, Workspace
from tests.diff.stages import diff_files, diff_texts, text_of
from tests.diff.test_stage_diff import matmul

SPECIALIZED = "specialized_matmul_kernel.cuda-90.STAGES=2,WARP_SPECIALIZE=True.triton-3.9.0.ttgir"


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Iterator[Workspace]:
    pytest.importorskip("triton")
    from tests.diff.loop_kernels import summed

    path = tmp_path_factory.mktemp("labels") / "summed.irscope"
    config = {"DTYPE": [Dtype("fp16"), Dtype("fp32")], "BLOCK": [128, 256]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache))
        irscope.compile(summed, path, "*fp32:16, *fp32:16, i32", config=config).close()
    with Workspace(path) as workspace:
        yield workspace


def labels(diff: StageDiff, start: str = "^bb") -> list[tuple[str, str, Change]]:
    """The pairs of lines that begin with `start`, and how they differ."""
    pairs = [row for row in diff.rows if row.left is not None and row.right is not None]
    lines = [(diff.left.lines[row.left].strip(), diff.right.lines[row.right].strip(), row) for row in pairs]
    return [(a, b, row.change) for a, b, row in lines if a.startswith(start) and b.startswith(start)]


@pytest.mark.parametrize("stage", ["ttir", "ttgir"])
def test_another_element_type_and_another_size_of_block_arguments(capture: Workspace, stage: str) -> None:
    half, half_256, single = (capture.live.by_id(number) for number in (1, 2, 3))
    types = labels(capture.compare(half, single).stages[stage])
    assert ["f16" in a and "f32" in b for a, b, _ in types] == [True, True]
    assert [change for _, _, change in types] == [Change.TYPE, Change.TYPE]
    loop, reduction = labels(capture.compare(half, half_256).stages[stage])
    assert loop[2] is Change.SHAPE
    assert reduction[2] is Change.EQUAL


def test_the_app_marks_them(capture: Workspace) -> None:
    pair = PairState(capture, capture.live.by_id(1), capture.live.by_id(3))
    _ = pair.workspace.diff(pair.a, pair.b, "ttir")
    page = pair.page("ttir", Detail.REAL)
    marked = [page.text(row, True) for row in page.rows if row.change and page.text(row, True)]
    assert len([text for text in marked if text.strip().startswith("^bb0(")]) == 2


@pytest.mark.parametrize(
    ("old", "new"), [("%arg", "%other"), ("kernels.py", "moved.py"), ("#shared1", "#shared9")]
)
def test_names_and_locations_are_no_difference(old: str, new: str) -> None:
    left = text_of(SPECIALIZED)
    found = labels(diff_texts(left, left.replace(old, new), "mlir"), "partition")
    assert any(a != b for a, b, _ in found)
    assert not [change for *_, change in found if change]


def test_the_warps_of_a_partition() -> None:
    left = text_of(SPECIALIZED)
    right = left.replace("num_warps(4) {", "num_warps(8) {", 1)
    assert left != right
    changes = [change for *_, change in labels(diff_texts(left, right, "mlir"), "partition") if change]
    assert changes == [Change.CONSTANT]


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
