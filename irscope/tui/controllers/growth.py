"""A capture that another process is still writing: new rows appear, and what the user chose stays."""

from __future__ import annotations

import time

from textual.worker import Worker

from irscope.model import UserError
from irscope.tui.controllers.live_updates import LiveController
from irscope.tui.controllers.main_screen import MainScreen
from irscope.workspace import LiveUpdates
from irscope.workspace.growth import GrowthWatch

# Seconds between two looks at the files while they are written, and how many times rarer it looks if not. A
# look takes 0.7 ms of CPU, with the timer and the threads.
_INTERVAL = 1.0
_RARER = 2
# Loading new variants may take this share of the time.
_SHARE = 0.1
_MESSAGE_SECONDS = 20.0


class GrowthController:
    """Looks once per second whether the file changed, and who writes it."""

    def __init__(self, screen: MainScreen, updates: LiveController) -> None:
        self._screen = screen
        self._updates = updates
        self._watch: GrowthWatch | None = None
        self._resting_until = 0.0
        self._changed = False
        self._looking: Worker[None] | None = None
        self._ticks = 0

    def start(self) -> None:
        """Begins to follow the file. The app itself must not be its writer."""
        self._watch = GrowthWatch(self._screen.workspace.path)
        self._changed = True  # what was added since the file was read
        self._look_soon()
        self._screen.set_interval(_INTERVAL, self._look_soon)

    def _look_soon(self) -> None:
        self._ticks += 1
        if not self._screen.workspace.growth.running and self._ticks % _RARER != 1:
            return
        # A diff of large stages may keep the background thread busy for longer than the interval.
        if self._looking is None or self._looking.is_finished:
            self._looking = self._screen.run_exclusive(self._look, "growth")

    async def _look(self) -> None:
        watch, screen = self._watch, self._screen
        if watch is None:
            return
        growth, changed = await screen.background.run(watch.look)
        self._changed = self._changed or changed
        before, screen.workspace.growth = screen.workspace.growth, growth
        finished = before.running and growth.writer is None
        if self._changed and (finished or time.monotonic() >= self._resting_until):
            await self._load(finished)
        elif before != growth:
            self._updates.show_title()
        if before != growth and (message := growth.ended(len(screen.workspace.variants))):
            screen.notify(message, severity="warning", timeout=_MESSAGE_SECONDS, markup=False)

    async def _load(self, finished: bool) -> None:
        """Shows new variants; all again once the writer has finished, because it may have changed others."""
        screen, start = self._screen, time.monotonic()
        only = screen.pair.a if len(screen.workspace.variants) == 1 else None
        try:
            added = await screen.background.run(screen.workspace.reread, finished)
            self._changed = False
        except UserError as error:
            screen.notify(str(error), severity="warning", markup=False)
            return
        if added or finished:
            self._updates.update(LiveUpdates(rows=True, changed=added))
        self._updates.show_title()
        if only is not None and added and screen.pair.single:
            screen.compare(only, screen.workspace.variants[1])
        self._resting_until = time.monotonic() + (time.monotonic() - start) / _SHARE
