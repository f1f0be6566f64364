"""The screen shown until another process has written the first variant of a capture."""

from __future__ import annotations

from textual import work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from irscope.model import UserError
from irscope.model.text import display_line
from irscope.tui.background import Background
from irscope.tui.widgets.bars import KeyHints
from irscope.workspace import Workspace
from irscope.workspace.growth import GrowthWatch

_INTERVAL = 0.5


class WaitingScreen(Screen[None]):
    """Waits for the first variant."""

    class Ready(Message):
        """There is a variant to show."""

    def __init__(self, workspace: Workspace, background: Background) -> None:
        super().__init__()
        self._workspace = workspace
        self._background = background
        self._watch = GrowthWatch(workspace.path)

    def compose(self) -> ComposeResult:
        """A message in the middle; the keys at the bottom."""
        name = display_line(str(self._workspace.path))
        with VerticalScroll():
            yield Static(
                f"{name}\n\nStill compiling; waiting for the first variant...", id="message", markup=False
            )
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Begins to look."""
        self._timer = self.set_interval(_INTERVAL, self._look)

    @work(exclusive=True, group="waiting", exit_on_error=False)
    async def _look(self) -> None:
        try:
            added = await self._background.run(self._workspace.reread)
            growth, _ = await self._background.run(self._watch.look)
        except UserError as error:
            self._end(str(error))
            return
        if added:
            self._timer.stop()
            self.post_message(self.Ready())
        elif not growth.running:
            self._end("The writer has ended without a variant; `irscope compile --resume` compiles them")

    def _end(self, problem: str) -> None:
        self._timer.stop()
        name = display_line(str(self._workspace.path))
        self.query_one("#message", Static).update(f"{name}\n\n{display_line(problem)}")
