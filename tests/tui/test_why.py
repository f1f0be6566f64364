"""The `why` screen: its text, and its links."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from irscope.tui.app import IrscopeApp
from irscope.tui.screens.documents import WhyScreen
from irscope.tui.widgets.document_view import DocumentView
from irscope.workspace import Workspace
from tests.tui import captures
from tests.tui.driving import drawn, press, tab, texts

WIDE = (160, 60)


@pytest.fixture
def traced(tmp_path: Path) -> IrscopeApp:
    return IrscopeApp(Workspace(captures.traced(tmp_path / "traced.irscope")))


async def go(pilot: Pilot[None], words: str) -> None:
    """Moves to the first line with these words, and presses Enter."""
    view = pilot.app.screen.query_one(DocumentView)
    lines = range(view.line_count())
    view.cursor = next(index for index in lines if words in view.plain_text(index))
    await press(pilot, "enter")


async def test_it_shows_reasons_effects_and_verdict(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "W")
        said = drawn(app.screen.query_one(DocumentView))
        assert "A #1 BLOCK_M=64  B #2 BLOCK_M=128" in said
        assert "constexpr BLOCK_M: 64 -> 128" in said
        assert "What changed" in said
        assert "First real difference: tt" in said
        assert "Unknown: the capture does not have the machine code of both" in said
        assert "matmul_kernel in this capture: compiled 4 times" in said
        assert "1 failed" in said
        await press(pilot, "q")
        assert not isinstance(app.screen, WhyScreen)


async def test_a_reason_leads_to_its_line_of_python(traced: IrscopeApp) -> None:
    async with traced.run_test(size=WIDE) as pilot:
        await press(pilot, "W")
        await go(pilot, "constexpr BLOCK_M")
        assert tab(pilot) == "python"
        assert "BLOCK_M" in (texts(pilot).line_text(True) or "")
        assert traced.focused is texts(pilot)


async def test_an_effect_leads_to_its_stage(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "1", "W")
        await go(pilot, "First real difference")
        assert tab(pilot) in ("ttir", "ttgir")
        view = texts(pilot)
        assert view.page.rows[view.row].change


async def test_a_line_without_a_target_leads_nowhere(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "W")
        await go(pilot, "Was it worth it")
        assert isinstance(app.screen, WhyScreen)


async def test_a_single_variant_shows_all_compilations(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "shift+tab", "b", "W")
        shown = drawn(app.screen.query_one(DocumentView))
        assert "the same variant" in shown
        assert "because of these inputs" in shown


async def test_a_failed_variant_has_no_verdict(app: IrscopeApp) -> None:
    async with app.run_test(size=(60, 20)) as pilot:
        await press(pilot, "shift+tab", "G", "b", "W", "G")
        assert app.is_running
        view = app.screen.query_one(DocumentView)
        shown = " ".join(view.plain_text(index).strip() for index in range(view.line_count()))
        assert "one of the two failed" in shown


async def test_hostile_names_stay_text(tmp_path: Path) -> None:
    app = IrscopeApp(Workspace(captures.hostile(tmp_path / "hostile.irscope")))
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "W")
        assert drawn(app.screen.query_one(DocumentView)).replace("\n", "").isprintable()
        await press(pilot, "q", "C", "escape")
        assert app.is_running
