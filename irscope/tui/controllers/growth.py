"""A capture that another process is still writing: new rows appear, and what the user chose stays."""

from __future__ import annotations

import time

from textual.worker import Worker

from irscope.model import UserError
from irscope.tui.controllers.live_updates import LiveController
from irscope.tui.controllers.main_screen import MainScreen
from irscope.workspace.growth import Growth, GrowthWatch

# Seconds between two looks at the files while they are written, and how many times rarer it looks if not. A
# look takes three system calls: a job of the background thread would take ten times as long.
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
        self._finished = False
        self._loading: Worker[None] | None = None
        self._ticks = 0
        self._said = Growth()

    def start(self) -> None:
        """Begins to follow the file. The app itself must not be its writer."""
        self._watch = self._screen.workspace.watch  # it has seen the file before the variants were read
        self._look()
        self._screen.set_interval(_INTERVAL, self._look)

    def _look(self) -> None:
        watch, screen, workspace = self._watch, self._screen, self._screen.workspace
        self._ticks += 1
        if watch is None or not (workspace.growth.running or self._ticks % _RARER == 1):
            return
        growth, changed = watch.look()
        self._changed = self._changed or changed
        before, workspace.growth = workspace.growth, growth
        self._finished = self._finished or (before.running and growth.writer is None)
        # A diff of large stages may keep the background thread busy for longer than the interval.
        idle = self._loading is None or self._loading.is_finished
        if self._changed and idle and (self._finished or time.monotonic() >= self._resting_until):
            self._loading = screen.run_exclusive(self._load, "growth")
        elif before != growth:
            self._updates.show_title()
        if not self._changed and idle:
            self._say_if_ended()

    def _say_if_ended(self) -> None:
        """Says once that the writer was killed, when all that it wrote is on screen."""
        growth = self._screen.workspace.growth
        message = growth.ended(len(self._screen.workspace.variants))
        if message and growth != self._said:
            self._said = growth
            self._screen.notify(message, severity="warning", timeout=_MESSAGE_SECONDS, markup=False)

    async def _load(self) -> None:
        """Shows new variants; all again once the writer has finished, because it may have changed others."""
        screen, start, finished = self._screen, time.monotonic(), self._finished
        self._changed = self._finished = False
        only = screen.pair.a if len(screen.workspace.variants) == 1 else None
        try:
            added = await screen.background.run(screen.workspace.reread, finished)
        except UserError as error:
            screen.notify(str(error), severity="warning", markup=False)
            return
        if added or finished:
            from irscope.workspace import LiveUpdates  # most captures do not grow

            self._updates.update(LiveUpdates(rows=True, changed=added))
        self._updates.show_title()
        self._say_if_ended()
        if only is not None and added and screen.pair.single:
            screen.compare(only, screen.workspace.variants[1])
        self._resting_until = time.monotonic() + (time.monotonic() - start) / _SHARE
