"""A question in the last lines of the screen, answered with one key."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Label

from irscope.model.text import display_line
from irscope.tui.screens.dismiss_once import DismissOnce
from irscope.tui.widgets.bars import KeyHints


class ConfirmScreen(DismissOnce[str], ModalScreen[str]):
    """Shows lines and returns the answer of the key that is pressed; other keys are ignored.

    `answers` are bindings of the action `answer`, whose parameter is the answer.
    """

    def __init__(self, lines: Sequence[str], answers: Sequence[Binding]) -> None:
        super().__init__()
        self._lines = lines
        for binding in Binding.make_bindings(answers):
            self._bindings.key_to_bindings.setdefault(binding.key, []).append(binding)

    def compose(self) -> ComposeResult:
        """The lines and the keys, at the bottom of the app."""
        with Vertical():
            for line in self._lines:
                yield Label(display_line(line), markup=False)
            yield KeyHints(id="keys")

    def action_answer(self, answer: str) -> None:
        """Closes the question."""
        self.dismiss(answer)
