"""The screen shown until another process has written the first variant of a capture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import Static

from irscope.model import UserError
from irscope.model.text import display_line
from irscope.tui.background import Background
from irscope.tui.bindings import CLOSE
from irscope.tui.screens.dialogs import ActionScreen
from irscope.tui.widgets.bars import KeyHints
from irscope.workspace import Workspace
from irscope.workspace.growth import GrowthWatch

_INTERVAL = 0.5


class WaitingScreen(ActionScreen[None]):
    """Waits for the first variant. `go_home` leaves it; without it, there is nothing to go back to."""

    class Ready(Message):
        """There is a variant to show."""

        def __init__(self, workspace: Workspace) -> None:
            super().__init__()
            self.workspace = workspace

    # Without a screen below, q is the app's: it quits.
    BINDINGS: ClassVar[list[BindingType]] = [
        replace(CLOSE, applies=lambda screen: screen.go_home is not None)
    ]

    def __init__(
        self, workspace: Workspace, background: Background, go_home: Callable[[], None] | None = None
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self.go_home = go_home
        self._background = background
        self._watch = GrowthWatch(workspace.path)

    def compose(self) -> ComposeResult:
        """Yield a message in the middle, and the keys at the bottom."""
        name = display_line(str(self._workspace.path))
        with VerticalScroll():
            yield Static(
                f"{name}\n\nStill compiling; waiting for the first variant...", id="message", markup=False
            )
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Begins to look."""
        self._timer = self.set_interval(_INTERVAL, self._look)

    def action_close(self) -> None:
        """Return to the home screen."""
        if self.go_home is not None:
            self.go_home()

    @work(exclusive=True, group="waiting", exit_on_error=False)
    async def _look(self) -> None:
        try:
            added = await self._background.run(self._workspace.live.reread)
            growth, _ = await self._background.run(self._watch.look)
        except UserError as error:
            self._end(str(error))
            return
        if added:
            self._timer.stop()
            self.post_message(self.Ready(self._workspace))
        elif not growth.running:
            self._end("The writer has ended without a variant; `irscope compile --resume` compiles them")

    def _end(self, problem: str) -> None:
        self._timer.stop()
        name = display_line(str(self._workspace.path))
        self.query_one("#message", Static).update(f"{name}\n\n{display_line(problem)}")
