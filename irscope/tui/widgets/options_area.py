"""A line of options to edit, wrapped at the width of the screen."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.widgets import TextArea


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
        """The text as one line: line breaks that were pasted are spaces."""
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
