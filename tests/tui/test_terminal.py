"""The real program in a real terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from irscope.store import CaptureReader
from tests.tui.terminal import PATIENCE_SECONDS, Terminal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]


@pytest.fixture
def terminal(matmul: Path, tmp_path: Path) -> Iterator[Terminal]:

    command = [sys.executable, "-m", "irscope", str(matmul)]
    opened = Terminal(tmp_path / "t", command)
    yield opened
    opened.close()


def test_from_the_shell_to_a_copied_line(terminal: Terminal, matmul: Path) -> None:
    shown = terminal.wait(lambda screen: "→" in screen and "? help" in screen)
    assert "irscope" in shown.splitlines()[0]
    assert "BLOCK_M" in shown
    terminal.press("1")
    terminal.wait(lambda screen: "def matmul_kernel" in screen)
    terminal.press("Tab")
    terminal.wait(lambda screen: "go there" in screen)
    terminal.press("Enter")
    terminal.wait(lambda screen: "def matmul_kernel" not in screen and "change" in screen)
    terminal.press("y")
    terminal.wait(lambda screen: "Copied" in screen)
    copied = terminal.run("show-buffer").rstrip("\n")
    assert copied
    with CaptureReader(matmul) as capture:
        b = capture.variants()[1]
        assert copied in (capture.read(b, "ttgir") or b"").decode().split("\n")
    terminal.press("q")
    terminal.wait(lambda screen: "Quit irscope?" in screen)
    terminal.press("q")
    end = time.monotonic() + PATIENCE_SECONDS
    while not terminal.ended:
        assert time.monotonic() < end
        time.sleep(0.05)


KERNEL = """
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, x + 1, mask=offsets < n)
"""


@pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed")
def test_p_asks_whether_to_record_the_passes_of_a_capture(tmp_path: Path) -> None:
    file, capture = tmp_path / "kernel.py", tmp_path / "k.irscope"
    file.write_text(KERNEL)
    options = "--signature", "*fp32:16, i32:16", "--config", "BLOCK=64,128", "-o", str(capture)
    subprocess.run([sys.executable, "-m", "irscope", "compile", str(file), *options], check=True)
    terminal = Terminal(tmp_path / "t", [sys.executable, "-m", "irscope", str(capture)], (80, 24))
    try:
        terminal.wait(lambda screen: "BLOCK=128" in screen)
        terminal.press("p")
        shown = terminal.wait(lambda screen: "Compile once more, with passes?" in screen)
        assert "No passes of #1 and #2 were recorded." in shown
        terminal.press("Enter")
        terminal.wait(lambda screen: "diverge in pass" in screen)
    finally:
        terminal.close()


@pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed")
def test_compile_in_the_app_edit_and_compile_again(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL)
    command = [sys.executable, "-m", "irscope", "tui", f"{file}::add", "--signature", "*fp32:16, i32:16"]
    words = shlex.join([*command, "--config", "BLOCK=64,128", "-o", str(tmp_path / "k.irscope")])
    cache = shlex.quote(str(tmp_path / "cache"))
    terminal = Terminal(tmp_path / "t", ["sh", "-c", f"TRITON_CACHE_DIR={cache} {words}; sleep 60"])
    try:
        terminal.wait(lambda screen: "starting the compiler" in screen)
        terminal.wait(lambda screen: "waiting" in screen or "compiling" in screen)
        shown = terminal.wait(lambda screen: "compiles it again" in screen)
        assert "before" not in shown
        file.write_text(KERNEL.replace("+ 1,", "* 3,"))
        terminal.press("r")
        shown = terminal.wait(lambda screen: "A #2 before BLOCK=128" in screen and "B #4 now" in screen)
        assert "B #4 now BLOCK=128" in shown
        # Equal in all four, so all four are compiled and measured.
        terminal.wait(lambda screen: "Occupancy 100%" in screen and "Threads 128" in screen)
        terminal.press("1")
        terminal.wait(lambda screen: "x + 1" in screen and "x * 3" in screen)
        file.write_text(KERNEL.replace("+ 1,", "+ ,"))
        terminal.press("r")
        shown = terminal.wait(lambda screen: "SyntaxError" in screen)
        assert "B #4 now" in shown  # the message may cover the rest
        terminal.press("q", "q")
        terminal.wait(lambda screen: "4 compiled, 0 failed" in screen)
        with CaptureReader(tmp_path / "k.irscope") as capture:
            assert len(capture.variants()) == 4
    finally:
        terminal.close()


def test_home_screen_suspend_and_restore(matmul: Path, tmp_path: Path) -> None:
    """The whole way: home, a capture, Ctrl+Z and fg, a resize, home again, quit; then as it was left."""
    words = shlex.join([sys.executable, "-m", "irscope"])
    folder, state = (shlex.quote(str(path)) for path in (matmul.parent, tmp_path / "s"))
    shell = f"cd {folder}; IRSCOPE_STATE={state} exec bash --norc"
    terminal = Terminal(tmp_path / "t", ["sh", "-c", shell])
    try:
        terminal.press(words, "Enter")
        terminal.wait(lambda screen: "Captures in this folder (1)" in screen and "Lessons (24)" in screen)
        terminal.press("Enter")
        terminal.wait(lambda screen: "BLOCK_M" in screen and "q back" in screen)
        terminal.press("2")
        terminal.wait(lambda screen: "2 ttir" in screen and "tt.func" in screen)
        terminal.press("C-z")
        terminal.wait(lambda screen: "Stopped" in screen)
        terminal.press("fg", "Enter")
        terminal.wait(lambda screen: "BLOCK_M" in screen and "tt.func" in screen and "? help" in screen)
        terminal.run("resize-window", "-x", "80", "-y", "24")
        terminal.wait(lambda screen: "? help" in screen.rstrip().splitlines()[-1] and "BLOCK_M" in screen)
        terminal.press("q")
        terminal.wait(lambda screen: "Recent captures (1)" in screen)
        terminal.press("q")
        terminal.wait(lambda screen: "Lessons" not in screen)
        terminal.press(f"{words} {shlex.quote(str(matmul))}", "Enter")
        terminal.wait(lambda screen: "tt.func" in screen and "BLOCK_M" in screen)
    finally:
        terminal.close()


def test_the_app_ends_with_its_terminal(matmul: Path) -> None:
    """A connection that breaks closes the terminal; the app must not go on and look for input forever."""
    controller, terminal = os.openpty()
    words = [sys.executable, "-m", "irscope", str(matmul)]
    environment = os.environ | {"TERM": "xterm-256color"}
    # No session of its own: without a controlling terminal, no signal ends the app.
    with subprocess.Popen(words, stdin=terminal, stdout=terminal, stderr=terminal, env=environment) as app:
        os.close(terminal)
        shown = b""
        while b"BLOCK_M" not in shown:
            shown += os.read(controller, 1 << 16)
        os.close(controller)
        app.wait(PATIENCE_SECONDS)
