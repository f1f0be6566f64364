"""A line to type what is looked for: it acts while you type. The search, and the filter of the table."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input


class SearchBar(Input):
    """Hidden until asked for. Enter keeps what was typed, Escape gives it up."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", "Give up", show=False)]

    class GivenUp(Message):
        """Escape: back to where it began."""

        def __init__(self, bar: SearchBar) -> None:
            super().__init__()
            self.bar = bar

        @property
        def control(self) -> SearchBar:
            """The line that was given up, for `on` to tell one from another."""
            return self.bar

    def __init__(self, placeholder: str, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(placeholder=placeholder, compact=True, id=id, select_on_focus=False)

    def open(self, text: str = "") -> None:
        """Shows the line with `text` in it and waits for more."""
        self.value = text
        self.display = True
        self.focus()

    def action_give_up(self) -> None:
        """Closes without a search."""
        self.post_message(self.GivenUp(self))
