"""Levels of detail, source locations, and lines of a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.diff.rows import Change
from irscope.languages.document import Lines
from irscope.tui.app import IrscopeApp
from irscope.tui.widgets.bars import StatusLine
from irscope.workspace import Workspace
from tests.tui import captures
from tests.tui.driving import drawn, press, texts

WIDE = (160, 50)
FOLLOWS = Change.SHAPE | Change.CONSTANT


async def test_levels_of_detail(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "3")
        view, status = texts(pilot), app.screen.query_one(StatusLine)
        shapes = view.page.rows
        assert any(row.change and not row.change & ~FOLLOWS for row in shapes)
        assert "shapes too" in drawn(status)
        await press(pilot, "t")
        assert "raw text" in drawn(status)
        for row in view.page.rows:
            assert bool(row.change) == (view.page.text(row, False) != view.page.text(row, True))
        await press(pilot, "t")
        assert "real changes" in drawn(status)
        real = view.page.rows
        assert [row.change for row in real] == [
            row.change if row.change & ~FOLLOWS else Change.EQUAL for row in shapes
        ]
        assert any(row.change for row in real)
        await press(pilot, "t")
        assert view.page.rows == shapes


async def test_the_cursor_stays_on_its_line(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "3", "right_square_bracket", "right_square_bracket")
        place = texts(pilot).place
        for _ in range(3):
            await press(pilot, "t")
            assert texts(pilot).place == place


async def test_locations_are_hidden_by_default(app: IrscopeApp) -> None:
    async with app.run_test(size=(400, 50)) as pilot:
        await press(pilot, "3", "f", "G", "pageup", "pageup")
        view = texts(pilot)
        hidden = drawn(view)
        assert "tt.func" in "\n".join(view.page.left.lines)
        assert " loc(#loc" not in hidden
        await press(pilot, "L")
        assert " loc(#loc" in drawn(view)
        assert "locations" in drawn(app.screen.query_one(StatusLine))
        await press(pilot, "L")
        assert drawn(view) == hidden


@pytest.mark.parametrize("text", ["", "\n", "a", "a\n", "a\nb", "\n\na\n\n", "a\r\nb\x0bc"])
def test_lines_equal_those_of_split(text: str) -> None:
    lines = Lines(text)
    split = text.split("\n")
    assert list(lines) == split
    assert [lines[index] for index in range(len(lines))] == split
    with pytest.raises(IndexError):
        lines[len(lines)]


@pytest.mark.parametrize(("kind", "instruction"), [("sass", "  LDC R1, "), ("ptx", "   ret;")])
async def test_debug_information_has_no_rows(tmp_path: Path, kind: str, instruction: str) -> None:
    text = captures.stage("matmul_kernel", captures.SMALL, kind)
    made = [
        ({"N": 1}, {kind: text}),
        ({"N": 2}, {kind: text.replace(b" 1;", b" 3;").replace(b"0x28", b"0x38")}),
    ]
    path = captures.write(tmp_path / "x.irscope", made)
    app = IrscopeApp(Workspace(path))
    async with app.run_test(size=(120, 400)) as pilot:
        await press(pilot, "2", "f")
        view = texts(pilot)
        assert instruction in drawn(view)
        marks = "//## File", ".loc", ".debug_"
        whole = "\n".join(view.page.left.lines)
        shown = [view.page.text(row, False) or "" for row in view.page.rows]
        assert any(mark in whole for mark in marks)
        assert not [line for line in shown if any(mark in line for mark in marks)]
        await press(pilot, "G", "L")
        assert view.place[0] == view.page.rows[view.row].left
        assert len(view.page.rows) > len(shown)
        assert any(mark in drawn(view) for mark in marks)
        await press(pilot, "L")
        assert len(view.page.rows) == len(shown)
