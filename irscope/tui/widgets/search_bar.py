"""The line to type what is searched for: it searches while you type."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input


class SearchBar(Input):
    """Hidden until asked for. Enter keeps the search, Escape gives it up."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", "Give up", show=False)]

    class GivenUp(Message):
        """Escape: back to where the search began."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(placeholder="search", compact=True, id=id, select_on_focus=False)

    def open(self) -> None:
        """Shows the line and waits for text."""
        self.value = ""
        self.display = True
        self.focus()

    def action_give_up(self) -> None:
        """Closes without a search."""
        self.post_message(self.GivenUp())
