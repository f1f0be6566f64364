"""How two layouts of a value differ, and maps of whole tensors: against the layouts themselves."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.layouts.attribute import parse_attribute
from irscope.layouts.color_map import GLYPHS, ColorBy, cell_size, color_choices, color_map
from irscope.layouts.difference import SAME, layout_difference
from irscope.layouts.grid import Grid
from irscope.layouts.tensors import Tensor, find_tensors

from .builders import AMPERE, BLACKWELL, HOPPER, kernel, layout, positions

BLOCKED = (
    "#ttg.blocked<{{sizePerThread = [1, {0}], threadsPerWarp = [{1}], warpsPerCTA = [{2}], order = [1, 0]}}>"
)
SWIZZLED = "#ttg.swizzled_shared<{{vec = {}, perPhase = {}, maxPhase = {}, order = [1, 0]}}>"
NVMMA = "#ttg.nvmma_shared<{{swizzlingByteWidth = {}, transposed = false, elementBitWidth = 16}}>"


def tensor(text: str, *shape: int, shared: bool = False) -> Tensor:
    kind, space = ("!ttg.memdesc", "ttg.shared_memory") if shared else ("tensor", "")
    return Tensor("%x", "x", 1, 0, kind, shape, "f16", parse_attribute(text), "#x", shape, space)


def in_registers(a: tuple[str, tuple[int, int]], b: tuple[str, tuple[int, int]]) -> str:
    (first, shape), (second, other) = a, b
    return layout_difference(
        tensor(first, *shape), tensor(second, *other), layout(first, *shape), layout(second, *other)
    )


def blocked(width: int, threads: str = "4, 8", warps: str = "4, 1") -> str:
    return BLOCKED.format(width, threads, warps)


def test_more_of_the_same_tile():
    assert (
        in_registers((blocked(4), (64, 32)), (blocked(4), (64, 64)))
        == "same 16x32 tile, repeated 8 times instead of 4"
    )


def test_wider_runs_per_thread():
    said = in_registers((blocked(4), (64, 64)), (blocked(8), (64, 64)))
    assert "each thread holds 8 consecutive elements instead of 4" in said


def test_warps_along_another_dimension():
    said = in_registers((blocked(4), (64, 128)), (blocked(4, warps="1, 4"), (64, 128)))
    assert "warps along dim 1 instead of dim 0" in said


def test_threads_of_a_warp_in_another_arrangement():
    said = in_registers((blocked(4), (64, 128)), (blocked(4, threads="1, 32"), (64, 128)))
    assert "1x32 threads per warp instead of 4x8" in said


def test_the_swizzle_of_shared_memory():
    a, b = SWIZZLED.format(8, 2, 4), SWIZZLED.format(8, 1, 8)
    assert layout_difference(tensor(a, 64, 32, shared=True), tensor(b, 64, 64, shared=True)) == (
        "swizzle of vec 8, perPhase 1, maxPhase 8 instead of swizzle of vec 8, perPhase 2, maxPhase 4; "
        "64x64 elements instead of 64x32"
    )
    plain = layout_difference(
        tensor(NVMMA.format(0), 64, 64, shared=True), tensor(NVMMA.format(128), 64, 64, shared=True)
    )
    assert plain == "128-byte swizzle instead of no swizzle"
    pipelined = replace(tensor(a, 64, 32, shared=True), whole=(3, 64, 32))
    assert layout_difference(tensor(a, 64, 32, shared=True), pipelined) == "3 buffers instead of 1"


def test_another_matrix_instruction():
    ampere, hopper = kernel(AMPERE), kernel(HOPPER)
    a, b = (find_tensors(found.tensors, "acc")[0] for found in (ampere, hopper))
    assert layout_difference(a, b, ampere.layouts.of(a), hopper.layouts.of(b)) == (
        "64x8 tile instead of 32x16; 4x1 warps instead of 2x2; wgmma instead of mma.sync; "
        "instruction shape 16x64x16 instead of 16x8"
    )


def test_another_place():
    said = layout_difference(tensor(blocked(4), 64, 64), tensor(NVMMA.format(128), 64, 64, shared=True))
    assert said == "in shared memory instead of registers"


@pytest.mark.parametrize("names", [(AMPERE, HOPPER), (HOPPER, BLACKWELL), (AMPERE, BLACKWELL)])
def test_every_pair_of_real_layouts_has_a_sentence(names: tuple[str, str]):
    kernels = [kernel(name) for name in names]
    for a in {t.key: t for t in kernels[0].tensors}.values():
        for b in {t.key: t for t in kernels[1].tensors}.values():
            said = layout_difference(a, b, kernels[0].layouts.of(a), kernels[1].layouts.of(b))
            assert said
            assert (said == SAME) == (
                (a.attribute.text, a.shape, a.whole) == (b.attribute.text, b.shape, b.whole)
            )


@pytest.mark.parametrize("name", [AMPERE, HOPPER, BLACKWELL])
def test_a_map_shows_what_holds_the_first_element_of_each_cell(name: str):
    found = kernel(name)
    for own in {t.key: t for t in found.tensors if len(t.shape) == 2 and not t.buffer}.values():
        linear = found.layouts.of(own)
        holders = positions(linear, ("warp", "lane", "register"))
        for by, value in (
            (ColorBy.WARP, itemgetter(0)),
            (ColorBy.THREAD, itemgetter(1)),
            (ColorBy.REGISTER, itemgetter(2)),
        ):
            drawn = color_map(linear, "", by, (4, 2))
            count = linear.size({ColorBy.THREAD: "lane"}.get(by, by.value))
            step = max(1, count // len(GLYPHS))
            for row, cells in enumerate(drawn.cells):
                for column, cell in enumerate(cells):
                    assert cell is not None
                    expected = {GLYPHS[value(at) // step] for at in holders[4 * row, 2 * column]}
                    assert cell.label in expected


@given(
    st.lists(st.tuples(*[st.sampled_from([1, 2, 8, 64, 256, 4096])] * 2), min_size=1, max_size=2),
    st.integers(1, 60),
    st.integers(1, 200),
)
def test_a_map_fits(shapes: list[tuple[int, int]], rows: int, columns: int):
    down, across = cell_size(shapes, rows, columns)
    assert all(shape[0] <= down * rows and shape[1] <= across * columns for shape in shapes)
    if down > 1:
        assert any(shape[0] > down // 2 * rows for shape in shapes)


def test_a_vector_is_drawn_in_lines():
    linear = layout(
        "#ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>", 1024
    )
    cell = cell_size([(1024,)], 8, 80)
    drawn = color_map(linear, "", color_choices(linear)[0], cell)
    assert ["".join(one.label for one in row if one) for row in drawn.cells[:2]] == [
        "0" * 32,
        "1" * 32,
    ]
    assert len(drawn.rows) == 8


def test_a_ruler_leaves_out_labels_without_room():
    assert Grid("", (), ("0", "2", "4", "6"), ()).ruler() == "0 4 "
    assert Grid("", (), ("0", "100", "200", "300", "400"), ()).ruler(2) == "0   200 400 "
