"""Pasted text goes into a field or nowhere: it runs no commands, and a long one does not freeze the app."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.events import Paste

from irscope.tui.app import IrscopeApp
from irscope.tui.input_queue import is_pasted
from irscope.tui.screens.compare import CompareScreen
from tests.tui.driving import press, settled, tab
from tests.tui.terminal import Terminal


@pytest.mark.parametrize(
    "text",
    [
        "import os\rprint(1)\rq\rq\r",
        "git push origin main",
        "def kernel(x_ptr, y_ptr):\n    pass\nq\n",
        "with open(path) as file:",
        "x" * 10 + " y" * 20,
    ],
)
def test_texts_are_pasted(text: str) -> None:
    assert is_pasted(text)


@pytest.mark.parametrize(
    "text",
    [
        "q", ":15\r\r", "j" * 400, "jjjjjkkkkkjjjjj", "/tt.dot\rnnn", "w/tmp/a/long/path/to/x.ttgir\r",
        "+BLOCK_M=64,128\r",
    ],
)  # fmt: skip
def test_keys_are_not_pasted(text: str) -> None:
    assert not is_pasted(text)


async def test_a_paste_into_a_panel_runs_no_command(app: IrscopeApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        before = tab(pilot)
        app.post_message(Paste("1\nq\ny\n"))
        await settled(pilot)
        assert isinstance(app.screen, CompareScreen)
        assert tab(pilot) == before
        assert any("runs no commands" in note.message for note in app._notifications)


async def test_a_long_paste_into_the_filter_takes_no_time(app: IrscopeApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "shift+tab", "F")
        start = time.monotonic()
        app.post_message(Paste("BLOCK_M>64 " * 300))
        await settled(pilot)
        assert time.monotonic() - start < 5
        assert len(app.screen.query_one("#filter").value) == 3300  # type: ignore[attr-defined]


@pytest.fixture
def terminal(matmul: Path, tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path / "t", [sys.executable, "-m", "irscope", str(matmul)])
    yield opened
    opened.close()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_paste_without_marks_in_a_terminal(terminal: Terminal) -> None:
    terminal.wait(lambda screen: "→" in screen and "? help" in screen)
    terminal.type(":19\r")
    # Line 19 is the ninth row: debug information and blank lines have none.
    terminal.wait(lambda screen: " 9/" in screen)
    terminal.run("set-buffer", "1 import os\nq\ny\nq\ny\n" * 20)
    terminal.run("paste-buffer")  # without -p, tmux sends no marks
    shown = terminal.wait(lambda screen: "runs no commands" in screen)
    assert "Quit irscope?" not in shown and not terminal.ended
    terminal.press("BTab", "F")
    terminal.run("set-buffer", "abcdefgh" * 375)
    terminal.run("paste-buffer")
    terminal.wait(lambda screen: "abcdefgh" in screen, 10)
    time.sleep(1)  # a key in the same read as the end of a paste belongs to it
    terminal.press("Escape")
    terminal.wait(lambda screen: "abcdefgh" not in screen)
    terminal.press("F")
    terminal.wait(lambda screen: "cancel" in screen)
    terminal.run("set-buffer", "abcdefgh" * 375 + "\x1b")  # the key comes with the text
    terminal.run("paste-buffer")
    terminal.wait(lambda screen: "? help" in screen and "abcdefgh" not in screen, 10)
