"""The question before irscope quits, in the last line of the screen."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen
from textual.widgets import Label

from irscope.tui.bindings import ASK
from irscope.tui.widgets.bars import KeyHints


class QuitScreen(ModalScreen[bool]):
    """Returns whether to quit; every key but those of ASK is ignored."""

    BINDINGS: ClassVar[list[BindingType]] = [*ASK.bindings]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """The question and the keys."""
        yield Label(f"{self._question}  q or Enter quits, Escape stays", markup=False)
        yield KeyHints(id="keys")

    def action_confirm(self) -> None:
        """Quits."""
        self.dismiss(True)

    def action_stay(self) -> None:
        """Closes the question."""
        self.dismiss(False)
