"""The screen shown until the plan of what to compile is known, or the reason why there is none."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.events import Key
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static, TextArea

from irscope.model.text import display_line
from irscope.tui import keys
from irscope.tui.background import INTERVAL, SourceWatch
from irscope.tui.live_connection import LiveConnection
from irscope.tui.screens.dialogs import OVERLAYS_CSS
from irscope.tui.widgets.bars import KeyHints
from irscope.workspace.live import Planned, Refused, Unchanged


class OptionsArea(TextArea):
    """One line of text, drawn on as many rows as it needs; Enter submits it."""

    class Submitted(Message):
        """The user pressed Enter."""

        def __init__(self, area: OptionsArea) -> None:
            super().__init__()
            self.area = area

    def __init__(self, id: str) -> None:  # noqa: A002 - the name that widgets of Textual have
        super().__init__(id=id, soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False)

    @property
    def value(self) -> str:
        """Return the text as one line: line breaks that were pasted are spaces."""
        return " ".join(self.text.split("\n"))

    @value.setter
    def value(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)

    async def _on_key(self, event: events.Key) -> None:
        if event.key != "enter":
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        self.post_message(self.Submitted(self))


class OpeningScreen(Screen[None]):
    """Waits for the plan."""

    CSS_PATH = OVERLAYS_CSS
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
        """Yield a message in the middle, and the keys at the bottom."""
        with VerticalScroll():
            yield Static(id="message")
            yield OptionsArea("options")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Start to compile after the first paint, because loading triton would delay it."""
        self.query_one(OptionsArea).display = False
        self._show("Reading the file and starting the compiler...")
        self.call_after_refresh(self.action_recompile)
        self._watch.follow(self._live.producer.files)
        self._timer = self.set_interval(INTERVAL, self._recompile_if_saved)

    def _recompile_if_saved(self) -> None:
        if not self._live.requested and self._watch.saved():
            self.action_recompile()

    def action_recompile(self) -> None:
        """Request a plan, also after the user fixed the file."""
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
