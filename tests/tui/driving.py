"""Helpers of the app's tests: wait until it is idle, and read the screen."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass

from textual.app import App
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widget import Widget

from irscope.tui.app import IrscopeApp
from irscope.tui.widgets.bars import StageTabs
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.findings_view import FindingsView

# A background job of these small texts takes milliseconds; on a loaded machine, seconds.
_PATIENCE_SECONDS = 20.0
# The address of an instruction of SASS.
_ADDRESS = re.compile(r"/\*.*?\*/")


async def settled(pilot: Pilot[None]) -> None:
    """Waits until every worker has ended without an error and the app has nothing left to do or draw.

    Textual's own `pilot.pause` waits until the process uses no CPU for 20 ms; this asks the app instead.
    """
    await idle(pilot)
    assert not [note.message for note in pilot.app._notifications if note.severity == "error"]


async def idle(pilot: Pilot[None], seconds: float = _PATIENCE_SECONDS) -> None:
    """Waits until every worker has ended and the app has nothing left to do or draw, or has ended itself."""
    quiet = 0
    async with asyncio.timeout(seconds):
        while quiet < 2 and pilot.app.is_running:
            await pilot._wait_for_screen()
            pilot.app.screen._on_timer_update()
            quiet = 0 if _is_busy(pilot.app) else quiet + 1
            await asyncio.sleep(0 if quiet else 0.001)


def _is_busy(app: App[None]) -> bool:
    screen = app.screen
    return (
        (isinstance(app, IrscopeApp) and not app.input.is_idle)
        # A dialog has a worker that waits for the answer.
        or (not isinstance(screen, ModalScreen) and any(not worker.is_finished for worker in app.workers))
        or (app._resize_event is not None and app._resize_timer is not None)
        or bool(app.animator._animations or app.animator._scheduled)
        or bool(screen._dirty_widgets or screen._callbacks or screen._layout_required)
        or any(
            pump.message_queue_size or pump._next_callbacks
            for pump in (app, *screen.walk_children(with_self=True))
        )
    )


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Presses keys one by one, waiting for what came before and for what each starts."""
    await settled(pilot)
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


async def typed(pilot: Pilot[None], *keys: str) -> None:
    """Presses keys while something compiles, and waits until each had its effect."""
    await pilot.press(*keys)
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while pilot.app.is_running and not app_of(pilot).input.is_idle:
            await asyncio.sleep(0.001)
    await pilot.pause()


def app_of(pilot: Pilot[None]) -> IrscopeApp:
    assert isinstance(pilot.app, IrscopeApp)
    return pilot.app


def texts(pilot: Pilot[None]) -> DiffView:
    return pilot.app.screen.query_one(DiffView)


def tab(pilot: Pilot[None]) -> str:
    """The stage on show."""
    return pilot.app.screen.query_one(StageTabs).active


def drawn(widget: Widget) -> str:
    """A widget's contents as plain text."""
    return "\n".join(widget.render_line(y).text.rstrip() for y in range(widget.size.height))


@dataclass(frozen=True)
class Jump:
    """What `!` did at a finding about a line: the line, whether it was on screen, and how long it took."""

    stage: str
    line: int
    shown: bool
    seconds: float


async def jump_to_findings(pilot: Pilot[None], seconds: float = _PATIENCE_SECONDS) -> list[Jump]:
    """Press `!` at each finding that is about a line; come back after each."""
    jumps, view = [], pilot.app.screen.query_one(FindingsView)
    for index in range(len(view.findings)):
        view.cursor = view._first_line(index)
        target = view.row.target.line if view.row else None
        if target is None:
            continue
        started = time.monotonic()
        await pilot.press("exclamation_mark")
        await idle(pilot, seconds)
        took, page = time.monotonic() - started, texts(pilot).page
        side = (page.right if target.right else None) or page.left
        # The operation, without the address before it and the location after it.
        operation = _ADDRESS.sub("", side.lines[target.line]).split()[0]
        row = re.compile(rf"\b{target.line + 1}\b.*{re.escape(operation)}")
        shown = tab(pilot) == target.stage and row.search(drawn(texts(pilot))) is not None
        jumps.append(Jump(target.stage, target.line, shown, took))
        await pilot.press("escape")
        await idle(pilot, seconds)
    return jumps
