"""Every change that a diff counts has a row, in every view; constants that lines do not show are named."""

from __future__ import annotations

from itertools import combinations

import pytest

from irscope.diff.rows import Change, StageDiff
from irscope.document.json.comparison import _rows
from irscope.document.terminal.row_text import side_by_side, unified
from irscope.tui.page import Page, PageSide
from irscope.tui.row_painter import pieces
from irscope.workspace import OperandNotes
from irscope.workspace.diff_rows import rows_in_place
from tests.diff.stages import NAMES, diff_files, diff_texts, language_of

# As Triton 3.9 prints it. Another loop uses both constants, so that neither appears or vanishes.
LOOPS = """\
module {
  tt.func public @k(%x: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
    %c2048_i32 = arith.constant 2048 : i32
    %c1024_i32 = arith.constant 1024 : i32
    %c4096_i32 = arith.constant 4096 : i32
    %c0_i32 = arith.constant 0 : i32
    scf.for %i = %START to %c4096_i32 step %c1024_i32  : i32 {
      %0 = tt.addptr %x, %i : !tt.ptr<f32>, i32
      %1 = tt.load %0 : !tt.ptr<f32>
      tt.store %0, %1 : !tt.ptr<f32>
    }
    scf.for %i = %c0_i32 to %c2048_i32 step %c1024_i32  : i32 {
      %0 = tt.addptr %x, %i : !tt.ptr<f32>, i32
      tt.store %0, %cst : !tt.ptr<f32>
    }
    tt.return
  }
}
"""
# A constant is called like the Python variable that it is the first value of.
ALIKE = """\
module {
  tt.func public @k(%o: !tt.ptr<i32>, %n: i32) attributes {noinline = false} {
    %A = arith.constant 8 : i32
    %B = arith.constant 4 : i32
    %0 = arith.divsi %n, %c : i32
    tt.store %o, %0 : !tt.ptr<i32>
    %1 = arith.remsi %n, %A : i32
    tt.store %o, %1 : !tt.ptr<i32>
    %2 = arith.muli %n, %B : i32
    tt.store %o, %2 : !tt.ptr<i32>
    tt.return
  }
}
"""
MORE_START = "%c0_i32: arith.constant 0 : i32 -> arith.constant 2048 : i32"
MORE_C = "%c: arith.constant 8 : i32 -> arith.constant 4 : i32"


def started_later() -> StageDiff:
    return diff_texts(LOOPS.replace("%START", "%c0_i32"), LOOPS.replace("%START", "%c2048_i32"), "mlir")


def other_constant() -> StageDiff:
    left = ALIKE.replace("%A", "%c").replace("%B", "%c_0")
    right = ALIKE.replace("%B", "%c").replace("%A", "%c_0")
    return diff_texts(left, right, "mlir")


CASES = [(started_later, "scf.for", MORE_START), (other_constant, "arith.divsi", MORE_C)]


@pytest.mark.parametrize(("make", "opcode", "note"), CASES)
def test_a_constant_that_the_lines_do_not_show_has_a_row_and_a_name(make, opcode, note):
    diff = make()
    assert diff.counts[Change.CONSTANT] == 1
    (row,) = [row for row in rows_in_place(diff) if row.change & Change.CONSTANT]
    assert opcode in diff.left.lines[row.left or 0]
    lines = list(unified(diff, 0))
    assert [line[0] for line in lines if opcode in line or line.startswith("?")] == ["-", "+", "?"], lines
    assert lines[-1].endswith(f" {note}")
    assert any(line.strip() == note for line in side_by_side(diff, 0, 160))
    assert not any(line.startswith("?") for line in unified(diff, 0, strict=True))
    records = _rows(diff, 0)["rows"]
    assert [record["operands"] for record in records if "operands" in record] == [note]
    sides = [PageSide(side.lines, side.language) for side in (diff.left, diff.right)]
    page = Page(*sides, rows_in_place(diff), compared=True, operands=OperandNotes(diff))
    texts = page.text(row, False) or "", page.text(row, True) or ""
    assert "".join(text for text, _ in pieces(page, row, *texts)).endswith(note)


PAIRS = [
    (a, b)
    for a, b in combinations(NAMES, 2)
    if a.partition(".")[0] == b.partition(".")[0] and language_of(a) == language_of(b) == "mlir"
]


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_every_kind_that_is_counted_has_a_row(left, right):
    diff = diff_files(left, right)
    kinds = [kind for row in rows_in_place(diff) for kind in row.change]
    assert set(diff.counts) <= set(kinds)
