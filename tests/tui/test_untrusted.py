"""A capture is untrusted: its text never controls the terminal or the app."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.model import UserError
from irscope.model.text import display_line, one_line, printable
from irscope.store import CaptureWriter
from irscope.tui.app import IrscopeApp
from irscope.tui.pair_state import side_of
from irscope.workspace import Workspace
from tests.hardening.captures import with_stages
from tests.tui import captures
from tests.tui.driving import drawn, idle, press, settled, texts

UNSAFE = [
    *(chr(code) for code in [*range(0x20), *range(0x7F, 0xA0)]),
    "\u202a", "\u202e", "\u2066", "\u2069", "\u200f", "\u061c", "\u200b", "\u2028", "\ufeff", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("character", UNSAFE)
def test_unsafe_characters_become_pictures(character: str) -> None:
    shown = one_line(f"a{character}b")
    assert shown.isprintable()
    assert shown[0] == "a"
    assert shown[-1] == "b"
    shown.encode("utf-8")


def test_plain_text_is_unchanged() -> None:
    text = "  %0 = tt.load %ptr : tensor<64xf32, #blocked> loc(#loc1) // größer"
    assert printable(text) is text
    assert display_line("a\tb") == "a   b"


async def test_hostile_text_stays_text(tmp_path: Path) -> None:
    app = IrscopeApp(Workspace(captures.hostile(tmp_path / "hostile.irscope")))
    async with app.run_test(size=(160, 50)) as pilot:
        await settled(pilot)
        for keys in (("1",), ("2",), ("3",), ("u",), ("slash", "[", "r", "e", "d", "enter"), ("x",), ("J",)):
            await press(pilot, *keys)
            for widget in app.screen.query("Bar, LineView"):
                assert drawn(widget).replace("\n", "").isprintable()
        await press(pilot, "x", "2")
        assert app.is_running


async def test_every_screen_opens_a_capture_in_which_every_text_is_hostile(hostile_capture: Path) -> None:
    app = IrscopeApp(Workspace(hostile_capture))
    async with app.run_test(size=(120, 40)) as pilot:
        for key in ("1", "2", "3", "W", "escape", "T", "escape", "J", "L", "C", "escape", "S"):
            await press(pilot, key)
            for widget in app.screen.query("Bar, LineView"):
                assert drawn(widget).replace("\n", "").isprintable()
        assert app.is_running


async def test_a_stage_that_cannot_be_read_says_why_in_its_tab(tmp_path: Path) -> None:
    path = with_stages(tmp_path / "long.irscope", {"ttgir": b"module {\n" + b"x" * (1 << 20)})
    app = IrscopeApp(Workspace(path))
    async with app.run_test(size=(160, 50)) as pilot:
        await idle(pilot)
        for key in ("2", "3", "down", "x", "J", "escape"):
            await pilot.press(key)
            await idle(pilot)
        assert app.is_running
    with Workspace(path) as workspace:
        (line,) = side_of(workspace, workspace.variants[0], "ttgir").lines
    assert "#1 ttgir has a line of more than 262,144 bytes" in line


async def test_markup_and_escapes_are_shown_literally(tmp_path: Path) -> None:
    app = IrscopeApp(Workspace(captures.hostile(tmp_path / "hostile.irscope")))
    async with app.run_test(size=(160, 50)) as pilot:
        await press(pilot, "2")
        shown = drawn(texts(pilot))
        assert "␛[31mred" in shown
        assert "[red]markup[/red]" in shown
        assert "[@click=app.quit]x[/]" not in shown or app.is_running


def test_a_capture_without_variants_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "empty.irscope"
    CaptureWriter.create(path).close()
    with pytest.raises(UserError, match="has no variants yet"):
        IrscopeApp(Workspace(path))
