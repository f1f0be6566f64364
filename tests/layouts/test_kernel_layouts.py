"""The layouts of real kernels: finding tensors by name, accesses, conversions, pictures."""

from __future__ import annotations

import contextlib
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irscope.languages.language import parse
from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.banks import Addresses
from irscope.layouts.describe import describe_thread
from irscope.layouts.grid import Window, memory_grid, register_grid
from irscope.layouts.kernel_layouts import ConversionCost, KernelLayouts, conversion_cost, title
from irscope.layouts.ownership import Positions, ownership_summary
from irscope.layouts.tensors import Layouts, find_tensors
from irscope.targets import parse_target

from .builders import ADD, ADD_AMD, AMPERE, BLACKWELL, HOPPER, STAGES, kernel, layout, positions

LINE = "#ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"


def one(kernel: KernelLayouts, name: str):
    return find_tensors(kernel.tensors, name)[0]


def test_tensors_are_found_by_variable_line_value_and_layout():
    ampere = kernel(AMPERE)
    accumulator = one(ampere, "acc")
    assert (accumulator.shape, accumulator.element, accumulator.alias) == ((64, 64), "f32", "#mma")
    assert one(ampere, accumulator.name).name == accumulator.name
    assert one(ampere, f":{accumulator.line}").line == accumulator.line
    assert {tensor.alias for tensor in find_tensors(ampere.tensors, "#shared")} == {"#shared"}
    assert not find_tensors(ampere.tensors, "nothing")
    loaded = one(ampere, "a")
    assert loaded.attribute.kind == "ttg.dot_op"
    assert "#" not in loaded.attribute.fields["parent"].removeprefix("#")


def test_the_result_of_a_load_has_the_type_of_the_pointee():
    add = kernel(ADD)
    loads = [t for t in add.tensors if "tt.load" in add.document.lines[t.index]]
    assert [(load.element, load.shape) for load in loads] == [("f32", (1024,))] * 2
    masks = [t for t in add.tensors if "arith.cmpi" in add.document.lines[t.index]]
    assert [mask.element for mask in masks] == ["i1"]


@pytest.mark.parametrize("name", [AMPERE, HOPPER, BLACKWELL, ADD_AMD])
def test_every_layout_of_a_kernel_is_converted_and_covers_its_tensor(name: str):
    found = kernel(name)
    for tensor in {tensor.key: tensor for tensor in found.tensors}.values():
        linear = found.layouts.of(tensor)
        reached = positions(linear, list(linear.bases))
        assert len(reached) == prod(linear.shape), title(tensor)


def test_the_position_of_an_element_holds_it():
    linear = kernel(AMPERE).layouts.of(one(kernel(AMPERE), "acc"))
    places = Positions(linear)
    for element in positions(linear, ("warp", "lane", "register")):
        held = {name: places.value(name, element) for name in ("warp", "lane", "register")}
        assert linear.element(**held) == element
    assert len(describe_thread(linear, 37)) == 1 + ownership_summary(linear).registers // 2
    with pytest.raises(UnknownLayoutError):
        describe_thread(linear, 128)


def test_accesses_are_counted_with_and_without_the_swizzle():
    ampere = kernel(AMPERE, ptx="ldmatrix.sync.aligned.m8n8.x4.shared.b16")
    loads = [one for one in ampere.accesses if one.access.opcode == "ttg.local_load"]
    assert [(one.conflicts.kind, one.conflicts.ways, one.plain.ways) for one in loads] == [
        ("matrix", 1, 4),
        ("matrix", 1, 8),
    ]
    copies = [one for one in ampere.accesses if "async_copy" in one.access.opcode]
    assert {(one.conflicts.width, one.conflicts.ways) for one in copies} == {(16, 1)}
    by_hand = kernel(AMPERE).accesses
    assert {one.conflicts.kind for one in by_hand} == {"vector"}


def test_accesses_of_other_units_are_listed_but_not_counted():
    found = [one for one in kernel(HOPPER).accesses if one.access.opcode == "ttng.warp_group_dot"]
    assert found
    assert all(one.conflicts is None and "wgmma" in one.why_not for one in found)


def test_the_cost_of_conversions():
    assert [one.cost for one in kernel(AMPERE).conversions] == [ConversionCost.WARPS]
    blocked = "#ttg.blocked<{{sizePerThread = {}, threadsPerWarp = {}, warpsPerCTA = {}, order = [1, 0]}}>"
    rows = layout(blocked.format([1, 4], [8, 4], [4, 1]), 32, 16)
    assert conversion_cost(rows, rows) is ConversionCost.NOTHING
    assert (
        conversion_cost(rows, layout(blocked.format([1, 2], [4, 8], [4, 1]), 32, 16)) is ConversionCost.WARPS
    )
    assert (
        conversion_cost(rows, layout(blocked.format([2, 2], [4, 8], [4, 1]), 32, 16)) is ConversionCost.LANES
    )
    wide = layout(blocked.format([1, 8], [8, 4], [4, 1]), 32, 32)
    turned = (
        "#ttg.linear<{register = [[0, 4], [0, 1], [0, 2]], "
        "lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], warp = [[8, 0], [16, 0]], block = []}>"
    )
    assert conversion_cost(wide, layout(turned, 32, 32)) is ConversionCost.REGISTERS
    with pytest.raises(UnknownLayoutError):
        conversion_cost(rows, wide)


