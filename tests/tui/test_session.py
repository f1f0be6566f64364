"""A capture opens as it was left, and nothing hides what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.tui.app import IrscopeApp
from irscope.tui.home_visits import Start
from irscope.tui.settings import CaptureState, StateFolder, now
from irscope.tui.widgets.search_bar import SearchBar
from irscope.tui.widgets.variant_table import VariantTable
from irscope.workspace import Scope, Workspace
from tests.tui import captures
from tests.tui.driving import press, settled, tab, texts

SIZE = (160, 50)


def opened(path: Path, folder: Path, fresh: bool = False) -> IrscopeApp:
    return IrscopeApp(Workspace(path), start=Start(StateFolder(folder), fresh))


async def leave(path: Path, folder: Path) -> None:
    """Opens the capture, changes what is remembered, and quits."""
    app = opened(path, folder)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "2", "S", "t", "shift+tab", "G", "k", "b", "l", "s")
        await press(pilot, "F", *"BLOCK_M>100", "enter")
        app.choose_theme("nord")
        assert app.screen.pair.b.id == 3  # type: ignore[attr-defined]


async def test_everything_is_restored(matmul: Path, tmp_path: Path) -> None:
    content = matmul.read_bytes()
    await leave(matmul, tmp_path / "s")
    app = opened(matmul, tmp_path / "s")
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        table = app.screen.query_one(VariantTable)
        assert table._pair == (1, 3)
        assert tab(pilot) == "ttir"
        assert table.sorting == ("BLOCK_M", False)
        bar = app.screen.query_one("#filter", SearchBar)
        assert (bar.value, bar.display) == ("BLOCK_M>100", True)
        assert [variant.id for variant in table.order] == [2, 3]
        assert app.screen.query_one("#source").display
        assert app.theme == "nord"
    assert matmul.read_bytes() == content


async def test_fresh_ignores_it(matmul: Path, tmp_path: Path) -> None:
    await leave(matmul, tmp_path / "s")
    app = opened(matmul, tmp_path / "s", fresh=True)
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        assert app.screen.query_one(VariantTable)._pair == (1, 2)
        assert not app.screen.query_one("#filter").display


async def test_other_variants_under_the_same_numbers_are_not_restored(tmp_path: Path) -> None:
    path = captures.matmul(tmp_path / "x.irscope")
    await leave(path, tmp_path / "s")
    path.unlink()
    captures.traced(path)
    app = opened(path, tmp_path / "s")
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        assert app.screen.query_one(VariantTable)._pair == (1, 2)
        assert texts(pilot).page.compared


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff", b"{}", b'{"version": 1}', b'{"version": 1, "path": 3}', b"[" * 99_999],
)
def test_a_damaged_state_counts_as_missing(tmp_path: Path, content: bytes) -> None:
    states = StateFolder(tmp_path)
    states.save(CaptureState("/x.irscope", now(), a=1))
    (file,) = tmp_path.glob("*.json")
    assert [state.a for state in states.recent()] == [1]
    file.write_bytes(content)
    assert states.load(Path("/x.irscope")) is None
    assert states.recent() == []


def test_the_number_and_size_of_states_are_limited(tmp_path: Path) -> None:
    states = StateFolder(tmp_path)
    for number in range(105):
        states.save(
            CaptureState(f"/{number}.irscope", now(), kernels=("k" * 10_000,) * 50, filter="x" * 9999)
        )
    files = list(tmp_path.iterdir())
    assert len(files) == 100
    assert max(file.stat().st_size for file in files) < 10_000
    assert states.recent()[0].path == "/104.irscope"


def test_a_folder_that_cannot_be_written_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    states = StateFolder(tmp_path / "file")
    states.save(CaptureState("/x.irscope", now()))
    assert states.load(Path("/x.irscope")) is None
    assert states.recent() == []


async def test_the_kernel_and_the_target_are_restored(matmul: Path, tmp_path: Path) -> None:
    chosen = Scope("matmul_kernel", "cuda:90")
    app = opened(matmul, tmp_path / "s")
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        app.screen.query_one(VariantTable).choose(chosen)
    app = opened(matmul, tmp_path / "s")
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        assert app.screen.query_one(VariantTable).model.scope == chosen


async def test_panels_have_the_size_that_keys_and_the_mouse_gave_them(matmul: Path, tmp_path: Path) -> None:
    app = opened(matmul, tmp_path / "s")
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "shift+tab", "left_parenthesis", "left_parenthesis")
        assert app.screen.query_one("#variants").size.height == 3
        before, text = (app.screen.query_one(name).outer_size.height for name in ("#findings", "#texts"))
        await pilot.mouse_down("#findings", offset=(5, 0))
        await pilot.hover("#texts", offset=(5, text - 4))
        await pilot.mouse_up("#texts", offset=(5, text - 4))
        await settled(pilot)
        dragged = app.screen.query_one("#findings").outer_size.height
        assert dragged > before
    app = opened(matmul, tmp_path / "s")
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        sizes = [app.screen.query_one(name).outer_size.height for name in ("#variants", "#findings")]
        assert sizes == [3, dragged]
        await press(pilot, *["right_parenthesis"] * 60)
        assert app.screen.query_one("#texts").size.height > 10
        assert app.screen.query_one("#findings").size.height == 1


async def test_a_damaged_size_is_no_size(matmul: Path, tmp_path: Path) -> None:
    StateFolder(tmp_path / "s").save(CaptureState(str(matmul), now(), sizes=("a b:c", "findings=x", "")))
    app = opened(matmul, tmp_path / "s")
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        assert app.screen.query_one("#findings").size.height == 1
