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


class PromptScreen(ModalScreen[str | None], DismissOnce[str | None]):
    """Asks for a line, with a default; returns it, or None if the user cancels.

    The default is `selected`, so that typing replaces it, unless it is what the user typed before.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel", show=False)]

    def __init__(self, question: str, answer: str = "", selected: bool = True) -> None:
        super().__init__()
        self._selected = selected
        self._question = question
        self._answer = answer

    def compose(self) -> ComposeResult:
        """The question and the input, at the bottom of the app."""
        with Vertical():
            yield Label(self._question, markup=False)
            yield Input(self._answer, compact=True, select_on_focus=self._selected)

    @on(Input.Submitted)
    def _answered(self, message: Input.Submitted) -> None:
        self.dismiss(message.value.strip() or None)

    def action_cancel(self) -> None:
        """Closes the dialog without an answer."""
        self.dismiss(None)
