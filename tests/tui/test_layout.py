"""The layouts of A and B: the first value, the cursor, the swizzle and the banks."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from irscope.cli.main import main
from irscope.model import Config, SourceFunction
from irscope.store import CaptureWriter, NewVariant
from irscope.targets import parse_target
from irscope.tui.app import IrscopeApp
from irscope.tui.screens.layout import LayoutScreen
from irscope.tui.widgets.grid_view import GridView
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
        assert "element (1, 4): warp 0 lane 6 (thread 6) registers 0-1" in description(pilot, "a")
        assert "element (1, 4)" in description(pilot, "b")
        assert "4 warps of 32 lanes, 32 elements per thread." in description(pilot, "a")
        assert [cell.label for cell in view.cells() if cell] == ["T6:0-1", "T6:0-1"]
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
        assert "byte 144, banks 4-7" in description(pilot, "a")
        await press(pilot, "s")
        assert "byte 128, banks 0-3" in description(pilot, "a")
        assert "Shown without its swizzle" in description(pilot, "a")
        await press(pilot, "b", "b")
        assert "4-way conflicts: 32 wavefronts instead of 8" in description(pilot, "a")
        assert "wavefront 4" in drawn(view)
        await press(pilot, "s")
        assert "no conflicts" in description(pilot, "a")
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
            view._panes[0].grid.title.split(":")[0].split(",")[0].split()[-1],
            description(pilot, "a"),
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


async def test_it_fits_small_terminals(ampere: IrscopeApp) -> None:
    async with ampere.run_test(size=(80, 24)) as pilot:
        await press(pilot, "T", *["j"] * 40, *["l"] * 40)
        view = ampere.screen.query_one(GridView)
        grid = view._panes[0].grid
        assert view.cursor == (len(grid.rows) - 1, len(grid.columns) - 1)
        assert f"[{grid.cells[-1][-1].label}]" in drawn(view)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_the_compact_view_shows_all_of_a_and_b(app: IrscopeApp, size: tuple[int, int]) -> None:
    async with app.run_test(size=size) as pilot:
        await press(pilot)
        pilot.app.screen.stages.choose("ttgir")
        await press(pilot)
        view = await open_at(pilot, "ttng.warp_group_dot")
        await press(pilot, "c")
        assert "by warp" in description(pilot, "title")
        for grid in (pane.grid for pane in view._panes):
            cells = [cell.label for row in grid.cells for cell in row if cell]
            assert set(cells) == set("0123")
            assert "".join(cells[:4]) in drawn(view)
        assert drawn(view).count("0 warp 0") == 2
        shown = description(pilot, "difference").replace("\n", "")
        assert "same 64x8 tile, repeated 32 times instead of 8" in shown
        assert "instruction shape 16x128x16 instead of 16x64x16" in shown
        await press(pilot, "c")
        assert "by thread" in description(pilot, "title")
        assert "0-v threads 0-31" in drawn(view)
        await press(pilot, "c", "c")
        assert "[T0:0-1]" in drawn(view)


async def test_a_resize_keeps_all_of_the_tensor_on_screen(app: IrscopeApp) -> None:
    async with app.run_test(size=(200, 50)) as pilot:
        await press(pilot, "T", "c")
        view = app.screen.query_one(GridView)
        wide = len(view._panes[0].grid.columns)
        await pilot.resize_terminal(60, 20)
        await press(pilot)
        grid = view._panes[1].grid
        assert len(grid.columns) <= 60
        assert len(view._panes[0].grid.columns) <= wide
        assert "".join(cell.label for cell in grid.cells[-1] if cell) in drawn(view)


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
        assert "the compiler chooses it, see ttgir" in description(pilot, "a")
        await press(pilot, "escape")
        pilot.app.screen.stages.choose("glir")
        await press(pilot, "T")
        assert "as written (glir)" in description(pilot, "title")
