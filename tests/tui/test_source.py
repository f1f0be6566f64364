"""The Python source next to a stage: the source line of operations, and the operations of a line."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget

from irscope.facts.source.map import SourceMap
from irscope.languages.language import parse
from irscope.tui.app import IrscopeApp
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.source_view import LineOutcomesView, SourceView
from irscope.workspace import SourcePlace, Workspace
from tests.tui import captures
from tests.tui.driving import drawn, press, settled, tab, texts

WIDE = (200, 50)
DOT = SourcePlace("/src/kernels.py", 45)  # acc = tl.dot(a, b, acc)
CALL = SourcePlace("/src/kernels.py", 28)  # npm = tl.cdiv(M, BLOCK_M)
CDIV = SourcePlace("/triton/language/standard.py", 43)
MODULE = """\
module {
  tt.func public @k(%x: i32) {
    %0 = arith.addi %x, %x : i32 loc(#loc3)
    scf.for %i = %x to %x step %x  : i32 {
      %1 = arith.muli %x, %x : i32 loc(#loc1)
    } loc(#loc2)
    %2 = arith.addi %x, %x : i32
    tt.return loc(#loc2)
  } loc(#loc)
} loc(#loc)
#loc = loc("/a/k.py":1:0)
#loc1 = loc("/a/k.py":3:1)
#loc2 = loc("/a/k.py":2:1)
#loc3 = loc(callsite("/lib/h.py":9:1 at #loc2))
"""


@pytest.fixture
def traced(tmp_path: Path) -> IrscopeApp:
    return IrscopeApp(Workspace(captures.traced(tmp_path / "traced.irscope")))


def source(pilot: Pilot[None]) -> SourceView:
    return pilot.app.screen.query_one(SourceView)


def test_a_line_belongs_to_its_helper_and_to_each_caller() -> None:
    origins = SourceMap(parse(MODULE, "mlir"))
    helper, loop, body = SourcePlace("/lib/h.py", 9), SourcePlace("/a/k.py", 2), SourcePlace("/a/k.py", 3)
    assert origins.of_line(2) == (helper, loop)
    assert origins.of_line(4) == (body,)
    assert origins.of_line(5) == (loop,)  # the brace that closes the loop
    assert origins.of_line(6) == ()
    assert list(origins.lines(loop)) == [2, 3, 7]
    assert origins.counts(helper) == {"arith.addi": 1}
    assert origins.counts(SourcePlace("/a/k.py", 99)) == {}


def test_any_text_has_a_source_map() -> None:
    for text in ("", "}\n}\n{", "\x00", "loc(callsite(" * 50):
        for language in ("mlir", "llvm", "ptx", "sass", "amdgcn"):
            origins = SourceMap(parse(text, language))
            assert [origins.of_line(line) for line in range(-1, 4)]


async def test_the_source_follows_the_stage(traced: IrscopeApp) -> None:
    async with traced.run_test(size=WIDE) as pilot:
        await press(pilot, "3", "S", "slash", *"ttng.warp_group_dot %", "enter")
        assert tab(pilot) == "ttgir"
        assert source(pilot).place == DOT
        assert "acc = tl.dot(a, b, acc)" in source(pilot).text_under_cursor
        marked = [line for line in drawn(source(pilot)).splitlines() if "▸" in line]
        assert len(marked) == 1
        assert "tl.dot" in marked[0]
        assert traced.focused is texts(pilot)


async def test_inlined_code_is_counted_in_the_helper_and_at_its_call(traced: IrscopeApp) -> None:
    async with traced.run_test(size=WIDE) as pilot:
        await press(pilot, "2", "f", "S", "slash", *"arith.divsi", "enter")
        assert source(pilot).place == CALL
        marked = [line for line in drawn(source(pilot)).splitlines() if "▸" in line]
        assert "tl.cdiv" in marked[0]
        counts = source(pilot)._counts
        assert counts[source(pilot).python.places.index(CDIV)] > (0, 0)
        assert counts[source(pilot).python.places.index(CALL)] > (0, 0)


def highlighted_rows(view: DiffView) -> list[int]:
    rows, row = list[int](), view.highlighted_row()
    while row is not None:
        rows.append(row)
        row = view.highlighted_row(row)
    return rows


async def test_the_stage_follows_the_source(traced: IrscopeApp) -> None:
    async with traced.run_test(size=WIDE) as pilot:
        await press(pilot, "3", "S", "tab")
        view = source(pilot)
        assert traced.focused is view
        view.cursor = view.python.places.index(DOT)
        await settled(pilot)
        rows = highlighted_rows(texts(pilot))
        assert texts(pilot).row in rows
        expected = SourceMap(parse(captures.stage("matmul_kernel", captures.LARGE, "ttgir").decode(), "mlir"))
        page = texts(pilot).page
        assert {page.rows[row].right for row in rows} - {None} == set(expected.lines(DOT))
        visited = {texts(pilot).row}
        for _ in rows:
            await press(pilot, "enter")
            visited.add(texts(pilot).row)
        assert visited == set(rows)
        await press(pilot, "S")
        assert highlighted_rows(texts(pilot)) == []
        assert traced.focused is texts(pilot)


async def test_a_key_in_the_source_draws_both_panels_at_once(
    traced: IrscopeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn_widgets: list[set[Widget]] = []
    refresh = Screen._compositor_refresh

    def record(screen: Screen[object]) -> None:
        drawn_widgets.append(set(screen._dirty_widgets))
        refresh(screen)

    async with traced.run_test(size=WIDE) as pilot:
        await press(pilot, "3", "S", "tab")
        monkeypatch.setattr(Screen, "_compositor_refresh", record)
        moves = 0
        for _ in range(8):
            row = texts(pilot).row
            drawn_widgets.clear()
            await press(pilot, "j")
            if texts(pilot).row != row:
                moves += 1
                assert [widgets for widgets in drawn_widgets if source(pilot) in widgets] == drawn_widgets[:1]
                assert texts(pilot) in drawn_widgets[0]
        assert moves > 1


async def test_a_scroll_bar_that_comes_late_shows_where_the_panel_is(traced: IrscopeApp) -> None:
    async with traced.run_test(size=(80, 24)) as pilot:
        await press(pilot, "3", "G")
        view = texts(pilot)
        bar = view.vertical_scrollbar
        bar.position = 0  # as Textual leaves it if the panel scrolls before its layout
        bar.post_message(events.Show())
        await settled(pilot)
        assert bar.position == view.scroll_y > 0


async def test_operations_of_a_line_in_every_stage(traced: IrscopeApp) -> None:
    async with traced.run_test(size=WIDE) as pilot:
        await press(pilot, "3", "S", "tab")
        source(pilot).cursor = source(pilot).python.places.index(DOT)
        await settled(pilot)
        work = traced.screen.query_one(LineOutcomesView)
        found = {(one.stage, one.opcode): (one.left, one.right) for one in work.items}
        assert found["ttir", "tt.dot"] == (1, 1)
        assert found["ttgir", "ttng.warp_group_dot"] == (1, 1)
        wgmma = [counts for (stage, opcode), counts in found.items() if opcode.startswith("wgmma.mma_async")]
        ptx = captures.stage("matmul_kernel", captures.SMALL, "ptx").decode()
        assert wgmma == [(ptx.count("wgmma.mma_async"), None)]
        assert "py45: ptx 25 ttgir 3 ttir 1" in drawn(work)
        await press(pilot, "tab", "enter")
        assert tab(pilot) == work.items[0].stage == "ttir"
        assert highlighted_rows(texts(pilot))


async def test_a_source_that_does_not_belong_to_the_stage(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "3", "S", "G", "tab", "j", "enter")
        assert highlighted_rows(texts(pilot)) == []
        await press(pilot, "1", "j", "x", "4", "5", "S", "S")
        assert app.is_running


async def test_every_size(traced: IrscopeApp) -> None:
    async with traced.run_test(size=(80, 24)) as pilot:
        await press(pilot, "3", "S", "j")
        for size in [(40, 12), (1, 1), (300, 90), (80, 24), (119, 15)]:
            await pilot.resize_terminal(*size)
            await press(pilot, "tab", "j", "k")
        assert traced.is_running


async def test_the_gutter_has_the_line_of_python(traced: IrscopeApp) -> None:
    async with traced.run_test(size=WIDE) as pilot:
        await press(pilot, "3", "slash", *"group_dot %", "enter")
        dots = [line for line in drawn(texts(pilot)).splitlines() if "warp_group_dot %" in line]
        sides = [side for line in dots for side in line.split("│")[:2]]
        assert sides and all("py45 " in side.partition("%")[0] for side in sides)
        await pilot.resize_terminal(100, 40)
        await settled(pilot)
        assert "py45" not in drawn(texts(pilot))
