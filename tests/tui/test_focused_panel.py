"""Searching and going to a number, in the panel that has the focus."""

from __future__ import annotations

from irscope.tui.app import IrscopeApp
from irscope.tui.widgets.findings_view import FindingsView
from irscope.tui.widgets.source_view import SourceView
from irscope.tui.widgets.variant_table import VariantTable
from tests.tui.driving import drawn, press, settled, texts

SIZE = (120, 40)


async def test_a_search_in_the_source_moves_there_and_not_in_the_texts(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "S")
        source = app.screen.query_one(SourceView)
        source.focus()
        await press(pilot, "home")
        await press(pilot, "slash", *"program_id", "enter")
        assert app.screen.focused is source
        assert "program_id" in source.text_under_cursor
        await press(pilot, "home", "n")
        assert "program_id" in source.text_under_cursor
        await press(pilot, "colon", *"24", "enter")
        assert source.text_under_cursor.startswith("@triton.jit")


async def test_the_table_is_searched_and_goes_to_a_variant(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        table = app.screen.query_one(VariantTable)
        table.focus()
        place = texts(pilot).place
        await press(pilot, "slash", *"arange", "enter")
        assert table.current is not None and table.current.id == 4
        assert app.screen.focused is table
        await press(pilot, "colon", *"2", "enter")
        assert table.current is not None and table.current.id == 2
        await press(pilot, "colon", *"9", "enter")
        assert any("No variant 9 here" in note.message for note in app._notifications)
        assert texts(pilot).place == place


async def test_a_search_that_is_canceled_returns_to_its_start_in_its_panel(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        findings = app.screen.query_one(FindingsView)
        findings.focus()
        await press(pilot, "slash", *"blocked", "escape")
        assert app.screen.focused is findings
        assert findings.cursor == 0
        await press(pilot, "colon", *"2", "enter")
        assert findings.selected == 1


async def test_values_are_in_the_columns_of_a_and_b_but_changes_are_not(app: IrscopeApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "J")  # B is the variant of 8 warps
        lines = drawn(app.screen.query_one(FindingsView)).split("\n")
        assert lines[0].split() == ["Findings:", "2", "of", "5", "A", "B", "where"]
        assert " ".join(lines[1].split()) == ">• tl.dot of line 45 wgmma m64n64k16 m64n128k16 ttgir:135"
        assert lines[2].startswith(
            " · #blocked threadsPerWarp [4, 8] -> [2, 16], warpsPerCTA [4, 1] -> [8, 1]"
        )


async def test_without_values_the_findings_have_no_columns_of_a_and_b(app: IrscopeApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "shift+tab", "G", "b")  # B is the variant that failed
        assert drawn(app.screen.query_one(FindingsView)).split("\n")[0].strip() == "Findings: 1"
