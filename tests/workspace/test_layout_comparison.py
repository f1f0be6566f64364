"""The values of A and B whose layouts are drawn next to each other."""

from __future__ import annotations

from pathlib import Path

from irscope.workspace import DrawingOptions, LayoutComparison, Workspace
from tests.tui import captures

TTGIR = """\
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], \
warpsPerCTA = [1, 4], order = [1, 0]}>
tt.func public @k() {
  %x = tt.splat %n : i32 -> tensor<ROWSx1xi32, #blocked>
  %x_0 = tt.broadcast %x : tensor<ROWSx1xi32, #blocked> -> tensor<ROWSx128xi32, #blocked>
}
"""


def shape(title: str) -> str:
    """The shape and element type in a title: "4x1xi32"."""
    return title.rpartition("tensor<")[2].partition(",")[0]


def test_a_value_is_paired_with_the_one_that_has_the_same_dimensions(tmp_path: Path) -> None:
    variants = [({"ROWS": n}, {"ttgir": TTGIR.replace("ROWS", str(n)).encode()}) for n in (4, 8)]
    with Workspace(captures.write(tmp_path / "a.irscope", variants)) as workspace:
        layouts = LayoutComparison(workspace.compare(*workspace.variants))
        drawn = [
            [
                drawing.grid.title.rpartition("tensor<")[2].partition(",")[0]
                for drawing in layouts.draw(tensor, DrawingOptions())
            ]
            for tensor in layouts.tensors
        ]
    assert drawn == [
        ["4x1xi32", "8x1xi32"],
        ["4x128xi32", "8x128xi32"],
    ]
