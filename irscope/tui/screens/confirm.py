"""A question in the last lines of the screen, answered with one key."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Label

from irscope.model.text import display_line
from irscope.tui.screens.dismiss_once import DismissOnce
from irscope.tui.widgets.bars import KeyHints


class ConfirmScreen(ModalScreen[str], DismissOnce[str]):
    """Shows lines and returns the answer of the key that is pressed.

    `answers` are bindings of the action `answer`, whose parameter is the answer. Other keys are ignored; with
    `other`, they close the question, answer "" and are passed to `other`.
    """

    def __init__(
        self,
        lines: Sequence[str],
        answers: Sequence[Binding],
        other: Callable[[events.Key], None] | None = None,
    ) -> None:
        super().__init__()
        self._lines = lines
        self._other = other
        for binding in Binding.make_bindings(answers):
            self._bindings.key_to_bindings.setdefault(binding.key, []).append(binding)

    def compose(self) -> ComposeResult:
        """The lines and the keys, at the bottom of the app."""
        with Vertical():
            for line in self._lines:
                yield Label(display_line(line), markup=False)
            yield KeyHints(id="keys")

    def on_key(self, event: events.Key) -> None:
        """Closes the question if the key is none of its answers, and lets the key act below it."""
        if self._other is not None and self.is_active and event.key not in self.active_bindings:
            event.stop()
            self.dismiss("")
            self._other(events.Key(event.key, event.character))

    def action_answer(self, answer: str) -> None:
        """Closes the question."""
        self.dismiss(answer)
