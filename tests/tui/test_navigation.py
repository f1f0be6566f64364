"""Going back, keys without a meaning, the help of the focused panel, the preview of themes."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Markdown

from irscope.tui.app import IrscopeApp
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.dialogs import ConfirmScreen
from irscope.tui.screens.documents import WhyScreen
from irscope.tui.screens.help import HelpScreen, HelpView
from irscope.tui.settings import Settings
from irscope.tui.widgets.bars import KeyHints
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.document_view import DocumentView
from irscope.tui.widgets.lesson_view import LessonCode, LessonView
from irscope.tui.widgets.search_bar import SearchBar
from irscope.workspace import Workspace
from tests.tui.compiling import until
from tests.tui.driving import drawn, press, settled, tab, texts
from tests.tui.picture import check_nothing_is_stale

SIZE = (160, 50)


def said(pilot: Pilot[None]) -> list[str]:
    return [note.message for note in pilot.app._notifications]


@pytest.mark.parametrize(
    "keys",
    [("3", *"jjGkgltu"), ("i", "i", *"jjk"), ("S", "tab", *"jjjk", "tab", *"jj"), ("shift+tab", *"jjksl"),
     ("T", *"ljnzc"), ("p", *"jkd"), ("C", *"ljhk"), ("slash", *"add", "enter", *"nnN")],
)  # fmt: skip
async def test_no_key_leaves_a_stale_line(app: IrscopeApp, keys: tuple[str, ...]) -> None:
    async with app.run_test(size=SIZE) as pilot:
        for key in keys:
            await press(pilot, key)
            check_nothing_is_stale(app)


async def test_back_from_a_jump_reopens_why_where_it_was(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "2", "G")
        before = texts(pilot).row
        await press(pilot, "W", "]", "]")
        line = app.screen.query_one(DocumentView).cursor
        await press(pilot, "enter")
        assert isinstance(app.screen, CompareScreen)
        await press(pilot, "ctrl+o")
        assert isinstance(app.screen, WhyScreen)
        assert app.screen.query_one(DocumentView).cursor == line
        await press(pilot, "q")
        assert (tab(pilot), texts(pilot).row) == ("ttir", before)


async def test_escape_undoes_one_thing_per_press(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "3", "z", "slash", *"tt.load")
        bar = app.screen.query_one("#search", SearchBar)
        assert (bar.display, bar.region.height) == (True, 1), "the search works while a panel is zoomed"
        await press(pilot, "enter")
        assert app.screen.maximized is not None
        await press(pilot, "escape")
        assert app.screen.maximized is None
        await press(pilot, "escape", "escape", "escape")
        assert said(pilot)[-1] == "Nothing to go back to; q quits"


@pytest.mark.parametrize("keys", ["T", "W", "C", "question_mark"])
async def test_what_quits_vim_goes_back(app: IrscopeApp, keys: str) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "3", keys)
        opened, row = app.screen, texts_of_main(app).row
        assert not isinstance(opened, CompareScreen)
        await press(pilot, "colon", *"q", "enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        assert texts_of_main(app).row == row
        await press(pilot, "colon", *"q", "enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))


async def test_a_number_goes_to_a_line_of_what_is_on_screen(app: IrscopeApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "question_mark", "colon", *"12", "enter")
        view = app.screen.query_one(HelpView)
        await until(pilot, lambda: view.cursor == 11)
        await press(pilot, "colon", *"9999", "enter")
        await until(pilot, lambda: "No number 9999 here" in said(pilot))
        assert view.cursor == 11


def texts_of_main(app: IrscopeApp) -> DiffView:
    return next(screen for screen in app.screen_stack if isinstance(screen, CompareScreen)).texts


async def test_a_key_that_does_nothing_says_so(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "p", "F", "C", "[")
        assert (
            said(pilot)[0]
            == "No passes were recorded; compile with --passes, or open the capture in a terminal"
        )
        assert said(pilot)[1] == (
            "F (Filter: words in a row, or registers>128) does nothing here, but in the table of variants; "
            "? lists the keys"
        )
        assert said(pilot)[2] == "[ (Previous change) does nothing here; ? lists the keys"


async def test_an_action_that_cannot_act_is_dimmed(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "shift+tab", "b")  # A and B are the same variant
        hints = app.screen.query_one(KeyHints).labels(400)
        dimmed = {label.text.strip() for label in hints if label.style == "hint--off"}
        assert {"swap", "next", "unify"} <= dimmed
        await press(pilot, "x")
        assert said(pilot)[-1].startswith("A and B are the same variant")


async def test_the_help_starts_with_the_focused_panel_and_is_filtered(matmul: Path) -> None:
    app = IrscopeApp(Workspace(matmul), Settings(keys={"sort": "f9"}))
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "shift+tab", "question_mark")
        assert isinstance(app.screen, HelpScreen)
        view = app.screen.query_one(HelpView)
        assert "Most useful here" in drawn(view).splitlines()[1]
        assert "Make this variant A" in drawn(view).splitlines()[2]
        await press(pilot, "slash", *"sort by", "enter")
        lines = [line for line in drawn(view).splitlines() if "Sort by" in line]
        assert [line.split()[0] for line in lines] == ["f9"]
        await press(pilot, "escape")
        assert isinstance(app.screen, HelpScreen), "Escape removes the filter first"
        await press(pilot, "escape")
        assert isinstance(app.screen, CompareScreen)


async def test_quitting_without_a_question(matmul: Path) -> None:
    app = IrscopeApp(Workspace(matmul), Settings(confirm_quit=False))
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await pilot.press("q")
        await pilot.pause()
        assert not app.is_running


async def test_a_theme_is_shown_before_it_is_chosen(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        before = app.theme
        app.search_themes()
        await press(pilot, *"nord")
        while app.theme != "nord":
            await pilot.pause(0.02)
        await press(pilot, "escape")
        assert (app.theme, app.chosen_theme) == (before, "")
        app.search_themes()
        await press(pilot, *"nord")
        while app.theme != "nord":
            await pilot.pause(0.02)
        await pilot.press("enter")
        while app.chosen_theme != "nord":
            await pilot.pause(0.02)


async def test_lessons_have_no_boxes_around_what_a_lexer_does_not_know(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await app.screen.mount(LessonView(id="lesson"))
        await settled(pilot)
        await app.screen.query_one(LessonView).show("x", "```ptx\n@%p1 bra $L;\n...\n```\n")
        code = app.screen.query_one(Markdown).query_one(LessonCode)
        assert not [span for span in code._highlighted_code.spans if "error" in str(span.style)]
