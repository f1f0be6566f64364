"""The change under the cursor is on screen at every width: by scrolling, eliding, wrapping, and in full."""

from __future__ import annotations

import re
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from irscope.tui.app import IrscopeApp
from irscope.tui.paint import ELLIPSIS, elided, wrap_starts
from irscope.tui.widgets.findings_view import FindingsView
from irscope.tui.widgets.search_bar import SearchBar
from irscope.workspace import Workspace
from tests.tui import captures
from tests.tui.driving import drawn, idle, jump_to_findings, press, settled, texts
from tests.tui.picture import characters

_LAYOUT = (
    "#blocked = #ttg.blocked<{sizePerThread = [%d], threadsPerWarp = [32], warpsPerCTA = [%d], order = [0]}>"
)
# The change is beyond the edge of a column of 50, and of the only column of 80.
_CALL = '    %%x = tt.extern_elementwise %%a {libname = "a long library name", pure = true, name = "%s"}'
_TAIL = " : (tensor<64xf32, #blocked>) -> tensor<64xf32, #blocked>"


def _module(size: int, warps: int, symbol: str) -> bytes:
    body = [f"    %c{number} = arith.constant {number} : i32" for number in range(9)]
    lines = [_LAYOUT % (size, warps), "module {", "  tt.func public @f(%a: tensor<64xf32, #blocked>) {"]
    return "\n".join([*lines, *body, _CALL % symbol + _TAIL, "    tt.return", "  }", "}", ""]).encode()


@pytest.fixture
def app(tmp_path: Path) -> IrscopeApp:
    made = [_module(1, 4, "__nv_expf"), _module(2, 4, "__nv_exp2f")]
    variants = [({"N": number}, {"ttgir": text}) for number, text in enumerate(made)]
    return IrscopeApp(Workspace(captures.write(tmp_path / "far.irscope", variants)))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_every_jump_shows_the_changed_token_in_both_columns(
    app: IrscopeApp, size: tuple[int, int]
) -> None:
    async with app.run_test(size=size) as pilot:
        await press(pilot, "2")
        assert "sizePerThread = [1]" in drawn(texts(pilot))
        assert "sizePerThread = [2]" in drawn(texts(pilot))
        await press(pilot, "G", "left_square_bracket")
        lines = drawn(texts(pilot)).splitlines()[: -texts(pilot).footer_height]
        assert any("__nv_expf" in line for line in lines)
        assert any("__nv_exp2f" in line for line in lines)
        await press(pilot, *["left_square_bracket"] * 3)
        assert texts(pilot)._x == 0
        assert "#blocked = " in drawn(texts(pilot))


async def test_equal_fields_of_a_layout_are_elided_until_lines_are_whole(app: IrscopeApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "2")
        assert "#blocked = #ttg.blocked<{sizePerThread = [1], …}>" in drawn(texts(pilot))
        await press(pilot, "Z")
        assert "order = [0]" in drawn(texts(pilot))
        await press(pilot, "Z", "y")
        assert pilot.app.clipboard == _LAYOUT % (2, 4)


async def test_wrapped_lines_are_complete_and_aligned(app: IrscopeApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "2", "Z", "G", "left_square_bracket")
        shown = drawn(texts(pilot)).splitlines()[1:]
        assert ELLIPSIS not in "".join(shown)
        rows = [line.split("│") for line in shown if "│" in line]
        first = next(at for at, (left, _) in enumerate(rows) if "extern_elementwise" in left)
        assert "extern_elementwise" in rows[first][1]
        height = next(at for at in range(1, 9) if "↪" not in "".join(rows[first + at]))
        assert all("↪" in side for row in rows[first + 1 : first + height] for side in row)
        await press(pilot, "G", "g", "pagedown", "pageup")
        assert texts(pilot).cursor == 0


async def test_the_detail_line_has_every_change_in_full(app: IrscopeApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "2")
        assert drawn(texts(pilot)).splitlines()[-1] == " sizePerThread: [1] → [2]"
        await press(pilot, "G", "left_square_bracket")
        assert '"__nv_expf" → "__nv_exp2f"' in drawn(texts(pilot)).splitlines()[-1]


