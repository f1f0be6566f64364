"""The screen that explains the estimates of A and B, and their columns in the table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from irscope.tui.app import IrscopeApp
from irscope.tui.screens.estimate import EstimateScreen
from irscope.tui.widgets.document_view import DocumentView
from irscope.workspace import Workspace
from tests.tui import captures
from tests.tui.driving import drawn, press
from tests.tui.picture import characters


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Path:
    """A vector addition with two block sizes, and how it is launched."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache))
        return captures.launched(tmp_path_factory.mktemp("estimate") / "add.irscope")


async def test_b_explains_the_estimates_and_enter_goes_to_the_code(launched: Path):
    app = IrscopeApp(Workspace(launched))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("B")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(app.screen, EstimateScreen)
        shown = characters(app)
        assert "B is " in shown and "x faster by estimate (" in shown
        assert "us estimated on NVIDIA H100 SXM 80GB; bound by" in shown
        view = app.screen.query_one(DocumentView)
        view.cursor = view.landmarks()[0]
        await pilot.press("enter")
        await pilot.pause()
        assert not isinstance(app.screen, EstimateScreen)


async def shows(app: IrscopeApp, pilot: Pilot[Any], text: str) -> None:
    """Waits until a text is on the screen."""
    for _ in range(100):
        await app.workers.wait_for_complete()
        await pilot.pause(0.05)
        if text in characters(app):
            return
    raise AssertionError(f"{text!r} is not shown:\n{characters(app)}")


async def test_the_table_gets_the_estimates(launched: Path):
    app = IrscopeApp(Workspace(launched))
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(app, pilot, "Estimate us")
        assert "Bound by" in characters(app)


async def test_without_launches_the_key_says_why(matmul: Path):
    app = IrscopeApp(Workspace(matmul))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("B")
        await pilot.pause()
        assert not isinstance(app.screen, EstimateScreen)


async def test_d_shows_all_configs_on_the_devices_of_the_target(launched: Path):
    app = IrscopeApp(Workspace(launched))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("B")
        await app.workers.wait_for_complete()
        await pilot.press("d")
        await shows(app, pilot, "first by estimate")
        shown = characters(app)
        assert "first by estimate" in shown and "irscope table --devices" in shown
        assert all(name in shown for name in ("H100", "H200", "H20", "GH200")) and "L4" not in shown
        await pilot.press("d")
        await shows(app, pilot, "x faster by estimate (")


async def test_the_costs_of_a_pair_have_units(tmp_path: Path) -> None:
    app = IrscopeApp(Workspace(captures.softmax(tmp_path / "x.irscope")))
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "J")  # B has 4 warps
        assert "Shared 8 → 16 bytes" in drawn(app.screen.query_one("#costs"))
        await press(pilot, "B")
        assert re.search(r"\+ 3 barriers x \d+\)", characters(app))
