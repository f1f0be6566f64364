"""What leads on: the bottom line, the first page of the help, the order of the palette, and the tips."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from textual.widgets import OptionList

from irscope.tui.app import IrscopeApp
from irscope.tui.controllers.session import TIPS
from irscope.tui.home_visits import Start
from irscope.tui.settings import StateFolder
from irscope.tui.widgets.bars import KeyHints, TipBar
from irscope.workspace import Workspace
from tests.tui.driving import drawn, press, settled

NARROW = (80, 24)


def hints(app: IrscopeApp) -> str:
    """Return the bottom line."""
    return drawn(app.screen.query_one(KeyHints))


def tip(app: IrscopeApp) -> str:
    """Return the tip on screen, "" if there is none."""
    bar = app.screen.query_one(TipBar)
    return drawn(bar).strip() if bar.display else ""


async def test_the_best_screens_are_in_the_bottom_line_at_80_columns(app: IrscopeApp) -> None:
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        for hint in ("W why", "p passes", "S source", "? help", "^p all", "q quit"):
            assert hint in hints(app)
        await press(pilot, "shift+tab")
        assert hints(app).startswith(" a is A  b is B")
        assert "W why" in hints(app)


async def test_while_typing_the_bottom_line_has_the_keys_of_typing(app: IrscopeApp) -> None:
    async with app.run_test(size=NARROW) as pilot:
        await press(pilot, "slash")
        assert set(hints(app).split()) == {"⏎", "keep", "esc", "cancel", "^u", "clear"}
        await press(pilot, *"dot", "ctrl+u")
        assert app.screen.query_one("#search").value == ""  # type: ignore[attr-defined]
        await press(pilot, "escape", "colon")
        assert "esc cancel" in hints(app)
        assert "why" not in hints(app)


async def test_the_first_page_of_the_help_has_the_hints(app: IrscopeApp) -> None:
    async with app.run_test(size=NARROW) as pilot:
        await press(pilot, "question_mark")
        page = drawn(app.screen.query_one("HelpView"))
        for text in ("Most useful here", "Why it was compiled again", "Tab, Shift+Tab", "Command palette"):
            assert text in page


async def test_the_palette_begins_with_what_was_picked_and_what_is_likely(app: IrscopeApp) -> None:
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        entries = app.ordered_entries(app.screen)
        likely = [entry.keys for entry in entries if entry.group == "Likely"]
        assert [entry.keys for entry in entries[: len(likely)]] == likely
        assert {"W", "S", "+"} <= set(likely)
        groups = [entry.group for entry in entries]
        changes = sum(a != b for a, b in pairwise(groups))
        assert changes == len(set(groups)) - 1, "each group is in one piece"
        next(entry for entry in entries if entry.title == "Choose a theme").run()
        await settled(pilot)
        await press(pilot, "escape")
        assert app.ordered_entries(app.screen)[0].title == "Choose a theme"


async def test_each_entry_of_the_palette_is_one_line_at_80_columns(app: IrscopeApp) -> None:
    async with app.run_test(size=NARROW) as pilot:
        await press(pilot, "ctrl+p")
        options = app.screen.query_one(OptionList)
        prompts = [str(option.prompt).rstrip() for option in options.options]
        assert any(prompt.endswith("   Likely") for prompt in prompts)
        assert [prompt for prompt in prompts if len(prompt) > options.scrollable_content_region.width] == []
        assert options.virtual_size.height == len(prompts)


async def test_the_help_says_what_a_key_does_on_this_screen(tmp_path: Path) -> None:
    app = IrscopeApp(None, start=Start(StateFolder(tmp_path / "captures")))
    async with app.run_test(size=NARROW) as pilot:
        await press(pilot, "question_mark")
        first, _, rest = drawn(app.screen.query_one("HelpView")).partition("In the home screen")
        assert "/  Filter: words of a line" in first
        assert "/  Search; ignores case" in rest


async def test_a_tip_goes_on_when_it_is_done_and_is_not_shown_again(matmul: Path, tmp_path: Path) -> None:
    states = StateFolder(tmp_path / "captures")
    app = IrscopeApp(Workspace(matmul), start=Start(states))
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert tip(app) == TIPS[0][1]
        await press(pilot, "shift+tab")
        assert tip(app) == TIPS[1][1]
        await press(pilot, "G", "k", "b")
        assert tip(app) == TIPS[2][1]
    assert states.tips_done() == 3  # the last one was seen
    app = IrscopeApp(Workspace(matmul), start=Start(states))
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert tip(app) == TIPS[3][1]
        await press(pilot, "escape")
        assert tip(app) == ""


async def test_an_action_says_where_it_would_work(app: IrscopeApp) -> None:
    async with app.run_test(size=NARROW) as pilot:
        await press(pilot, "1", "right_square_bracket")
        await settled(pilot)
        message = [note.message for note in app._notifications][-1]
        assert message == "Only one text is on screen; A and B differ in 2 ttir"


def test_tips_fit_80_columns() -> None:
    assert all(len(text) <= NARROW[0] - 2 for _, text in TIPS)
