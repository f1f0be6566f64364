"""Keys and the mouse in the real app."""

from __future__ import annotations

import asyncio
from pathlib import Path
from threading import Event

import pytest
from textual.command import CommandList
from textual.widgets import Input

from irscope.model import UserError
from irscope.tui import key_help, keys
from irscope.tui.app import IrscopeApp
from irscope.tui.bindings import ASK, LEAVE, MOVE, READ
from irscope.tui.palette import Palette
from irscope.tui.screens import OPENING_KEYS, overlay, overlays
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.dialogs import ConfirmScreen
from irscope.tui.screens.help import HelpScreen
from irscope.tui.screens.home import HomeScreen
from irscope.tui.widgets.bars import StageTabs, StatusLine
from irscope.tui.widgets.findings_view import FindingsView
from irscope.tui.widgets.search_bar import FilterBar, PanelSearch
from irscope.tui.widgets.variant_table import VariantTable
from irscope.workspace import Workspace
from tests.tui.driving import drawn, press, settled, tab, texts

WIDE = (160, 50)


async def test_opens_with_the_first_two_variants_and_the_first_stage_that_differs(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        rows = drawn(app.screen.query_one(VariantTable)).splitlines()
        assert rows[1].split()[:2] == [">A", "1"]
        assert rows[2].split()[:2] == ["B", "2"]
        assert rows[4].startswith("   !")
        assert "failed: CompilationError: arange's range must be a power of 2" in rows[4]
        tabs = drawn(app.screen.query_one(StageTabs))
        assert "1 python" in tabs
        assert "ptx A only" in tabs
        page = texts(pilot).page
        assert page.compared
        assert page.rows[texts(pilot).row].change
        assert app.focused is texts(pilot)


async def test_moving_the_cursor(app: IrscopeApp) -> None:
    async with app.run_test(size=(160, 30)) as pilot:
        await press(pilot, "f", "g")
        view = texts(pilot)
        places = []
        for key in ("j", "down", "k", "up", "pagedown", "space", "pageup", "G", "home", "end", "g"):
            await press(pilot, key)
            places.append(view.cursor)
        last = view.line_count() - 1
        page = view.page_lines - 1
        assert places == [1, 2, 1, 0, page, 2 * page, page, last, 0, last, 0]


async def test_the_cursor_stays_on_screen(app: IrscopeApp) -> None:
    async with app.run_test(size=(160, 30)) as pilot:
        await press(pilot, "f", "G", "k")
        view = texts(pilot)
        assert view.scroll_offset.y <= view.cursor < view.scroll_offset.y + view.page_lines


async def test_going_to_changes(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "g")
        view = texts(pilot)
        firsts = [first for first, _ in view.page.runs]
        assert firsts[0] == view.row == 0
        await press(pilot, "right_square_bracket", "right_square_bracket")
        assert view.row == firsts[2]
        await press(pilot, "left_square_bracket")
        assert view.row == firsts[1]


async def test_panning_stops_at_the_start_and_before_the_end(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        view = texts(pilot)
        before = drawn(view)
        await press(pilot, "l", "right")
        assert drawn(view) != before
        await press(pilot, "h", "left", "h")
        assert drawn(view) == before
        await press(pilot, "l", "0")
        assert drawn(view) == before


async def test_folds_open_one_by_one_and_all_at_once(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "3")
        view = texts(pilot)
        folded = view.line_count()
        assert "equal lines" in drawn(view)
        await press(pilot, "g")
        fold = next(y for y, line in enumerate(drawn(view).splitlines()) if "equal lines" in line)
        await press(pilot, *["j"] * (fold - 1), "enter")
        opened = view.line_count()
        assert opened > folded
        await press(pilot, "f")
        assert view.line_count() == len(view.page.rows) > opened
        await press(pilot, "f")
        assert view.line_count() == folded


async def test_unified_keeps_the_row(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "right_square_bracket")
        view = texts(pilot)
        row = view.row
        assert not view.unified
        await press(pilot, "u")
        assert view.unified
        assert view.row == row
        assert "~A" in drawn(view)
        assert "~B" in drawn(view)


async def test_a_narrow_panel_has_one_column(app: IrscopeApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert texts(pilot).unified
        await pilot.resize_terminal(160, 50)
        await settled(pilot)
        assert not texts(pilot).unified


async def test_stages_by_number(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        shown = []
        for number in "12345":
            await press(pilot, number)
            shown.append(tab(pilot))
        assert shown == ["python", "ttir", "ttgir", "ptx", "sass"]
        await press(pilot, "9")
        assert tab(pilot) == "sass"


async def test_a_stage_keeps_its_cursor(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "2", "j", "j", "j")
        line = texts(pilot).place
        await press(pilot, "3", "G", "2")
        assert texts(pilot).place == line


async def test_python_has_the_line_numbers_of_its_file(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "1")
        lines = [line.split() for line in drawn(texts(pilot)).splitlines()]
        assert ["25", "def", "matmul_kernel(a_ptr,", "b_ptr,", "c_ptr,", "M,", "N,", "K):"] in lines
        assert ["8", "def", "tile(x):"] in lines


async def test_swap(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "x")
        heading = drawn(texts(pilot)).splitlines()[0]
        assert heading.index("A #2") < heading.index("B #1")


async def test_stepping_b_skips_a(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "J")
        assert "B #3" in drawn(texts(pilot)).splitlines()[0]
        await press(pilot, "K")
        assert "B #2" in drawn(texts(pilot)).splitlines()[0]
        await press(pilot, "K")
        assert "B #2" in drawn(texts(pilot)).splitlines()[0]  # above it there is only A
        await press(pilot, "J", "x", "K")
        assert "A #3" in drawn(texts(pilot)).splitlines()[0]


async def test_marking_a_and_b_in_the_table(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "shift+tab", "j", "a", "j", "b")
        heading = drawn(texts(pilot)).splitlines()[0]
        assert "A #2" in heading
        assert "B #3" in heading
        await press(pilot, "g", "enter")
        assert "B #1" in drawn(texts(pilot)).splitlines()[0]


async def test_a_single_variant(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "shift+tab", "b")
        assert "A=B #1" in drawn(texts(pilot)).splitlines()[0]
        assert texts(pilot).page.right is None


async def test_sorting_by_a_column_and_back(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        table = app.screen.query_one(VariantTable)
        await press(pilot, "shift+tab", "l", "s")
        assert [variant.id for variant in table.order] == [1, 4, 2, 3]
        await press(pilot, "s")
        assert [variant.id for variant in table.order] == [2, 3, 4, 1]
        assert table.current is not None
        assert table.current.id == 2, "sorting goes to the top"
        await press(pilot, "h", "s")
        assert [variant.id for variant in table.order] == [1, 2, 3, 4]


async def test_search_while_typing_next_and_previous(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "3", "g", "slash", *"arith.addi")
        view = texts(pilot)
        matches = view.page.matches("arith.addi", False)
        assert len(matches) > 0
        assert view.row == matches[0]
        await press(pilot, "enter", "n")
        assert view.row == matches[1 % len(matches)]
        await press(pilot, "N", "N")
        assert view.row == matches[-1]
        assert app.focused is view
        status = app.screen.query_one(StatusLine)
        assert f"{len(matches)} of {len(matches)} with arith.addi" in drawn(status)
        await press(pilot, "n", "n")
        assert f"2 of {len(matches)} with arith.addi" in drawn(status)
        await press(pilot, "g")
        assert f"{len(matches)} lines with arith.addi" in drawn(status)


async def test_no_match_is_said_while_typing_and_after(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "3", "slash", *"arith.nothing")
        bar, status = app.screen.query_one(PanelSearch), app.screen.query_one(StatusLine)
        assert bar.has_class("-no-match")
        assert "no match for arith.nothing" in drawn(status)
        await press(pilot, *["backspace"] * len("nothing"))
        assert not bar.has_class("-no-match")
        await press(pilot, *"zz", "enter", "n")
        assert "no match for arith.zz" in drawn(status)
        await press(pilot, "escape", "shift+tab", "F", *"nothing")
        assert app.screen.query_one(FilterBar).has_class("-no-match")


async def test_colon_q_asks_whether_to_quit(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "colon", "q", "enter")
        assert isinstance(app.screen, ConfirmScreen)


async def test_half_a_page_and_a_page_as_in_vim(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "3", "f", "g", "ctrl+d", "ctrl+d")
        view = texts(pilot)
        halves = view.scroll_offset.y
        await press(pilot, "g", "ctrl+f")
        assert 0 < halves <= view.scroll_offset.y <= halves + 1
        await press(pilot, "ctrl+u", "ctrl+u", "ctrl+b")
        assert view.scroll_offset.y == 0


async def test_canceling_a_search_returns_to_its_start(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "f", "g", "slash", *"tt.store", "escape")
        assert texts(pilot).row == 0
        assert not app.screen.query_one(Input).display


async def test_copy(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        view = texts(pilot)
        row = view.page.rows[view.row]
        assert row.left is not None
        assert row.right is not None
        assert view.page.right is not None
        await press(pilot, "y")
        assert app.clipboard == view.page.right.lines[row.right]
        await press(pilot, "x", "y")  # A is B then
        assert view.page.right is not None
        assert app.clipboard == view.page.right.lines[view.page.rows[view.row].right or 0]


async def test_findings_are_those_of_the_workspace(app: IrscopeApp, matmul: Path) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        view = app.screen.query_one(FindingsView)
        main = [row.finding for row in view.findings]
        view.action_all_findings()
        every = [row.finding for row in view.findings]
    with Workspace(matmul) as workspace:
        comparison = workspace.compare(workspace.live.by_id(1), workspace.live.by_id(2))
        assert (main, every) == (list(comparison.main_findings), list(comparison.findings))


async def test_findings_go_to_their_evidence(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "1", "tab")
        findings = app.screen.query_one(FindingsView)
        assert app.focused is findings
        lines = drawn(findings).splitlines()
        proven = next(index for index, line in enumerate(lines) if "ttgir:" in line)
        await press(pilot, *["j"] * (proven - 1), "enter")
        assert tab(pilot) == "ttgir"
        assert app.focused is texts(pilot)
        await press(pilot, "escape")
        assert tab(pilot) == "python"
        assert app.focused is findings


async def test_panels_hide_and_show(app: IrscopeApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        table, findings = app.screen.query_one(VariantTable), app.screen.query_one(FindingsView)
        assert (table.display, findings.display, findings.one_line) == (True, True, True)
        await press(pilot, "v", "i")
        assert (table.display, findings.display, findings.one_line) == (False, True, False)
        await press(pilot, "v", "i")
        assert (table.display, findings.display) == (True, False)
        await press(pilot, "i")
        assert (findings.display, findings.one_line) == (True, False), "as large as it was"


async def test_zoom(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        height = texts(pilot).size.height
        await press(pilot, "z")
        assert texts(pilot).size.height > height
        await press(pilot, "z")
        assert texts(pilot).size.height == height


async def test_mouse_moves_sorts_and_picks_tabs(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.click("#variants", offset=(8, 3))
        await settled(pilot)
        table = app.screen.query_one(VariantTable)
        assert table.cursor == 2
        await pilot.click("#variants", offset=(8, 2), times=2)
        await settled(pilot)
        assert "B #2" in drawn(texts(pilot)).splitlines()[0]
        await pilot.click("#stages", offset=(3, 0))
        await settled(pilot)
        assert tab(pilot) == "python"
        hints = drawn(app.screen.query_one("#keys"))
        await pilot.click("#keys", offset=(hints.index("? help"), 0))
        await settled(pilot)
        assert isinstance(app.screen, HelpScreen)


async def test_help_has_every_key(app: IrscopeApp) -> None:
    async with app.run_test(size=(160, 260)) as pilot:
        await press(pilot, "question_mark")
        assert isinstance(app.screen, HelpScreen)
        shown = drawn(app.screen.query_one("HelpView"))
        for group in key_help.sections():
            for binding in group.bindings:
                assert binding.tooltip in shown
        await press(pilot, "q")
        assert not isinstance(app.screen, HelpScreen)


async def test_the_palette_has_every_action(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "S")
        entries = {entry.title: entry for entry in app.palette_entries(app.screen)}
        screens = [*overlays(), HomeScreen]
        others = [keys.LESSON, LEAVE, READ, ASK, *(group for one in screens for group in one.KEYS)]
        others += [panel.KEYS for one in screens for panel in one.PANELS]
        elsewhere = {binding.tooltip for group in others for binding in group.bindings}
        elsewhere |= {binding.tooltip for binding in (keys.HOME, keys.RETURN, keys.BACK)}
        elsewhere |= {binding.tooltip for binding in (*MOVE.bindings, *keys.STAGES)}  # one presses these
        for group in key_help.sections():
            for binding in group.bindings:
                assert binding.tooltip in entries.keys() | elsewhere
        await entries["Swap A and B"].run()  # type: ignore[misc]
        await settled(pilot)
        assert "A #2" in drawn(texts(pilot)).splitlines()[0]


@pytest.mark.parametrize("confirmed", ["q", "y"])
async def test_quit_asks_first(app: IrscopeApp, confirmed: str) -> None:
    async with app.run_test(size=WIDE) as pilot:
        for stay in ("escape", "n"):
            await press(pilot, "q", stay)
            assert app.is_running
            assert not isinstance(app.screen, ConfirmScreen)
        await press(pilot, "q")
        assert isinstance(app.screen, ConfirmScreen)
        await pilot.press(confirmed)
        await pilot.pause()
        assert not app.is_running


@pytest.mark.parametrize("key", ["1", "enter", "question_mark"])
async def test_another_key_closes_the_question_and_acts(app: IrscopeApp, key: str) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "q")
        assert isinstance(app.screen, ConfirmScreen)
        await press(pilot, key)
        assert app.is_running
        if key == "question_mark":
            assert isinstance(app.screen, HelpScreen)
        else:
            assert isinstance(app.screen, CompareScreen)
            assert (tab(pilot) == "python") == (key == "1")


@pytest.mark.parametrize("key", ["ctrl+q", "ctrl+c"])
async def test_control_quits_at_once(app: IrscopeApp, key: str) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press(key)
        await pilot.pause()
        assert not app.is_running


async def test_sass_is_disassembled_on_demand(app: IrscopeApp, matmul: Path) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert "sass ·" in drawn(app.screen.query_one(StageTabs))
        await press(pilot, "5")
        page = texts(pilot).page
        assert page.compared
        assert page.right is not None
        assert "MOV R1" in page.right.lines[1]


async def test_a_stage_is_shown_while_others_are_compared(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        compared = Event()
        app._background.later(compared.wait)  # as a comparison of two big stages
        try:
            await pilot.press("5")
            async with asyncio.timeout(10):
                while "MOV R1" not in drawn(texts(pilot)):
                    await pilot.pause(0.05)
            assert not texts(pilot).page.compared
        finally:
            compared.set()
        await settled(pilot)
        assert texts(pilot).page.compared


async def test_a_missing_disassembler_is_reported(matmul: Path) -> None:
    def disassemble(cubin: bytes) -> str:
        raise UserError("SASS needs nvdisasm")

    app = IrscopeApp(Workspace(matmul, disassemble))
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("5")
        await pilot.pause(0.2)
        assert [note.message for note in app._notifications] == ["SASS needs nvdisasm"]
        assert "sass !" in drawn(app.screen.query_one(StageTabs))


async def test_a_failure_is_shown_completely(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "shift+tab", "G", "b")
        assert "arange's range must be a power of 2" in drawn(texts(pilot))
        assert "[bold]not markup[/bold]" in drawn(texts(pilot))
        assert "arange's range" in drawn(app.screen.query_one(StatusLine))
        await press(pilot, "tab", "G")
        assert "frame 59" in drawn(texts(pilot))


async def test_no_key_fails_in_a_palette_without_matches(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "ctrl+p", *"qqzz", "pagedown", "pageup", "ctrl+home", "ctrl+end", "down", "enter")
        await press(pilot, "escape")
        assert isinstance(app.screen, CompareScreen)


async def test_a_second_enter_in_the_palette_does_nothing(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "ctrl+p", *"swap a and b")
        palette = app.screen
        assert isinstance(palette, Palette)
        found = palette.query_one(CommandList)
        while not found.option_count:
            await pilot.pause(0.05)
        found.highlighted = 0
        for _ in range(3):
            found.action_select()
        await pilot.pause(0.2)
        palette._action_escape()
        assert isinstance(app.screen, CompareScreen)
        await settled(pilot)
        assert app.recent == ["Swap A and B"]
        assert "A #2" in drawn(texts(pilot)).splitlines()[0]


async def test_a_screen_that_opens_while_the_app_ends_is_no_error(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        help_screen = HelpScreen([], lambda binding: "")
        app.push_screen(help_screen)
        # As of a screen that the end of the app reaches first.
        help_screen._closing = True
        help_screen._message_queue.put_nowait(None)
        app.exit()
    assert app._exception is None


def test_each_key_opens_the_screen_that_names_it():
    assert [overlay(binding.id or "").OPENED_BY for binding in OPENING_KEYS] == list(OPENING_KEYS)
    assert [screen.OPENED_BY for screen in overlays()] == list(OPENING_KEYS)
