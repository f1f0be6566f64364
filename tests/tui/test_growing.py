"""A capture that another process writes while the app shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.model import UserError
from irscope.tui.app import IrscopeApp
from irscope.tui.controllers import live_updates
from irscope.tui.home_visits import Start
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.home import HomeScreen
from irscope.tui.screens.waiting import WaitingScreen
from irscope.tui.settings import StateFolder
from irscope.tui.widgets.bars import StatusLine, TitleBar
from irscope.tui.widgets.variant_table import VariantTable
from irscope.workspace import Workspace
from tests.growing import OtherWriter
from tests.tui.compiling import until
from tests.tui.driving import drawn, press, settled

_STAGES = Path(__file__).parent.parent / "data" / "stages"
_TTIR = next(_STAGES.glob("matmul_kernel.*.ttir"))
WIDE = (160, 50)


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_updates, "_INTERVAL", 0.02)
    monkeypatch.setattr(live_updates, "_SHARE", 10.0)


def _table(app: IrscopeApp) -> VariantTable:
    return app.screen.query_one("#variants", VariantTable)


def _title(app: IrscopeApp) -> str:
    return drawn(app.screen.query_one(TitleBar))


async def test_rows_appear_and_what_the_user_chose_stays(tmp_path: Path) -> None:
    path = tmp_path / "k.irscope"
    with OtherWriter(path, 4, {"ttir": _TTIR}) as writer, Workspace(path) as workspace:
        writer.add(64, 16)
        workspace.live.reread()
        app = IrscopeApp(workspace)
        async with app.run_test(size=WIDE) as pilot:
            await until(pilot, lambda: "2 of 4 variants, still compiling" in _title(app))
            _table(app).focus()
            await press(pilot, "l", "s", "g", "b")  # B is the smallest BLOCK, sorted by it
            await press(pilot, "F", *"BLOCK<100", "enter")
            chosen = app.screen.pair.a.id, app.screen.pair.b.id
            writer.add(32, 128)
            await until(pilot, lambda: len(_table(app).model.all) == 4)
            assert [variant.config.get("BLOCK") for variant in _table(app).order] == [16, 32, 64]
            assert (app.screen.pair.a.id, app.screen.pair.b.id) == chosen
            current = _table(app).current
            assert current is not None and current.config.get("BLOCK") == 16
            writer.close()
            await until(pilot, lambda: "compiling" not in _title(app) and "written" not in _title(app))
            assert "  4 variants  " in _title(app)


async def test_the_first_two_variants_become_a_and_b(tmp_path: Path) -> None:
    path = tmp_path / "k.irscope"
    with OtherWriter(path, 2, {"ttir": _TTIR}) as writer:
        writer.add(64)
        app = IrscopeApp(Workspace(path))
        async with app.run_test(size=WIDE) as pilot:
            assert app.screen.pair.single
            writer.add(32)
            await until(pilot, lambda: not app.screen.pair.single)
            assert [app.screen.pair.a.id, app.screen.pair.b.id] == [1, 2]


async def test_says_that_the_writer_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "k.irscope"
    with OtherWriter(path, 3, {"ttir": _TTIR}) as writer:
        writer.add(64, 32)
        app = IrscopeApp(Workspace(path))
        async with app.run_test(size=(80, 24)) as pilot:
            status = app.screen.query_one(StatusLine)
            await until(pilot, lambda: "2 of 3, still compiling" in drawn(status))
            writer.kill()
            await until(pilot, lambda: "2 of 3, incomplete" in drawn(status))
            (note,) = app._notifications
            assert note.message.startswith("The writer has ended, 2 of 3; `irscope compile --resume`")


async def test_an_empty_capture_is_shown_once_it_has_a_variant(tmp_path: Path) -> None:
    path = tmp_path / "k.irscope"
    with OtherWriter(path, 2, {"ttir": _TTIR}) as writer:
        app = IrscopeApp(Workspace(path))
        async with app.run_test(size=WIDE) as pilot:
            assert isinstance(app.screen, WaitingScreen)
            writer.add(64)
            await until(pilot, lambda: isinstance(app.screen, CompareScreen))
            await until(pilot, lambda: "1 of 2 variants, still compiling" in _title(app))


async def test_from_the_home_screen_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "k.irscope"
    with OtherWriter(path, 2, {"ttir": _TTIR}) as writer:
        app = IrscopeApp(None, start=Start(StateFolder(tmp_path / "state")))
        async with app.run_test(size=WIDE) as pilot:
            await settled(pilot)
            app._open_capture(path)
            await until(pilot, lambda: isinstance(app.screen, WaitingScreen))
            await press(pilot, "q")
            assert isinstance(app.screen, HomeScreen) and not app._opened
            app._open_capture(path)
            writer.add(64)
            await until(pilot, lambda: isinstance(app.screen, CompareScreen))
            await press(pilot, "q")
            assert isinstance(app.screen, HomeScreen) and not app._opened


async def test_an_empty_capture_that_nobody_writes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "k.irscope"
    with OtherWriter(path, 2) as writer:
        writer.kill()
    with Workspace(path) as workspace, pytest.raises(UserError, match="no variants yet"):
        IrscopeApp(workspace)
