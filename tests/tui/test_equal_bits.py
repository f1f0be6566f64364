"""The classes of equal bits: the column of the table, and the screen that explains them."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from irscope.tui.app import IrscopeApp
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.equal_bits import BitsScreen
from irscope.tui.widgets.document_view import DocumentView
from irscope.tui.widgets.variant_table import VariantTable
from irscope.workspace import Workspace
from irscope.workspace.kernel_scopes import scope_of
from tests.tui.driving import drawn, press, settled, tab, texts

SIZE = (120, 50)


async def compare(pilot: Pilot[None], kernel: str) -> CompareScreen:
    """Show the first two variants of a kernel, and only that kernel in the table."""
    screen = pilot.app.screen
    assert isinstance(screen, CompareScreen)
    await settled(pilot)
    first, second, *_ = [v for v in screen.workspace.variants if v.kernel.name == kernel] * 2
    screen.stages.compare(first, second)
    screen.table.choose(scope_of(first, second))
    await settled(pilot)
    return screen


def column(table: VariantTable) -> list[str]:
    place = table.model.place_of("bits")
    assert place is not None
    return [table.model.cell(row, table.model.columns[place]).text for row in table.model.rows]


async def test_the_column_has_the_class_of_each_variant(bits_capture: Path) -> None:
    app = IrscopeApp(Workspace(bits_capture))
    async with app.run_test(size=SIZE) as pilot:
        screen = await compare(pilot, "row_sum")
        assert column(screen.table) == ["a", "b", "c", "d"]
        assert screen.table.go_to_column("bits")
        await press(pilot, "shift+tab", "F", *"bits=c", "enter")
        assert column(screen.table) == ["c"]


async def test_equal_classes_are_no_column(bits_capture: Path) -> None:
    app = IrscopeApp(Workspace(bits_capture))
    async with app.run_test(size=SIZE) as pilot:
        screen = await compare(pilot, "matmul")
        assert column(screen.table) == ["a", "a", "a"]
        assert "bits class a" in screen.table.model.constants_text


@pytest.mark.parametrize(
    ("kernel", "mark", "why"),
    [
        ("sum_below", "?", "are unknown"),
        ("add_all", "a~", "not even two launches"),
    ],
)
async def test_the_status_line_says_what_is_wrong(
    bits_capture: Path, kernel: str, mark: str, why: str
) -> None:
    app = IrscopeApp(Workspace(bits_capture))
    async with app.run_test(size=SIZE) as pilot:
        screen = await compare(pilot, kernel)
        assert column(screen.table)[0] == mark
        assert screen.table.go_to_column("bits")
        assert why in screen.table.note


async def test_an_empty_column_says_what_to_do(app: IrscopeApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen = await compare(pilot, "matmul_kernel")
        assert "bits" not in drawn(screen.table)
        assert screen.table.go_to_column("bits")
        assert "`irscope run`" in screen.table.note


async def test_enter_goes_to_the_line_that_decides(bits_capture: Path) -> None:
    app = IrscopeApp(Workspace(bits_capture))
    async with app.run_test(size=SIZE) as pilot:
        screen = await compare(pilot, "row_sum")
        await press(pilot, "I")
        assert isinstance(app.screen, BitsScreen)
        view = app.screen.query_one(DocumentView)
        shown = drawn(view)
        assert "A and B differ at N=3000" in shown
        assert "4 configs: 4 classes of the same bits" in shown
        assert "d differs from a" in "\n".join(map(view.plain_text, range(view.line_count())))
        await press(pilot, "]", "enter")
        assert app.screen is screen
        assert tab(pilot) == "python"
        assert "total += tl.sum(values, axis=0)" in (texts(pilot).line_text(True) or "")


async def test_a_pair_of_one_class_says_so(bits_capture: Path) -> None:
    app = IrscopeApp(Workspace(bits_capture))
    async with app.run_test(size=SIZE) as pilot:
        await compare(pilot, "matmul")
        await press(pilot, "I")
        shown = drawn(app.screen.query_one(DocumentView))
        assert "A and B compute the same bits at M=256" in shown


async def test_launches_with_one_answer_are_one_class_and_one_heading(bits_capture: Path) -> None:
    app = IrscopeApp(Workspace(bits_capture))
    async with app.run_test(size=SIZE) as pilot:
        screen = await compare(pilot, "matmul")
        shape = "grid=(cdiv(M, BM), cdiv(N, BN)), M={}, N=128, K=64"
        screen.bits.launches = (shape.format(128), shape.format(256))
        screen.bits.start()
        await settled(pilot)
        assert column(screen.table) == ["a", "a", "a"]  # not "1a 2a"
        await press(pilot, "I")
        shown = drawn(app.screen.query_one(DocumentView))
        assert shown.count("A and B compute the same bits at M=128") == 1
        assert "    and at M=256" in shown


async def test_classes_that_depend_on_the_launch_have_its_number(bits_capture: Path) -> None:
    app = IrscopeApp(Workspace(bits_capture))
    async with app.run_test(size=SIZE) as pilot:
        screen = await compare(pilot, "row_sum")
        screen.bits.launches = ("grid=(1,), N=512", "grid=(1,), N=4096")
        screen.bits.start()
        await settled(pilot)
        assert column(screen.table) == ["1a 2a", "1b 2b", "1a 2c", "1b 2d"]


async def test_a_typed_launch_replaces_the_recorded_ones(bits_capture: Path) -> None:
    app = IrscopeApp(Workspace(bits_capture))
    async with app.run_test(size=SIZE) as pilot:
        screen = await compare(pilot, "axpy")
        assert column(screen.table) == ["a", "b"]
        await press(pilot, "I", "l", *"oops", "enter")
        assert "'oops' is not NAME=VALUE" in drawn(app.screen.query_one(DocumentView))
        await press(pilot, "l", "ctrl+u", *"grid=(1,), n=496", "enter")
        assert "A and B differ at n=496" in drawn(app.screen.query_one(DocumentView))
        await press(pilot, "q")
        assert column(screen.table) == ["a", "b"]


async def test_without_launches_the_screen_says_what_to_do(app: IrscopeApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "I")
        shown = " ".join(drawn(app.screen.query_one(DocumentView)).split())
        assert "No launch of it was recorded" in shown and "`irscope run`" in shown
