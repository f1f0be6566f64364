"""What the tests of the app share: waiting until it has nothing left to do, and looking at it."""

from __future__ import annotations

import asyncio

from textual.pilot import Pilot
from textual.widget import Widget

from irscope.tui.app import IrscopeApp
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.stage_tabs import StageTabs

# A background job of these small texts takes milliseconds; on a loaded machine, seconds.
_PATIENCE_SECONDS = 20.0


async def settled(pilot: Pilot[None]) -> None:
    """Waits until every worker has ended, none of them in an error, and what it sent is drawn."""
    async with asyncio.timeout(_PATIENCE_SECONDS):
        await pilot.pause()
        while any(not worker.is_finished for worker in pilot.app.workers):
            await asyncio.sleep(0.01)
        await pilot.pause()
    assert not [note.message for note in pilot.app._notifications if note.severity == "error"]


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Presses keys one by one, waiting for what came before and for what each starts."""
    await settled(pilot)
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


def app_of(pilot: Pilot[None]) -> IrscopeApp:
    assert isinstance(pilot.app, IrscopeApp)
    return pilot.app


def texts(pilot: Pilot[None]) -> DiffView:
    return pilot.app.screen.query_one(DiffView)


def tab(pilot: Pilot[None]) -> str:
    """The stage on show."""
    return pilot.app.screen.query_one(StageTabs).active


def drawn(widget: Widget) -> str:
    """What a widget shows, as plain text."""
    return "\n".join(widget.render_line(y).text.rstrip() for y in range(widget.size.height))
