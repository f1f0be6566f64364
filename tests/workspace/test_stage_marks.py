"""Marks of a stage's lines: the hot loop in every stage, matrix instructions, spills, register pressure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from irscope.model import Argument
from irscope.workspace import LineMarks, Workspace
from irscope.workspace.stage_marks import NO_MARKS, line_marks
from tests.tui import captures


@pytest.fixture(scope="module")
def matmul(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Matmul of 64x64 blocks for cuda:90, with all stages that are in the test data."""
    kinds = ("ttir", "ttgir", "ptx", "sass")
    stages = {kind: captures.stage("matmul_kernel", captures.SMALL, kind) for kind in kinds}
    path = tmp_path_factory.mktemp("marks") / "matmul.irscope"
    return Workspace(captures.write(path, [({"BLOCK_M": 64, "num_warps": 4}, stages)]))


def _marks(workspace: Workspace, stage: str) -> LineMarks:
    return line_marks(workspace, workspace.live.by_id(1), stage)


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "ptx", "sass"])
def test_the_hot_loop_has_the_matrix_instructions_in_every_stage(matmul: Workspace, stage: str) -> None:
    marks = _marks(matmul, stage)
    assert marks.matrix
    assert any(line in lines for lines in marks.hot for line in marks.matrix)
    assert 0 < sum(map(len, marks.hot)) < len(matmul.lines(matmul.live.by_id(1), stage))
    assert set(marks.runs.values()) == {0}
    assert not marks.shares


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "ptx", "sass"])
def test_lines_say_how_often_they_run_and_their_share(matmul: Workspace, stage: str) -> None:
    variant = replace(matmul.live.by_id(1), specialization=(Argument("K", "i32", value=4096),))
    marks = line_marks(matmul, variant, stage)
    assert set(marks.runs.values()) == {4096 // 32}
    assert sum(marks.shares.values()) == pytest.approx(1)
    in_loop = {marks.python[line] for line in marks.runs if line in marks.python}
    assert sum(marks.shares[number] for number in in_loop) > 0.9
    outside = [line for line in marks.python if line not in marks.runs]
    assert outside


@pytest.mark.parametrize("stage", ["ptx", "sass"])
def test_the_pressure_is_that_of_the_register_report(matmul: Workspace, stage: str) -> None:
    variant = matmul.live.by_id(1)
    report, pressure = matmul.registers(variant, stage), _marks(matmul, stage).pressure
    assert pressure is not None
    assert pressure.by_line[pressure.peak_line] == report.peak
    assert pressure.estimate == (stage == "ptx")
    assert pressure.limit == 255


def test_stages_without_registers_or_loops(matmul: Workspace) -> None:
    assert _marks(matmul, "ttgir").pressure is None
    assert _marks(matmul, "python") == NO_MARKS
    assert _marks(matmul, "llir") == NO_MARKS


def test_the_loop_of_llvm_ir(tmp_path: Path) -> None:
    ttgir = (
        '#loc1 = loc("k.py":3:5)\nmodule {\n  tt.func public @k(%n: i32) {\n'
        "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n"
        "    scf.for %i = %c0 to %n step %c1  : i32 {\n      scf.yield loc(#loc1)\n    } loc(#loc1)\n"
        "    tt.return\n  }\n}\n"
    )
    llir = (
        "define void @k(i32 %0) !dbg !4 {\n  br label %2, !dbg !5\n\n"
        "2:                                                ; preds = %2, %1\n"
        "  %3 = phi i32 [ 0, %1 ], [ %4, %2 ], !dbg !5\n  %4 = add i32 %3, 1, !dbg !5\n"
        "  %5 = icmp slt i32 %4, %0, !dbg !5\n  br i1 %5, label %2, label %6, !dbg !5\n\n"
        "6:                                                ; preds = %2\n  ret void, !dbg !5\n}\n"
        '!1 = !DIFile(filename: "k.py", directory: "")\n'
        '!4 = distinct !DISubprogram(name: "k", file: !1, line: 1)\n'
        "!5 = !DILocation(line: 3, column: 5, scope: !4)\n"
    )
    made = [({"N": 1}, {"ttgir": ttgir.encode(), "llir": llir.encode()})]
    workspace = Workspace(captures.write(tmp_path / "loop.irscope", made))
    from irscope.facts.loops.kernel_loops import loop_lines
    from irscope.facts.loops.scf import scf_loops

    variant = workspace.live.by_id(1)
    documents = [workspace.document(variant, stage) for stage in ("llir", "ttgir")]
    chain = scf_loops(documents[1])[0].chain
    assert loop_lines(*documents, chain) == (range(4, 8),)
