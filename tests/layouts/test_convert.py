"""Layout attributes to linear layouts: the arrangements in vendor manuals, and rejected attributes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.layouts.attribute import UnknownLayoutError, parse_attribute
from irscope.layouts.convert import linear_layout

from .builders import bases, layout

BLOCKED = (
    "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
)
AMPERE = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
HOPPER = (
    "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>"
)
MFMA = "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>"
WMMA = "#ttg.amd_wmma<{version = 2, isTranspose = true, ctaLayout = {warp = [[0, 1], [1, 0]]}}>"
SWIZZLED = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"


def test_blocked_repeats_in_registers_and_is_cut_to_small_tensors():
    assert bases(BLOCKED, 64, 32) == {
        "register": [[0, 1], [0, 2], [0, 4], [32, 0]],
        "lane": [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]],
        "warp": [[8, 0], [16, 0]],
    }
    small = bases(BLOCKED, 64, 1)
    assert small["register"] == [[32, 0]]
    assert small["lane"] == [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]]
    before = bases(BLOCKED, 64, 1, triton=(3, 8))
    assert before == {**small, "register": [[0, 0], [0, 0], [0, 0], [32, 0]]}


def test_a_slice_drops_a_dimension_and_copies_across_threads():
    assert bases(f"#ttg.slice<{{dim = 1, parent = {BLOCKED}}}>", 64) == {
        "register": [[32]],
        "lane": [[0], [0], [1], [2], [4]],
        "warp": [[8], [16]],
    }


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        # PTX ISA, "Accumulator fragment of mma.m16n8k16": row = lane / 4, two columns from lane % 4 * 2.
        (AMPERE, {"lane": 5}, (1, 2)),
        (AMPERE, {"lane": 5, "register": 2}, (9, 2)),
        # PTX ISA, "WGMMA .m64nNk16 register fragment": warp w has the rows from 16 w.
        (HOPPER, {"warp": 2, "lane": 4, "register": 4}, (33, 8)),
        # AMD's matrix instruction calculator, v_mfma_f32_32x32x8_f16, D transposed: 4 columns a lane.
        (MFMA, {"lane": 33, "register": 1}, (1, 5)),
        (WMMA, {"lane": 17, "register": 1}, (1, 9)),
    ],
)
def test_accumulators_match_the_manuals(text: str, row: dict[str, int], expected: tuple[int, int]):
    assert layout(text, 64, 64).element(**row) == expected


def test_operands_are_copied_to_the_warps_that_share_them():
    a = layout(f"#ttg.dot_op<{{opIdx = 0, parent = {AMPERE}, kWidth = 2}}>", 64, 32)
    assert a.bases["warp"] == ((0, 0), (16, 0))
    b = layout(f"#ttg.dot_op<{{opIdx = 1, parent = {AMPERE}, kWidth = 2}}>", 32, 64)
    assert b.bases["warp"] == ((0, 8), (0, 0))


def test_swizzled_buffers_permute_groups_by_row():
    found = bases(SWIZZLED, 16, 64)["offset"]
    assert found[:6] == [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]]
    assert found[6:] == [[1, 8], [2, 16], [4, 32], [8, 0]]


def test_nvmma_buffers_are_atoms_of_eight_rows():
    text = "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>"
    assert bases(text, 64, 32)["offset"][5:] == [[1, 0], [2, 8], [4, 16], [8, 0], [16, 0], [32, 0]]


def test_clusters_split_a_tensor_over_their_blocks():
    assert bases(BLOCKED[:-2] + ", CGALayout = [[1, 0]]}>", 128, 32) == {
        **bases(BLOCKED, 64, 32),
        "block": [[64, 0]],
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#ttg.unheard_of<{}>",
        "#ttg.blocked<{}>",
        BLOCKED[:-2] + ", CTAsPerCGA = [2, 1], CTASplitNum = [2, 1], CTAOrder = [1, 0]}>",
        "#ttng.tensor_memory_encoding<blockM = 64, blockN = 32, colStride = 1, twoCTAs = true>",
        "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>",
        BLOCKED.replace("[1, 8]", "[1, 3]"),
        "#ttg.nvidia_mma<{versionMajor = 1, warpsPerCTA = [2, 2], instrShape = [16, 8]}>",
        "#ttg.dot_op<{opIdx = 7, parent = #ttg.slice<{}>, kWidth = 2}>",
        "#ttg.slice<{dim = 9, parent = " + BLOCKED + "}>",
        "#ttg.linear<{register = [[0, 1, 2]], lane = [], warp = [], block = []}>",
        "#ttg.swizzled_shared<{vec = 0, perPhase = 0, maxPhase = 0, order = [1, 0]}>",
        "#ttg.nvmma_shared<{swizzlingByteWidth = 77, transposed = false, elementBitWidth = 16}>",
    ],
)
def test_unknown_attributes_are_rejected(text: str):
    with pytest.raises(UnknownLayoutError):
        layout(text, 64, 32)


def test_impossible_shapes_are_rejected():
    for shape in ((), (0, 4), (3, 4), (1 << 50, 4)):
        with pytest.raises(UnknownLayoutError):
            layout(BLOCKED, *shape)


@given(
    st.text(alphabet="#<>{}[]=, 0123456789abdeginoprstkmw.", max_size=200),
    st.lists(st.integers(0, 512), max_size=4),
)
def test_any_text_is_a_layout_or_rejected(text: str, shape: list[int]):
    for body in (text, f"#ttg.blocked<{{{text}}}>", f"#ttg.slice<{{dim = 0, parent = {text}}}>"):
        try:
            found = linear_layout(parse_attribute(body), shape, (3, 9))
        except UnknownLayoutError:
            continue
        assert found.shape == tuple(shape)
