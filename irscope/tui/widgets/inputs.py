"""A line to type a search or a filter in; it takes effect while you type.

A line of options to edit, wrapped at the width of the screen.
"""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input, TextArea


class SearchBar(Input):
    """Hidden until it is opened. Enter keeps the text, Escape cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel", show=False)]

    class Canceled(Message):
        """The user pressed Escape."""

        def __init__(self, bar: SearchBar) -> None:
            super().__init__()
            self.bar = bar

        @property
        def control(self) -> SearchBar:
            """The bar, for the selectors of `on`."""
            return self.bar

    def __init__(self, placeholder: str, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(placeholder=placeholder, compact=True, id=id, select_on_focus=False)

    def open(self, text: str = "") -> None:
        """Shows the bar with `text` and focuses it."""
        self.value = text
        self.display = True
        self.focus()

    def action_cancel(self) -> None:
        """Closes the bar."""
        self.post_message(self.Canceled(self))


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
