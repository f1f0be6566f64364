"""The layouts of A and B: the first value, the cursor, the swizzle and the banks."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from irscope.cli.main import main
from irscope.layouts.grid import EQUAL
from irscope.model import Config, SourceFunction
from irscope.store import CaptureWriter, NewVariant
from irscope.targets import parse_target
from irscope.tui.app import IrscopeApp
from irscope.tui.screens.layout import LayoutScreen
from irscope.tui.widgets.grid_view import GridView
from irscope.tui.widgets.search_bar import NO_MATCH, FilterBar
from irscope.workspace import Workspace
from tests.tui import captures
from tests.tui.captures import STAGES
from tests.tui.driving import drawn, press, texts

WIDE = (160, 50)
AMPERE = "matmul_kernel.cuda-80.BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=3.triton-3.9.0.ttgir"


@pytest.fixture
def ampere(tmp_path: Path) -> IrscopeApp:
    """One variant for sm_80, whose PTX has ldmatrix."""
    path = tmp_path / "ampere.irscope"
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "irscope compile matmul.py")
        source = SourceFunction("matmul_kernel", "matmul.py", 24, "def matmul_kernel():\n    pass\n")
        kernel = writer.add_kernel(source, (), ())
        artifacts = {"ttgir": (STAGES / AMPERE).read_bytes(), "ptx": b"ldmatrix.sync.aligned.m8n8.x4"}
        new = NewVariant(parse_target("cuda:80"), (), Config(()), artifacts=artifacts)
        writer.add_variant(kernel, toolchain, "3.9.0", new)
    return IrscopeApp(Workspace(path))


def at_cursor(view: GridView) -> list[str]:
    """Return the cells under the cursor, from the top left."""
    segments = (segment for y in range(view.size.height) for segment in view.render_line(y))
    return [segment.text.strip() for segment in segments if segment.style == view.style("cell--cursor")]


def description(pilot: Pilot[None], name: str) -> str:
    return drawn(pilot.app.screen.query_one(f"#layout-{name}"))


async def open_at(pilot: Pilot[None], words: str) -> GridView:
    """Opens the layouts with the cursor on the first line of TTGIR that has these words."""
    page = texts(pilot).page
    line = next(n for n in range(len(page.rows)) if words in (page.text(page.rows[n], False) or ""))
    texts(pilot).go_to_row(line)
    await press(pilot, "T")
    return pilot.app.screen.query_one(GridView)


async def test_it_starts_with_the_value_under_the_cursor(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot)
        pilot.app.screen.stages.choose("ttgir")
        await press(pilot)
        view = await open_at(pilot, "ttng.warp_group_dot")
        picture = drawn(view)
        assert picture.count("tensor<64x64xf32, #mma>") == 1
        assert picture.count("tensor<128x128xf32, #mma>") == 1
        await press(pilot, "j", "l", "l")
        assert "A, B  element (1, 4): warp 0 lane 6 (thread 6) register 0" in description(pilot, "a")
        assert "A  4 warps of 32 lanes, 32 elements per thread." in description(pilot, "both").replace(
            "\n", ""
        )
        assert at_cursor(view)[::4] == ["T6:0-1", "T6:0-1"]
        await press(pilot, "q")
        assert not isinstance(app.screen, LayoutScreen)


async def test_a_buffer_shows_its_swizzle_and_the_banks_of_its_accesses(ampere: IrscopeApp) -> None:
    async with ampere.run_test(size=WIDE) as pilot:
        await press(pilot)
        ampere.screen.stages.choose("ttgir")
        await press(pilot)
        view = await open_at(pilot, "= ttg.local_alloc")
        await press(pilot, "j", "j")
        assert "144 b4" in drawn(view)
        assert "element (2, 0): byte 144, bank 4" in description(pilot, "a")
        await press(pilot, "s")
        assert "byte 128, bank 0" in description(pilot, "a")
        assert "Shown without its swizzle" in description(pilot, "both")
        await press(pilot, "b", "b")
        assert "4-way conflicts: 32 wavefronts instead of 8" in description(pilot, "both")
        assert "wavefront 4" in drawn(view)
        await press(pilot, "s")
        assert "no conflicts" in description(pilot, "both")
        assert "wavefront 2" not in drawn(view)


async def test_it_says_what_irscope_layout_prints(
    ampere: IrscopeApp, capsys: pytest.CaptureFixture[str]
) -> None:
    async with ampere.run_test(size=(1000, 50)) as pilot:
        await press(pilot)
        ampere.screen.stages.choose("ttgir")
        await press(pilot)
        view = await open_at(pilot, "= ttg.local_alloc")
        name, shown = (
            view._headings[0].split(":")[0].split(",")[0].split()[-1],
            description(pilot, "both"),
        )
        path = str(ampere._workspace.path)
    assert main(["layout", path, "#1", name, "--rows", "0:1"]) == 0
    printed = capsys.readouterr().out
    # The last sentence is who computed the linear layout; only the command line asks Triton.
    notes = ("Each cell", "Rows")
    lines = [line for line in printed.splitlines() if line.endswith(".") and not line.startswith(notes)]
    *sentences, last = lines
    assert last.startswith("Linear layout: ")
    assert "Linear layout: " in shown
    assert any("conflicts" in line for line in sentences)
    assert all(line in shown for line in sentences), sentences


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_the_last_cell_can_be_reached(ampere: IrscopeApp, size: tuple[int, int]) -> None:
    async with ampere.run_test(size=size) as pilot:
        await press(pilot, "T", *["pagedown"] * 5, *["l"] * 40)
        view = ampere.screen.query_one(GridView)
        pane = view._sides[0][0]
        assert (pane.row, pane.column) == (len(pane.grid.rows) - 1, len(pane.grid.columns) - 1)
        assert pane.grid.cells[-1][-1].label in drawn(view)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_maps_show_all_of_a_and_b_and_color_what_differs(
    app: IrscopeApp, size: tuple[int, int]
) -> None:
    async with app.run_test(size=size) as pilot:
        await press(pilot)
        pilot.app.screen.stages.choose("ttgir")
        await press(pilot)
        view = await open_at(pilot, "ttng.warp_group_dot")
        shown = description(pilot, "difference").replace("\n", "")
        assert "same 64x8 tile, repeated 32 times instead of 8" in shown
        assert "instruction shape 16x128x16 instead of 16x64x16" in shown
        assert "equal in this part" in shown
        await press(pilot, "z")
        # The first 64 rows and columns of B are held as in A, the others are not in A.
        a, b = (panes[0].grid for panes in view._sides)
        for row, cells in zip(b.rows, b.cells, strict=True):
            groups = {cell.group for cell in cells[: len(a.columns)] if cell}
            assert (groups == {EQUAL}) == (row in a.rows)
            assert all(cell.group != EQUAL for cell in cells[len(a.columns) :] if cell)
        assert "".join(cell.label for cell in b.cells[-1] if cell) in drawn(view)
        assert {cell.label for row in b.cells for cell in row if cell} <= set("0123")


async def test_views_are_side_by_side_where_there_is_room(app: IrscopeApp) -> None:
    async with app.run_test(size=(200, 50)) as pilot:
        await press(pilot)
        pilot.app.screen.stages.choose("ttgir")
        await press(pilot)
        view = await open_at(pilot, "ttng.warp_group_dot")
        titles, _, first, *_ = drawn(view).splitlines()[1:]
        assert titles.split() == ["thread:registers", "warp", "thread", "register"] * 2
        assert first.split() == ["0", "T0:0-1", "T1:0-1", "T2:0-1", "T3:0-1",
                                 "0", "00000000", "0", "00112233", "0", "01010101"] * 2  # fmt: skip
        await pilot.resize_terminal(80, 24)
        await press(pilot, "v", "v")
        assert drawn(view).splitlines()[1].split() == ["thread", "register"] * 2


@pytest.mark.parametrize(
    ("words", "keys", "expected"),
    [
        # Row 3 of #mma<16x64>: lanes 12 to 15, two columns each; 5 is the second of lane 14.
        ("ttng.warp_group_dot", "3,5", "element (3, 5): warp 0 lane 14 (thread 14) register 1"),
        # In the last of the 8 periods along the columns: register 4 * 7 + 1 of the same thread.
        ("ttng.warp_group_dot", "3,61", "element (3, 61): warp 0 lane 14 (thread 14) register 29"),
        # Rows of 64 bytes; in row 3, chunks of 16 bytes are permuted by row // 2.
        ("= ttg.local_alloc", "3,5", "element (3, 5): byte 218, bank 22; ttg.async_copy_global_to_local"),
    ],
)
async def test_a_typed_element_is_shown_with_what_holds_it(
    app: IrscopeApp, words: str, keys: str, expected: str
) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot)
        pilot.app.screen.stages.choose("ttgir")
        await press(pilot)
        view = await open_at(pilot, words)
        await press(pilot, *("comma" if key == "," else key for key in keys))
        assert f"element {keys}" in description(pilot, "title")
        assert expected in description(pilot, "a").replace("\n", "")
        column = keys.split(",")[1]
        assert str(int(column) // 8 * 8) in drawn(view)
        await press(pilot, "escape")
        assert isinstance(app.screen, LayoutScreen)
        await press(pilot, *"900")
        assert "no element 900" in description(pilot, "title")


async def test_typing_keeps_the_part_and_knows_what_only_b_has(app: IrscopeApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot)
        pilot.app.screen.stages.choose("ttgir")
        await press(pilot)
        view = await open_at(pilot, "%16 = ")
        before = [panes[0].grid.cells for panes in view._sides]
        assert [len(cells) for cells in before] == [16, 8]  # the tiles differ
        await press(pilot, "3", "comma", "5")
        assert len(view._sides[0][0].grid.cells) == 16
        assert "element (3, 5): warp 0 lane 24 (thread 24) register 5" in description(pilot, "a")
        assert "element (3, 5): warp 1 lane 16 (thread 48) register 5" in description(pilot, "b")
        await press(pilot, "escape", "1", "0", "0", "comma", "5")
        assert "element (100, 5): none" in description(pilot, "a")
        assert "element (100, 5): warp" in description(pilot, "b")
        await press(pilot, "escape", "l", "k")
        await pilot.resize_terminal(80, 24)
        await press(pilot, "z", "v", "c", "z")
        await open_vector(pilot)
        await press(pilot, "4", "0")
        assert "element (40): warp" in description(pilot, "a")


async def open_vector(pilot: Pilot[None]) -> None:
    """Goes to the first value with one dimension."""
    for _ in range(40):
        await press(pilot, "n")
        if "<64xi32" in drawn(pilot.app.screen.query_one(GridView)).splitlines()[0]:
            return
    raise AssertionError("no vector")


@pytest.mark.parametrize(
    ("target", "words", "element", "expected"),
    [
        ("cuda-100", "ttng.tmem_alloc", "3,5", "lane 3, column 5 of tensor memory"),
        # amd_mfma 32x32, transposed: 64 lanes; lane = row, register = column within four.
        ("hip-gfx942", "tt.dot", "3,5", "warp 0 lane 35 (thread 35) register 1"),
    ],
)
async def test_other_hardware(tmp_path: Path, target: str, words: str, element: str, expected: str) -> None:
    stages = 2 if target.startswith("hip") else 3
    config = f"BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages={stages}"
    text = (STAGES / f"matmul_kernel.{target}.{config}.triton-3.9.0.ttgir").read_bytes()
    path = captures.write(tmp_path / "x.irscope", [({"BLOCK_M": 64}, {"ttgir": text})])
    async with IrscopeApp(Workspace(path)).run_test(size=(80, 24)) as pilot:
        await press(pilot)
        await open_at(pilot, words)
        await press(pilot, *("comma" if key == "," else key for key in element))
        assert expected in description(pilot, "a").replace("\n", "")


async def test_without_ttgir_there_are_no_layouts(tmp_path: Path) -> None:
    path = captures.write(tmp_path / "x.irscope", [({"BLOCK_M": 64}, {"ttir": b"module {\n}\n"})])
    app = IrscopeApp(Workspace(path))
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "T")
        assert not isinstance(app.screen, LayoutScreen)
        assert "no layouts" in [note.message for note in app._notifications][-1]


async def test_layouts_of_gluon_are_shown_as_written_or_as_lowered(tmp_path: Path) -> None:
    path = captures.gluon(tmp_path / "x.irscope")
    async with IrscopeApp(Workspace(path)).run_test(size=WIDE) as pilot:
        await press(pilot, "T")
        assert "as lowered (ttgir)" in description(pilot, "title")
        assert "T1:0" in drawn(pilot.app.screen.query_one(GridView))
        await press(pilot, "w")
        assert "as written (glir)" in description(pilot, "title")
        assert "the compiler chooses it, see ttgir" in description(pilot, "both")
        await press(pilot, "escape")
        pilot.app.screen.stages.choose("glir")
        await press(pilot, "T")
        assert "as written (glir)" in description(pilot, "title")


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_a_filter_leaves_the_values_with_its_words(app: IrscopeApp, size: tuple[int, int]) -> None:
    async with app.run_test(size=size) as pilot:
        await press(pilot, "T")
        assert "/ filter" in drawn(app.screen.query_one("#keys"))
        total = int(description(pilot, "title").split(" of ")[1].split()[0])
        await press(pilot, "slash", *"nvmma 64x32")
        assert " 1 of 2 with nvmma 64x32 " in description(pilot, "title")
        assert "keep" in drawn(app.screen.query_one("#keys"))
        await press(pilot, "enter")
        names = set()
        for place in (1, 2):
            assert f" {place} of 2 with" in description(pilot, "title")
            (name,) = {heading.partition(":")[0] for heading in app.screen.query_one(GridView)._headings}
            names.add(name)
            await press(pilot, "n")
        assert len(names) == 2
        assert " 1 of 2 with" in description(pilot, "title")
        await press(pilot, "escape")
        assert f" of {total} " in description(pilot, "title")
        await press(pilot, "F", *"acc zzz")
        assert f" no match for acc zzz in {total} " in description(pilot, "title")
        assert app.screen.query_one(FilterBar).has_class(NO_MATCH)
        await press(pilot, "escape", "escape")
        assert not isinstance(app.screen, LayoutScreen)
