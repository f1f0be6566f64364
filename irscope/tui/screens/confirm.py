"""A dialog that asks before a file is executed that the user did not name."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Label

from irscope.model.text import display_line


class ConfirmScreen(ModalScreen[str]):
    """Shows lines and waits for one of `answers`, by key; Escape is "". Enter does nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,n,q", "answer('')", "Cancel", show=False)]

    def __init__(self, lines: list[str], answers: dict[str, str]) -> None:
        super().__init__()
        self._lines = lines
        self._answers = answers

    def compose(self) -> ComposeResult:
        """The lines and the keys, at the bottom of the app."""
        hints = [f"{key} {meaning}" for key, meaning in (*self._answers.items(), ("Escape", "cancel"))]
        with Vertical():
            for line in (*self._lines, "   ".join(hints)):
                yield Label(display_line(line), markup=False)

    def on_key(self, event: Key) -> None:
        """Answers with the key."""
        if event.key in self._answers:
            event.stop()
            self.dismiss(event.key)

    def action_answer(self, answer: str) -> None:
        """Closes the dialog."""
        self.dismiss(answer)