def test_pictures_draw_the_part_that_repeats_and_windows():
    ampere = kernel(AMPERE)
    accumulator = one(ampere, "acc")
    grid = ampere.picture(accumulator, Window()).grid
    assert (len(grid.rows), len(grid.columns)) == (32, 8)
    assert grid.cells[1][1].label == "T5:0-1"
    assert grid.describe(1, 1) == "element (1, 2): warp 0 lane 5 (thread 5) register 0"
    assert any("repeats 2 x 4 times" in note for note in grid.notes)
    window = ampere.picture(accumulator, Window((8, 10), (16, 24)), thread=5).grid
    assert (window.rows, window.columns) == (("8", "9"), ("16", "18", "20", "22"))
    assert [cell.label for row in window.cells for cell in row if cell.marked] == ["T5:6-7"]
    with pytest.raises(UnknownLayoutError, match="ends at 64"):
        ampere.picture(accumulator, Window((64, 70)))
    with pytest.raises(UnknownLayoutError, match="no thread 128"):
        ampere.picture(accumulator, Window(), thread=128)


def test_a_tensor_with_one_dimension_is_drawn_until_it_repeats():
    rows = layout(LINE, 65536)
    grid = register_grid(rows, "", Window())
    assert [cell.label for cell in grid.cells[0][:2]] == ["T0:0-3", "T1:0-3"]
    assert sum(map(len, grid.cells)) * 4 == 512
    assert grid.notes == (
        "Elements 0 to 511 of 65536.",
        "The part of 512 repeats 128 times in further registers of the same threads.",
    )


@pytest.mark.parametrize("columns", [(0, 3), (500, 540), (65500, 65536)])
def test_a_window_of_a_line_is_within_the_tensor(columns: tuple[int, int]):
    rows = layout(LINE, 65536)
    grid = register_grid(rows, "", Window(columns=columns))
    first = int(grid.rows[0])
    assert first <= columns[0]
    assert columns[1] <= first + 4 * sum(map(len, grid.cells)) <= 65536


def test_pictures_of_buffers_have_addresses_and_can_omit_the_swizzle():
    ampere = kernel(AMPERE)
    buffer = one(ampere, "#shared")
    real, plain = (ampere.picture(buffer, Window(), swizzle=swizzle) for swizzle in (True, False))
    assert real.grid.cells[2][0].label == "144 b4"
    assert plain.grid.cells[2][0].label == "128 b0"
    addresses = Addresses(real.layout, buffer.bits)
    rows, columns = real.layout.shape
    every = {addresses.byte((row, column)) for row in range(rows) for column in range(columns)}
    assert every == set(range(0, rows * columns * 2, 2))


def test_wavefronts_are_drawn_per_bank():
    ampere = kernel(AMPERE, ptx="ldmatrix")
    load = next(one for one in ampere.accesses if one.plain and one.plain.ways == 8)
    assert len(ampere.wavefronts(load).rows) == 1
    plain = ampere.wavefronts(load, swizzle=False)
    assert len(plain.rows) == 8
    assert [row[0].label for row in plain.cells] == [f"R{row}" for row in range(8)]


def test_tensor_memory_is_drawn_by_lane_and_column():
    blackwell = kernel(BLACKWELL)
    buffer = next(t for t in blackwell.tensors if "tensor_memory" in t.attribute.kind)
    grid = blackwell.picture(buffer, Window()).grid
    assert grid.cells[0][0].label == "r0 c0-15"


def test_recorded_layouts_precede_converted_ones():
    ampere = kernel(AMPERE)
    tensor = one(ampere, "acc")
    recorded = {tensor.key: {"register": [], "lane": [[0, 1]], "warp": [[1, 0]], "block": []}}
    layouts = Layouts((3, 9), recorded)
    assert layouts.of(tensor).bases["lane"] == ((0, 1),)
    assert layouts.sources[tensor.key] == "Triton"
    for damaged in (
        {"lane": [[1]]},
        {"lane": [["a", 2]]},
        {"lane": [[-1, 2]]},
        {"lane": "ab"},
        {"lane": [3]},
    ):
        with pytest.raises(UnknownLayoutError):
            Layouts((3, 9), {tensor.key: damaged}).of(tensor)


@settings(max_examples=settings().max_examples // 5)  # each parses and draws a whole kernel
@given(st.data())
def test_damaged_text_never_raises(data: st.DataObject):
    text = (STAGES / AMPERE).read_text()
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.integers(0, 40))
        put = data.draw(
            st.sampled_from(["", "<", ">", "x", "64", "0", "]", "#mma", "-1", " -> ", "99999999"])
        )
        text = text[:at] + put + text[at + gone :]
    damaged = KernelLayouts(parse(text, "mlir"), parse_target("cuda:80"), "3.9.0", "ldmatrix")
    assert damaged.accesses is not None
    assert damaged.conversions is not None
    for tensor in damaged.tensors[::5]:
        with contextlib.suppress(UnknownLayoutError):
            damaged.picture(tensor, Window((0, 4), (0, 4)))


@pytest.mark.parametrize("vec", [1, 2, 4, 8, 16])
def test_a_cell_of_a_buffer_is_at_most_as_wide_as_a_swizzle_group(vec: int):
    text = f"#ttg.swizzled_shared<{{vec = {vec}, perPhase = 1, maxPhase = 4, order = [1, 0]}}>"
    linear = layout(text, 16, 64)
    grid = memory_grid(linear, Addresses(linear, 16), 16, "buffer", Window())
    assert int(grid.columns[1]) == min(vec, 8)
