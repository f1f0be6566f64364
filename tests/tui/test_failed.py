"""Pairs with a variant that failed: the whole error, and what the other one has."""

from __future__ import annotations

from irscope.model import Variant
from irscope.tui.app import IrscopeApp
from irscope.tui.pair_state import PairState
from irscope.tui.widgets.bars import StageTabs
from irscope.workspace.variant_texts import ERROR
from tests.tui.captures import FAILURE
from tests.tui.driving import drawn, press, tab, texts


def _variants(app: IrscopeApp) -> dict[int, Variant]:
    return {variant.id: variant for variant in app._workspace.variants}


def _pair(app: IrscopeApp, a: int, b: int) -> PairState:
    return PairState(app._workspace, _variants(app)[a], _variants(app)[b])


def test_the_error_is_whole_in_every_pair_with_a_failed_variant(app: IrscopeApp) -> None:
    for a, b in ((4, 4), (1, 4), (4, 1)):
        pair = _pair(app, a, b)
        assert pair.first_stage() == ERROR == pair.stages[-1]
        page = pair.page(ERROR)
        assert page.right is None
        assert page.left.lines[0] == f"{FAILURE.kind}: {FAILURE.summary}"
        assert list(page.left.lines[-61:]) == FAILURE.message.split("\n")
        assert "#4 failed before its first stage" in page.left.lines
        assert ("#1 has ttir, ttgir, ptx" in "\n".join(page.left.lines)) == (a != b)


def test_the_other_variant_keeps_its_stages(app: IrscopeApp) -> None:
    pair = _pair(app, 1, 4)
    page = pair.page("ttgir")
    assert page.left.language == "mlir"
    assert (pair.notes["ttgir"], pair.notes[ERROR]) == ("A only", "B")
    assert ERROR not in _pair(app, 1, 2).stages


async def test_the_error_comes_and_goes_with_the_variant(app: IrscopeApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", "shift+tab", "G", "b")
        assert tab(pilot) == ERROR
        assert "arange's range must be a power of 2" in drawn(texts(pilot))
        await press(pilot, "S", "e", "escape", "y", "c", "t", "]", "x")
        assert tab(pilot) == ERROR
        await press(pilot, "K", "K", "x")
        assert not app.screen.pair.failed or tab(pilot) == ERROR


async def test_the_stage_returns_after_an_error(app: IrscopeApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "3")
        chosen = tab(pilot)
        await press(pilot, "shift+tab", "G", "b")
        assert tab(pilot) == ERROR
        await press(pilot, "tab", "2", "x")
        assert tab(pilot) not in (ERROR, chosen), "the user chose another stage for this pair"
        await press(pilot, "x", "shift+tab", "g", "b", "G", "b", "g", "b")
        assert not app.screen.pair.failed
        assert tab(pilot) == app.screen.pair.stages[1], "the stage before the error"


async def test_a_equal_to_b_shows_the_failure(app: IrscopeApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "shift+tab", "G", "b", "a")
        assert app.screen.pair.single
        assert tab(pilot) == ERROR
        shown = drawn(texts(pilot))
        assert "CompilationError" in shown and "failed before its first stage" in shown


async def test_narrow_tabs_name_the_variant_that_has_a_stage(app: IrscopeApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "shift+tab", "G", "b", "1")
        assert drawn(app.screen.query_one(StageTabs)).split("  ") == [
            " 1 python", "2 ttir A", "3 ttgir A", "4 ptx A", "5 sass A", "6 error B",
        ]  # fmt: skip
