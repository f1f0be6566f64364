"""Random keys and sizes: no exception, no frozen screen, and the screen is painted after each key.

The sequences are seeded: number N presses the same keys in each run. By default there are few and short ones;
RANDOM_KEYS=200x200 presses 200 sequences of 200 keys (make keys).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from textual.app import App
from textual.binding import Binding
from textual.pilot import Pilot

from irscope.tui import keys
from irscope.tui.app import IrscopeApp
from irscope.tui.controllers import export
from irscope.tui.widgets.bars import StageTabs
from irscope.workspace import Workspace
from tests import recorded_passes
from tests.tui import captures
from tests.tui.conftest import disassemble
from tests.tui.driving import idle

_SEQUENCES, _KEYS = map(int, os.environ.get("RANDOM_KEYS", "6x60").split("x"))
_MAKERS: tuple[Callable[[Path], Path], ...] = (
    captures.matmul, captures.traced, captures.versions, recorded_passes.write, captures.hostile,
)  # fmt: skip
_SIZES = ((80, 24), (120, 40), (200, 50), (40, 12), (20, 5), (1, 1), (300, 90))
# The ends of a terminal's life, which the app does not survive or cannot have without a terminal.
_LEFT_OUT = {"ctrl+z", "ctrl+c", "ctrl+q"}
_EVERY = sorted(
    {one.key for group in keys.sections() for each in group.bindings for one in Binding.make_bindings([each])}
    | {"enter", "escape", "tab", "shift+tab", "ctrl+p", "backspace", "1", "x", "%", "left", "right"}
)
_PRESSED = [key for key in _EVERY if key not in _LEFT_OUT]
# The Escapes that leave whatever is on top of the main screen.
_ESCAPES = 10


def sequence(number: int) -> list[str | tuple[int, int]]:
    """The keys and, now and then, sizes of a sequence."""
    random = Random(number)
    return [
        random.choice(_SIZES) if random.random() < 0.03 else random.choice(_PRESSED) for _ in range(_KEYS)
    ]


@pytest.fixture
def _no_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Editors and pagers do not start; files that are saved go to the test's folder."""
    monkeypatch.setattr(export.subprocess, "run", lambda command, check: None)
    monkeypatch.setattr(IrscopeApp, "suspend", contextlib.nullcontext)
    monkeypatch.setenv("IRSCOPE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("IRSCOPE_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("_no_programs")
@pytest.mark.parametrize("number", range(_SEQUENCES))
async def test_random_keys(tmp_path: Path, number: int) -> None:
    left = sequence(number)
    path = _MAKERS[number % len(_MAKERS)](tmp_path / "x.irscope")
    while left:
        app = IrscopeApp(Workspace(path, disassemble))
        async with app.run_test(size=(120, 40)) as pilot:
            while left and app.is_running:
                await _do(pilot, left.pop(0), waits=len(left) % 4 != 0)
            if app.is_running:
                await _check_it_answers(pilot)


async def _do(pilot: Pilot[None], action: str | tuple[int, int], waits: bool) -> None:
    """Presses a key or resizes; then everything on screen is painted, in the size of the terminal."""
    app = pilot.app
    if isinstance(action, tuple):
        await pilot.resize_terminal(*action)
        waits = True
    else:
        app.simulate_key(action)
    if not waits or not app.is_running:  # the next key comes before this one is done
        return
    await idle(pilot)
    if app.is_running:
        _check_paint(app)


def _check_paint(app: App[None]) -> None:
    lines = app.screen._compositor.render_full_update(simplify=True).strips
    assert len(lines) == app.size.height
    internal = [note.message for note in app._notifications if "Internal error" in note.title]
    assert not internal


async def _check_it_answers(pilot: Pilot[None]) -> None:
    """The main screen can be reached, and a key acts there."""
    app = pilot.app
    for _ in range(_ESCAPES):
        if app.screen.query(StageTabs):
            break
        app.simulate_key("escape")
        await idle(pilot)
    assert app.screen.query(StageTabs), app.screen
    for _ in range(3):  # a field, a search, a zoomed panel
        app.simulate_key("escape")
        await idle(pilot)
    await pilot.resize_terminal(100, 30)
    before = app.screen
    app.simulate_key("question_mark")
    await idle(pilot)
    assert app.screen is not before
    _check_paint(app)
