"""Random keys, clicks and sizes in bursts: no exception, no frozen screen, and the screen is painted.

A burst comes without a pause, as from a paste, a script or a slow connection: a key arrives before the one
before it has had its effect. The bursts are seeded: number N has the same keys in each run. By default there
are few and short ones; RANDOM_KEYS=2000x500 sends 2,000 bursts of 500 keys (make keys), and
RANDOM_KEYS=2000x500+1000 sends those with the numbers from 1000.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
from collections import deque
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from textual.app import App
from textual.binding import Binding
from textual.events import MouseDown, MouseUp, Resize
from textual.geometry import Size
from textual.pilot import Pilot

from irscope.tui import key_help
from irscope.tui.app import IrscopeApp
from irscope.tui.widgets.bars import StageTabs
from irscope.workspace import Workspace
from irscope.workspace.live import NotAdded, PassesRefused, Publish
from irscope.workspace.what_if import PassRequest, StageEdit, WhatIf
from tests import recorded_passes
from tests.tui import captures
from tests.tui.conftest import disassemble
from tests.tui.driving import idle
from tests.tui.picture import check_nothing_is_stale

_BURSTS, _KEYS, _FIRST = map(int, re.findall(r"[0-9]+", os.environ.get("RANDOM_KEYS", "8x120") + "+0")[:3])
_MAKERS: tuple[Callable[[Path], Path], ...] = (
    captures.matmul, captures.traced, captures.versions, recorded_passes.write, captures.hostile,
)  # fmt: skip
_SIZES = ((80, 24), (120, 40), (200, 50), (40, 12), (20, 5), (1, 1), (300, 90))
# The ends of a terminal's life, which the app does not survive or cannot have without a terminal.
_LEFT_OUT = {"ctrl+z", "ctrl+c", "ctrl+q"}
_EVERY = sorted(
    {
        one.key
        for group in key_help.sections()
        for each in group.bindings
        for one in Binding.make_bindings([each])
    }
    | {"enter", "escape", "tab", "shift+tab", "ctrl+p", "backspace", "1", "x", "%", "left", "right"}
)
_PRESSED = [key for key in _EVERY if key not in _LEFT_OUT]
Action = str | Resize | tuple[int, int]
# The actions that arrive together; the app may begin to handle them before the next ones arrive.
_AT_ONCE = 20
# With other work on the machine, a burst takes minutes.
_BURST_SECONDS = 600.0
# The Escapes that leave whatever is on top of the main screen.
_ESCAPES = 10


def burst(number: int) -> list[Action]:
    """The keys and, now and then, clicks and sizes of a burst."""
    random = Random(number)
    return [_random_action(random) for _ in range(_KEYS)]


def _random_action(random: Random) -> Action:
    choice = random.random()
    if choice < 0.02:
        return Resize(size := Size(*random.choice(_SIZES)), size)
    if choice < 0.06:
        return random.randrange(120), random.randrange(40)
    return random.choice(_PRESSED)


class RefusingCompiler:
    """Compiles nothing: each request is answered with a refusal. Even bursts need no consent."""

    def __init__(self, trusted: Path | None) -> None:
        self.trusted = trusted

    def prepare(self) -> None:
        """Loads nothing."""

    def begin(self, what_if: WhatIf, publish: Publish) -> None:
        publish(NotAdded("nothing is compiled here"))

    def record_passes(self, request: PassRequest, publish: Publish) -> None:
        publish(PassesRefused(request.variant.id, "nothing is compiled here"))

    def edit(self, edit: StageEdit, publish: Publish) -> None:
        publish(NotAdded("nothing is built here"))


@pytest.fixture
def _no_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Editors and pagers do not start; files that are saved go to the test's folder."""
    ended = subprocess.CompletedProcess[str]("", 0)
    monkeypatch.setattr(subprocess, "run", lambda command, check: ended)
    monkeypatch.setattr(IrscopeApp, "suspend", contextlib.nullcontext)
    monkeypatch.setenv("IRSCOPE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("IRSCOPE_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("_no_programs")
@pytest.mark.parametrize("number", range(_FIRST, _FIRST + _BURSTS))
async def test_random_keys(tmp_path: Path, number: int) -> None:
    left = deque(burst(number))
    path = _MAKERS[number % len(_MAKERS)](tmp_path / "x.irscope")
    while left:
        compiler = RefusingCompiler(None if number % 2 else path)
        app = IrscopeApp(Workspace(path, disassemble), compiler=compiler)
        async with app.run_test(size=(120, 40)) as pilot:
            await _send(app, left)
            if app.is_running:
                await idle(pilot, _BURST_SECONDS)
            if app.is_running:
                _check_paint(app)
                await _check_it_answers(pilot)


async def _send(app: IrscopeApp, actions: deque[Action]) -> None:
    """Sends all actions without waiting for any, until the app ends."""
    while actions and app.is_running:
        action = actions.popleft()
        if isinstance(action, str):
            app.simulate_key(action)
        elif isinstance(action, Resize):
            app._driver._size = action.size  # type: ignore[union-attr]
            app.post_message(action)
        else:
            for kind in (MouseDown, MouseUp, MouseDown, MouseUp):  # a double click
                app.post_message(kind(None, *action, 0, 0, 1, False, False, False, *action))
        if len(actions) % _AT_ONCE == 0:
            await asyncio.sleep(0)


def _check_paint(app: App[None]) -> None:
    lines = app.screen._compositor.render_full_update(simplify=True).strips
    assert len(lines) == app.size.height
    internal = [note.message for note in app._notifications if "Internal error" in note.title]
    assert not internal
    check_nothing_is_stale(app)


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
