"""The chart: drawing at any size, moving, marking."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from irscope.tui.app import IrscopeApp
from irscope.tui.plot import Plot
from irscope.tui.screens.chart import ChartScreen, ChartView
from irscope.tui.widgets.variant_table import VariantTable
from irscope.workspace import Workspace
from irscope.workspace.charts import axes, chart, chartable_facts
from tests.findings.test_chart_data import FACTS, REGISTERS, VARIANTS, facts, variant
from tests.tui.driving import drawn, press, settled, texts

WIDE = (120, 40)


def text(plot: Plot, cursor: int = 0, pair: tuple[int, int] = (0, 0)) -> list[str]:
    return ["".join(cell.text for cell in line) for line in plot.draw(cursor, pair)]


def under_cursor(pilot: Pilot[None]) -> int:
    point = pilot.app.screen.query_one(ChartView).point
    assert point is not None
    return point.variant.id


def bar(pilot: Pilot[None], name: str) -> str:
    return drawn(pilot.app.screen.query_one(f"#chart-{name}"))


def test_points_are_at_their_values() -> None:
    variants = [variant(1, B=1), variant(2, B=2), variant(3, B=4)]
    known = {1: facts(0), 2: facts(50), 3: facts(100)}
    lines = text(Plot(chart(variants, known, REGISTERS, "B"), 34, 13), cursor=2, pair=(3, 0))
    assert len(lines) == 13
    assert {len(line) for line in lines} == {34}
    assert "A" in lines[0]
    assert "[●]" in lines[5]
    assert "●" in lines[10]
    assert [lines[row].split()[0] for row in (0, 5, 10)] == ["100", "50", "0"]
    assert lines[12].split() == ["1", "2", "4"]
    places = [lines[row].index(mark) for row, mark in ((10, "●"), (5, "●"), (0, "A"))]
    assert places == sorted(places)


def test_falling_and_level_lines_are_drawn_so() -> None:
    variants = [variant(1, B=1), variant(2, B=2), variant(3, B=3)]
    plot = Plot(chart(variants, {1: facts(100), 2: facts(0), 3: facts(0)}, REGISTERS, "B"), 40, 12)
    dots = {
        (x, y)
        for y, line in enumerate(text(plot))
        for x, sign in enumerate(line)
        if 0x2800 < ord(sign) < 0x2900
    }
    falling = [min(y for at, y in dots if at == x) for x in range(12, 20)]
    assert falling == sorted(falling)
    assert falling[0] < falling[-1]
    assert {y for x, y in dots if x > 24} == {9}


def test_failed_and_unmeasured_variants_are_marked() -> None:
    lines = text(Plot(chart(VARIANTS, FACTS, REGISTERS, "BLOCK", "num_warps"), 60, 14))
    lost = lines[-3]
    assert lost.split()[0] == "?"
    assert lost.count("!") == 1  # failed
    assert lost.count("●") == 1  # not known
    assert sum(line.count("!") for line in lines) == 2  # and one that cannot be launched, at its number


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (9, 2), (40, 12), (80, 24), (400, 100)])
@pytest.mark.parametrize("value", [None, 0, 7, -3, 1e-300, 5e-324, 1e17, 0.1])
def test_any_number_and_size_can_be_drawn(size: tuple[int, int], value: float | None) -> None:
    known = {one.id: facts(value) for one in VARIANTS}
    for axis in axes(VARIANTS):
        for split in ("", "num_warps"):
            plot = Plot(chart(VARIANTS, known, REGISTERS, axis, split), *size)
            plot.draw(1, (1, 2))
            assert plot.nearest(0, 0) is not None


def test_a_thousand_variants_in_forty_series_fit() -> None:
    variants = [variant(number, A=number % 40, B=number // 40) for number in range(1, 1001)]
    known = {number: facts(number % 97) for number in range(1, 1001)}
    lines = text(Plot(chart(variants, known, REGISTERS, "B", "A"), 80, 20))
    assert {len(line) for line in lines} == {80}


async def test_the_chart_starts_with_the_column_of_the_table(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        table = app.screen.query_one(VariantTable)
        await press(pilot, "shift+tab", *["l"] * 30)
        column = table.text_under_cursor
        assert column in [kind.name for kind in chartable_facts(table.order, table.facts.known)]
        await press(pilot, "C")
        assert isinstance(app.screen, ChartScreen)
        assert f" {column} " in bar(pilot, "point")
        await press(pilot, "q")
        assert app.screen.query_one(VariantTable) is table


async def test_changing_the_fact_the_axis_and_the_series(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "C")
        first = bar(pilot, "title")
        assert "over BLOCK_M, by num_warps" in first
        await press(pilot, "j")
        assert bar(pilot, "title").split()[0] != first.split()[0]
        await press(pilot, "k")
        assert bar(pilot, "title") == first
        await press(pilot, "s")
        assert "over BLOCK_M " in bar(pilot, "title")
        assert ", by" not in bar(pilot, "title")
        await press(pilot, "x")
        assert "over num_warps" in bar(pilot, "title")
        await press(pilot, "tab")
        assert "over variants, best first" in bar(pilot, "title")
        await press(pilot, "s")
        assert "by BLOCK_M" in bar(pilot, "title")


async def test_moving_between_points_and_marking_them(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "C")
        assert under_cursor(pilot) == 1
        assert "#1 BLOCK_M=64" in bar(pilot, "point")
        visited = [1]
        for _ in range(3):
            await press(pilot, "l")
            visited.append(under_cursor(pilot))
        assert sorted(visited) == [1, 2, 3, 4]
        await press(pilot, "l")
        assert under_cursor(pilot) == visited[-1]
        await press(pilot, *["h"] * 9)
        assert under_cursor(pilot) == 1
        while under_cursor(pilot) != 3:
            await press(pilot, "l")
        await press(pilot, "a", "h", "enter", "q")
        assert "A #3" in drawn(texts(pilot)).splitlines()[0]


async def test_a_failure_says_why(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "shift+tab", "G", "C")
        assert under_cursor(pilot) == 4
        assert "arange's range" in bar(pilot, "point")
        assert "! failed" in bar(pilot, "legend")


async def test_the_mouse_goes_to_the_nearest_point(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "C")
        lines = drawn(app.screen.query_one(ChartView)).splitlines()
        places = [(x, y) for y, line in enumerate(lines) for x, sign in enumerate(line) if sign == "!"]
        await pilot.click(ChartView, offset=places[0])
        await settled(pilot)
        assert under_cursor(pilot) == 4


async def test_without_numbers_there_is_no_chart(matmul: Path) -> None:
    app = IrscopeApp(Workspace(matmul))
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "shift+tab", "F", *"nothing", "enter", "C")
        assert not isinstance(app.screen, ChartScreen)
        assert "Nothing to chart" in "".join(note.message for note in app._notifications)