async def test_a_long_change_is_shown_in_full_if_lines_are_wrapped(tmp_path: Path) -> None:
    many = [
        ", ".join(f"a{number} = {number + 1000 * side} : i32" for number in range(40)) for side in range(2)
    ]
    made = [
        ({"N": side}, {"ttgir": f"module attributes {{{text}}} {{\n}}\n".encode()})
        for side, text in enumerate(many)
    ]
    app = IrscopeApp(Workspace(captures.write(tmp_path / "many.irscope", made)))
    async with app.run_test(size=(80, 50)) as pilot:
        await press(pilot, "2")
        assert drawn(texts(pilot)).endswith(ELLIPSIS)
        assert "a39 = 1039" not in drawn(texts(pilot))
        await press(pilot, "Z")
        assert "a39 = 1039" in drawn(texts(pilot))


async def test_a_search_scrolls_to_its_match(app: IrscopeApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "2", "f")
        assert "tensor<64xf32, #blocked>) -" not in drawn(texts(pilot))
        await press(pilot, "slash")
        pilot.app.screen.query_one("#search", SearchBar).value = ") -> tensor"
        await settled(pilot)
        assert ") -> tensor" in drawn(texts(pilot))


async def test_no_line_is_cut_without_an_ellipsis(app: IrscopeApp) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await press(pilot, "2", "f")
        for line in drawn(texts(pilot)).splitlines():
            if "elementwise" in line and "→" not in line:
                assert line.count(ELLIPSIS) >= 2


@pytest.mark.parametrize("room", [20, 40, 60])
@pytest.mark.parametrize("start", [5, 30, 58, 80, 90])
def test_an_elided_line_shows_its_head_and_the_span(start: int, room: int) -> None:
    text = f"%x = call {'argument ' * 20}"[:start] + "CHANGED" + " and so on" * 9
    shown = elided(text, (start, start + 7), room)
    assert "CHANGED" in shown[: room - 1]
    assert shown.startswith("%x = "[: min(5, start)])
    head, _, rest = shown.partition(ELLIPSIS)
    assert text.startswith(head) and text.endswith(rest)
    assert elided(text, (0, 3), room) == text


def test_wrapped_parts_are_the_text_and_fit() -> None:
    for text in ("", "word " * 40, "x" * 95, "\u4e2d" * 60, "a " + "b" * 50, " " * 90):
        starts = [*wrap_starts(text, 20), len(text)]
        parts = [text[a:b] for a, b in pairwise(starts)]
        assert "".join(parts) == text
        assert all(len(part.rstrip()) <= 20 for part in parts)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_one_screen_tells_what_differs_what_it_costs_and_where(
    matmul: Path, size: tuple[int, int]
) -> None:
    app = IrscopeApp(Workspace(matmul))
    async with app.run_test(size=size) as pilot:
        await press(pilot, "J", "3")
        screen = characters(app)
        assert "A #1 BLOCK_M=64,num_warps=4" in screen
        assert "B #3 BLOCK_M=128,num_warps=8" in screen
        assert "Shared" in screen
        (line,) = (line for line in screen.splitlines() if "Diverge: ttgir: " in line)
        changed = re.search(r"→ (\[[\d, ]+\])", line)
        assert changed
        assert changed[1] in drawn(texts(pilot))
        assert re.search(r" ttgir:[0-9]+$", screen, re.MULTILINE)


async def test_enter_goes_to_the_finding_and_escape_comes_back(matmul: Path) -> None:
    app = IrscopeApp(Workspace(matmul))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        place = texts(pilot).row
        target = app.screen.query_one(FindingsView).row
        assert target is not None
        assert target.target.line is not None
        await press(pilot, "G", "enter")
        assert texts(pilot).place[0] in (target.target.line.line, place)
        await press(pilot, "escape")
        assert texts(pilot).row == len(texts(pilot).page.rows) - 1


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed")
async def test_findings_about_long_sass_are_one_key_away(tmp_path: Path, triton_cache: Path) -> None:
    path = captures.large_sass(tmp_path / "attention.irscope", triton_cache)
    with Workspace(path) as workspace:
        assert (workspace.facts(workspace.variants[1])["instructions"].value or 0) >= 5000
        app = IrscopeApp(workspace)
        async with app.run_test(size=(80, 24)) as pilot:
            await idle(pilot, 300)
            jumps = await jump_to_findings(pilot, 300)
    assert {jump.stage for jump in jumps} == {"sass", "ptx"}
    assert [jump for jump in jumps if not jump.shown] == []
