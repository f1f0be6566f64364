"""The order of a sum in the threads, lanes and warps of each target, as it was read in the assembly."""

from __future__ import annotations

import pytest

from irscope.interpreting.bits.order import AxisOrder, adds_in_pairs
from irscope.layouts.linear import LinearLayout


@pytest.mark.parametrize(
    ("target", "element", "pairs"),
    [
        ("cuda:80", "f16", False), ("cuda:90", "f16", True), ("cuda:90", "bf16", True),
        ("cuda:90", "f32", False),
        ("cuda:100", "f32", True), ("cuda:120", "f32", True), ("cuda:100", "f64", False),
        ("hip:gfx908", "f32", False), ("hip:gfx90a", "f32", True), ("hip:gfx942", "f32", True),
        ("hip:gfx950", "f16", True), ("hip:gfx1100", "f32", False), ("hip:gfx1201", "f16", True),
    ],
)  # fmt: skip
def test_targets_that_add_two_elements_at_once(target: str, element: str, pairs: bool):
    layout = LinearLayout({"register": ((1,), (2,)), "lane": (), "warp": (), "block": ()}, (4,))
    assert adds_in_pairs(layout, 0, target, element) == pairs
    # One instruction adds two elements; registers of another axis lie side by side.
    for registers, shape, axis in ((((1,),), (2,), 0), (((1, 0), (0, 1), (0, 2)), (2, 4), 1)):
        layout = LinearLayout({"register": registers, "lane": (), "warp": (), "block": ()}, shape)
        assert not adds_in_pairs(layout, axis, target, element)


def test_a_whole_wave_of_amd_adds_in_rows_of_16_lanes():
    lanes = tuple(1 << bit for bit in range(6))
    order = AxisOrder((), lanes, (64, 128))
    turned = order.in_rows("hip:gfx942", 6)
    # The highest bit is the first step: 8, 4, 2, 1, then 16, then 32 lanes apart.
    assert turned.lanes[::-1] == (8, 4, 2, 1, 16, 32) and turned.warps == (64, 128)
    assert AxisOrder((), lanes[:5], ()).in_rows("hip:gfx1201", 5).lanes[::-1] == (8, 4, 2, 1, 16)
    # Fewer lanes exchange what they have, as those of NVIDIA.
    for part, target, bits in (
        (lanes[:5], "hip:gfx942", 6),
        (lanes[:5], "cuda:90", 5),
        (lanes, "hip:gfx908", 6),
    ):
        assert AxisOrder((), part, ()).in_rows(target, bits).lanes == part
