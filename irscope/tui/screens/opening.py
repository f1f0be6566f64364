"""What the app shows until it is known which variants will be compiled, or why none can be."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from irscope.model.text import display_line
from irscope.tui import keys
from irscope.tui.live import Live, Planned, Refused, Unchanged
from irscope.tui.widgets.key_hints import KeyHints


class OpeningScreen(Screen[None]):
    """Waits for the plan."""

    BINDINGS: ClassVar[list[BindingType]] = [keys.RECOMPILE, keys.QUIT]

    class Ready(Message):
        """There are variants to show, or soon will be; `event` says so."""

        def __init__(self, event: Planned | Unchanged, live: Live) -> None:
            super().__init__()
            self.event = event
            self.live = live

    def __init__(self, live: Live) -> None:
        super().__init__()
        self._live = live

    def compose(self) -> ComposeResult:
        """A text in the middle; the keys below."""
        with VerticalScroll():
            yield Static(id="words")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Compiles as soon as the screen is drawn: loading triton takes the time of a first paint."""
        self._tell("Reading it, and starting the compiler...")
        self.call_after_refresh(self.action_recompile)

    def action_recompile(self) -> None:
        """Asks for a plan, at first or after the file was put right."""
        if not self._live.asked:
            self._tell("Reading it, and starting the compiler...")
            self._live.ask()
            self._attend()

    @work(exclusive=True, group="live", exit_on_error=False)
    async def _attend(self) -> None:
        event = await self._live.take()
        while not isinstance(event, Planned | Unchanged | Refused):
            event = await self._live.take()
        self._live.asked = False
        if isinstance(event, Refused):
            self._tell(event.problem, "Put it right and press r, or q to quit.")
        else:
            self.post_message(self.Ready(event, self._live))

    def _tell(self, words: str, advice: str = "") -> None:
        lines = [display_line(line) for line in words.splitlines()]
        text = Text.assemble((f"{display_line(self._live.producer.name)}\n\n", "bold"), "\n".join(lines))
        if advice:
            text.append(f"\n\n{advice}", "dim")
        self.query_one("#words", Static).update(text)
