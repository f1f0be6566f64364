"""One line to be typed: a path, a line number."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label


class PromptScreen(ModalScreen[str | None]):
    """Asks for a line, with an answer to begin with; returns it, or None where the user gives up."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", "Give up", show=False)]

    def __init__(self, question: str, answer: str = "") -> None:
        super().__init__()
        self._question = question
        self._answer = answer

    def compose(self) -> ComposeResult:
        """At the bottom, over the app."""
        with Vertical():
            yield Label(self._question, markup=False)
            yield Input(self._answer, compact=True, select_on_focus=False)

    @on(Input.Submitted)
    def _answered(self, message: Input.Submitted) -> None:
        self.dismiss(message.value.strip() or None)

    def action_give_up(self) -> None:
        """Closes without an answer."""
        self.dismiss(None)
