"""The values of A and B whose layouts are drawn next to each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.workspace import DrawingOptions, LayoutComparison, ValuePair, Workspace
from tests.tui import captures
from tests.tui.captures import STAGES

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
                for drawing in layouts.draw(value, DrawingOptions())
            ]
            for value in layouts.values
        ]
    assert drawn == [
        ["4x1xi32", "8x1xi32"],
        ["4x128xi32", "8x128xi32"],
    ]


PAIRS = [
    # (target of the stages, A, B, variable, element, what differs)
    (
        90,
        captures.SMALL,
        captures.LARGE,
        "acc",
        "f32",
        "same 64x8 tile, repeated 32 times instead of 8; instruction shape 16x128x16 instead of 16x64x16",
    ),
    (90, captures.LARGE, captures.LARGE, "acc", "f32", "same layout"),
    (
        80,
        captures.SMALL,
        captures.LARGE,
        "acc",
        "f32",
        "same 32x16 tile, repeated 32 times instead of 8",
    ),
    (80, captures.SMALL, captures.LARGE, "b", "f16", "same swizzle of vec 8, perPhase 1, maxPhase 8, "),
]


@pytest.mark.parametrize(("target", "a", "b", "variable", "element", "difference"), PAIRS)
def test_one_sentence_says_how_the_layouts_of_a_value_differ(
    tmp_path: Path, target: int, a: str, b: str, variable: str, element: str, difference: str
) -> None:
    paths = [STAGES / f"matmul_kernel.cuda-{target}.{config}.triton-3.9.0.ttgir" for config in (a, b)]
    variants = [({"N": n}, {"ttgir": path.read_bytes()}) for n, path in enumerate(paths)]
    with Workspace(captures.write(tmp_path / "a.irscope", variants)) as workspace:
        layouts = LayoutComparison(workspace.compare(*workspace.variants))
        said = [
            layouts.difference(value)
            for value in layouts.values
            if (value.tensor.python, value.tensor.element) == (variable, element)
        ]
    assert any(difference in text for text in said), said


def test_every_value_is_paired_once_or_said_to_be_on_one_side(tmp_path: Path) -> None:
    paths = [
        STAGES / f"matmul_kernel.cuda-90.{config}.triton-3.9.0.ttgir"
        for config in (captures.SMALL, captures.LARGE)
    ]
    variants = [({"N": n}, {"ttgir": path.read_bytes()}) for n, path in enumerate(paths)]
    with Workspace(captures.write(tmp_path / "a.irscope", variants)) as workspace:
        pair = workspace.compare(*workspace.variants)
        layouts = LayoutComparison(pair)
        paired = [value for value in layouts.values if value.a and value.b]
        assert len(paired) > 20
        assert len({id(value.b) for value in paired}) == len(paired)
        for value in paired:
            assert value.a is not None
            assert value.b is not None
            assert value.a.python == value.b.python
            assert len(value.a.shape) == len(value.b.shape)
        for value in layouts.values:
            if value.a is None or value.b is None:
                assert layouts.difference(value).startswith("only in ")
        mirrored = LayoutComparison(workspace.compare(pair.b, pair.a))
        assert {value.name for value in mirrored.values if value.a and value.b} == {
            ValuePair(value.b, value.a).name for value in paired
        }


def test_accumulators_are_drawn_first_then_shared_memory(tmp_path: Path) -> None:
    variants = [
        ({"N": n}, {"ttgir": captures.stage("matmul_kernel", name, "ttgir")})
        for n, name in enumerate((captures.SMALL, captures.LARGE))
    ]
    with Workspace(captures.write(tmp_path / "a.irscope", variants)) as workspace:
        a, b = workspace.variants
        layouts = LayoutComparison(workspace.compare(a, b))
        drawn = layouts.notable(3)
        first, second = (value.tensor for value in drawn[:2])
        assert first.python == "acc" and "mma" in first.attribute.kind and second.shared
        assert len({layouts.difference(value) for value in drawn}) == 3
        assert LayoutComparison(workspace.compare(a, a)).notable(1)[0].tensor.python == "acc"
