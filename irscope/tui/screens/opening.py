"""The screen shown until the plan of what to compile is known, or the reason why there is none.

The screen shown until another process has written the first variant of a capture.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.events import Key
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from irscope.model import UserError
from irscope.model.text import display_line
from irscope.tui import keys
from irscope.tui.background import INTERVAL, Background, SourceWatch
from irscope.tui.bindings import EXPLAIN, LEAVE
from irscope.tui.live_connection import LiveConnection
from irscope.tui.widgets.bars import KeyHints
from irscope.tui.widgets.inputs import OptionsArea
from irscope.workspace import Workspace
from irscope.workspace.growth import GrowthWatch
from irscope.workspace.live import Planned, Refused, Unchanged


class OpeningScreen(Screen[None]):
    """Waits for the plan."""

    BINDINGS: ClassVar[list[BindingType]] = [keys.RECOMPILE]

    class Ready(Message):
        """There are variants to show, or there will be; `event` is the plan."""

        def __init__(self, event: Planned | Unchanged, live: LiveConnection) -> None:
            super().__init__()
            self.event = event
            self.live = live

    def __init__(self, live: LiveConnection) -> None:
        super().__init__()
        self._live = live
        self._watch = SourceWatch()

    def compose(self) -> ComposeResult:
        """A message in the middle; the keys at the bottom."""
        with VerticalScroll():
            yield Static(id="message")
            yield OptionsArea("options")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Starts to compile after the first paint, because loading triton would delay it."""
        self.query_one(OptionsArea).display = False
        self._show("Reading the file and starting the compiler...")
        self.call_after_refresh(self.action_recompile)
        self._watch.follow(self._live.producer.files)
        self._timer = self.set_interval(INTERVAL, self._recompile_if_saved)

    def _recompile_if_saved(self) -> None:
        if not self._live.requested and self._watch.saved():
            self.action_recompile()

    def action_recompile(self) -> None:
        """Requests a plan, also after the user fixed the file."""
        if not self._live.requested:
            self._show("Reading the file and starting the compiler...")
            self._live.request()
            self._wait_for_plan()

    @work(exclusive=True, group="live", exit_on_error=False)
    async def _wait_for_plan(self) -> None:
        event = await self._live.take()
        while not isinstance(event, Planned | Unchanged | Refused):
            event = await self._live.take()
        self._live.requested = False
        if isinstance(event, Refused):
            self._refused(event)
        else:
            self._timer.stop()  # the main screen watches the file now
            self.post_message(self.Ready(event, self._live))

    def _refused(self, event: Refused) -> None:
        if not event.options:
            self._show(event.problem, "Fix this and save the file (or press r), or press q to quit.")
            return
        self._show(event.problem, "Below are guesses to check: Enter compiles, Escape leaves the line.")
        answer = self.query_one(OptionsArea)
        answer.value = event.options
        answer.display = True
        answer.focus()

    @on(OptionsArea.Submitted)
    def _answered(self, message: OptionsArea.Submitted) -> None:
        if problem := self._live.producer.add_options(message.area.value):
            self._show(problem, "Change the options; Enter compiles.")
            return
        message.area.display = False
        self.action_recompile()

    def on_key(self, event: Key) -> None:
        """Escape leaves the options."""
        if event.key == "escape" and self.focused is not None:
            self.set_focus(None)
            event.stop()

    def _show(self, message: str, advice: str = "") -> None:
        lines = [display_line(line) for line in message.splitlines()]
        text = Text.assemble((f"{display_line(self._live.producer.name)}\n\n", "bold"), "\n".join(lines))
        if advice:
            text.append(f"\n\n{advice}", "dim")
        self.query_one("#message", Static).update(text)


_INTERVAL = 0.5


class WaitingScreen(Screen[None]):
    """Waits for the first variant. `go_home` leaves it; without it, there is nothing to go back to."""

    class Ready(Message):
        """There is a variant to show."""

        def __init__(self, workspace: Workspace) -> None:
            super().__init__()
            self.workspace = workspace

    BINDINGS: ClassVar[list[BindingType]] = [binding for binding in LEAVE.bindings if binding is not EXPLAIN]

    def __init__(
        self, workspace: Workspace, background: Background, go_home: Callable[[], None] | None = None
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._go_home = go_home
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

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a screen below, q is the app's: it quits."""
        if action == "close":
            return self._go_home is not None
        return super().check_action(action, parameters)

    def action_close(self) -> None:
        """Returns to the home screen."""
        if self._go_home is not None:
            self._go_home()

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
            self.post_message(self.Ready(self._workspace))
        elif not growth.running:
            self._end("The writer has ended without a variant; `irscope compile --resume` compiles them")

    def _end(self, problem: str) -> None:
        self._timer.stop()
        name = display_line(str(self._workspace.path))
        self.query_one("#message", Static).update(f"{name}\n\n{display_line(problem)}")
