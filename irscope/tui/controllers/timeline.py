"""Stepping through the versions of a variant: captures of several commits, edits, versions of Triton."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from irscope.model import UserError
from irscope.tui.controllers.main_screen import MainScreen

if TYPE_CHECKING:
    from irscope.workspace import TimelineStep

# The label and the changes take a while to read.
_SECONDS = 8.0


class TimelineController:
    """Makes the same variant of the next version B, and that of the version before it A."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen

    def start(self) -> None:
        """With several captures, begins with the same variant in the first two."""
        if len(self._screen.workspace.captures) > 1:
            self._screen.run_exclusive(self._open, "timeline")

    def action_version(self, direction: int) -> None:
        """Compares the next or the previous two versions of B."""
        self._screen.run_exclusive(partial(self._step, direction), "timeline")

    async def _open(self) -> None:
        screen = self._screen

        def first() -> TimelineStep | None:
            from irscope.workspace import Timeline  # the first paint does without it

            return Timeline(screen.workspace, screen.pair.a).first()

        self._show(await screen.background.run(first))

    async def _step(self, direction: int) -> None:
        screen = self._screen
        a, b = screen.pair.a, screen.pair.b

        def step() -> TimelineStep | str:
            from irscope.workspace import Timeline

            return Timeline(screen.workspace, b).step(a, b, direction)

        try:
            self._show(await screen.background.run(step))
        except UserError as error:  # a damaged stage
            screen.notify(str(error), severity="error", markup=False)

    def _show(self, found: TimelineStep | str | None) -> None:
        if isinstance(found, str):
            self._screen.notify(found, markup=False)
        elif found is not None:
            self._screen.table.go_to(found.b.id)
            self._screen.compare(found.a, found.b)
            self._screen.notify(found.text, timeout=_SECONDS, markup=False)
