"""A dialog that asks for a line of text: a path, a line number."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from irscope.tui.screens.dismiss_once import DismissOnce


class PromptScreen(DismissOnce[str | None], ModalScreen[str | None]):
    """Asks for a line, with a default; returns it, or None if the user cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel", show=False)]

    def __init__(self, question: str, answer: str = "") -> None:
        super().__init__()
        self._question = question
        self._answer = answer

    def compose(self) -> ComposeResult:
        """The question and the input, at the bottom of the app."""
        with Vertical():
            yield Label(self._question, markup=False)
            yield Input(self._answer, compact=True, select_on_focus=False)

    @on(Input.Submitted)
    def _answered(self, message: Input.Submitted) -> None:
        self.dismiss(message.value.strip() or None)

    def action_cancel(self) -> None:
        """Closes the dialog without an answer."""
        self.dismiss(None)
