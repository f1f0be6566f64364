"""A line to type a search or a filter in; it takes effect while you type."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input


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
            """Return the bar, for the selectors of `on`."""
            return self.bar

    def __init__(self, placeholder: str, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(placeholder=placeholder, compact=True, id=id, select_on_focus=False)

    def open(self, text: str = "") -> None:
        """Show the bar with `text` and focuses it."""
        self.value = text
        self.display = True
        self.focus()

    def action_cancel(self) -> None:
        """Close the bar."""
        self.post_message(self.Canceled(self))
