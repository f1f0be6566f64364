"""Pages: which rows differ, their screen lines, and searching them."""

from __future__ import annotations

import pytest

from irscope.diff.rows import Change, Row
from irscope.tui.page import LineKind, Page, PageSide, ScreenLayout, plain_page
from irscope.tui.widgets.search_bar import next_row

# 12 equal rows, then one changed, one removed, one added, 9 equal, one changed.
ROWS = [
    *(Row(i, i, Change.EQUAL) for i in range(12)),
    Row(12, 12, Change.SHAPE),
    Row(13, None, Change.REMOVED),
    Row(None, 13, Change.ADDED),
    *(Row(i, i, Change.EQUAL) for i in range(14, 23)),
    Row(23, 23, Change.LAYOUT),
]
LINES = [f"line {number}" for number in range(24)]


@pytest.fixture
def page() -> Page:
    return Page(
        PageSide(LINES, "mlir"), PageSide([*LINES[:13], "Line new", *LINES[14:]], "mlir"), ROWS, compared=True
    )


def test_runs_are_the_differing_ranges(page: Page) -> None:
    assert page.runs == [(12, 15), (24, 25)]


def test_every_line_has_its_row(page: Page) -> None:
    for index, row in enumerate(ROWS):
        if row.left is not None:
            assert page.row_of(row.left, False) == index
        if row.right is not None:
            assert page.row_of(row.right, True) == index


def test_two_sides_show_every_row_once(page: Page) -> None:
    layout = ScreenLayout(page, unified=False, folded=False)
    assert [line.row for line in layout] == list(range(len(ROWS)))


def test_unified_shows_both_lines_of_a_difference(page: Page) -> None:
    lines = list(ScreenLayout(page, unified=True, folded=False))
    assert len(lines) == len(ROWS) + 2
    assert [(line.row, line.kind) for line in lines[12:16]] == [
        (12, LineKind.LEFT),
        (12, LineKind.RIGHT),
        (13, LineKind.LEFT),
        (14, LineKind.RIGHT),
    ]


def test_folds_leave_context_and_can_be_opened(page: Page) -> None:
    lines = ScreenLayout(page, unified=False, folded=True)
    assert [(line.row, line.folded) for line in lines if line.kind is LineKind.FOLD] == [(0, 9), (18, 3)]
    opened = ScreenLayout(page, unified=False, folded=True, opened={0})
    assert [line.row for line in opened if line.kind is LineKind.FOLD] == [18]


@pytest.mark.parametrize("unified", [False, True])
@pytest.mark.parametrize("folded", [False, True])
def test_every_row_is_found_in_the_layout(page: Page, unified: bool, folded: bool) -> None:
    layout = ScreenLayout(page, unified, folded)
    for row in range(len(ROWS)):
        line = layout[layout.find(row)]
        assert line.row <= row < line.row + line.folded


def test_equal_texts_are_not_folded() -> None:
    rows = [Row(i, i, Change.EQUAL) for i in range(24)]
    page = Page(PageSide(LINES), PageSide(LINES), rows, compared=True)
    assert len(ScreenLayout(page, False, True)) == 24


def test_unaligned_texts_of_unequal_length() -> None:
    page = plain_page(PageSide(LINES), PageSide(LINES[:3]))
    assert [page.rows[2], page.rows[3]] == [Row(2, 2, Change.EQUAL), Row(3, None, Change.EQUAL)]
    assert len(page.rows) == 24
    assert page.runs == []


def test_search_has_smart_case(page: Page) -> None:
    assert page.matches("line 1", True) == [1, *range(10, 13), 13, *range(15, 21)]
    assert page.matches("Line", True) == [14]
    assert page.matches("line new", True) == [14]


def test_search_skips_hidden_locations() -> None:
    lines = ['%0 = arith.addi %a, %b : i32 loc("kernel.py":3:1)', "%1 = arith.muli %a, %b : i32"]
    rows = [Row(0, 0, Change.EQUAL), Row(1, 1, Change.EQUAL)]
    side = PageSide(lines, "mlir")
    assert Page(side, side, rows, compared=True).matches("kernel.py", False) == []
    assert Page(side, side, rows, compared=True).matches("kernel.py", True) == [0]
    assert Page(side, side, rows, compared=True, raw=True).matches("kernel.py", False) == [0]
    assert Page(side, side, rows, compared=True).matches("arith.addi", False) == [0]
    assert Page(PageSide(lines), None, rows).matches("kernel.py", False) == [
        0
    ]  # plain words have no locations


def test_matches_in_both_directions(page: Page) -> None:
    rows = page.matches("line 2", True)
    assert rows == [2, 21, 22, 23, 24]
    assert next_row(rows, 3, 1) == next_row(rows, 2, 1) == 21
    assert next_row(rows, 21, -1) == 2
    assert next_row(rows, rows[-1], 1) is None
    assert next_row(rows, rows[0], -1) is None


def test_line_numbers_are_those_of_the_file() -> None:
    side = PageSide(["# f.py", "def f():", ""], "python", [0, 41, 0])
    assert [side.number(line) for line in range(3)] == ["", "41", ""]
    assert side.number_width == 2
