"""The lines below the table: what all its rows have in common, and that A and B should not be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from irscope.model.text import display_line
from irscope.tui.table_model import TableModel
from irscope.tui.widgets.bars import Bar, Label
from irscope.tui.widgets.table_painter import cell


class TableNote(Bar):
    """`3 of 10 match warps=8  all: num_ctas=1, target cuda:90, Stack B 0`; a click shows these columns."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"count", "constants"}

    def __init__(self, model: TableModel, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._model = model

    def labels(self, width: int) -> Sequence[Label]:
        """How many rows there are, then the constants; an ellipsis ends them if they do not fit."""
        count, constants = self._model.count_text, display_line(self._model.constants_text)
        count = f" {display_line(count)} " if count else ""
        room = max(width - len(count) - 1, 0)
        return [
            Label(count, "count", "screen.choose_kernel"),
            Label(f" {cell(constants, room, right=False)}", "constants", "screen.show_constants"),
        ]

    def update(self, visible: bool) -> None:
        """Shows the current state; hidden with the table, and if there is nothing to say."""
        self.display = visible and bool(self._model.count_text or self._model.constants_text)
        self.refresh()


class MismatchBar(Bar):
    """Warns that A and B are different kernels or for different targets; stays as long as they are."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"warning"}

    def show(self, text: str) -> None:
        """Shows the text; "" hides the bar."""
        self.display = bool(text)
        self.set_labels([Label(f" ! {text} ", "warning")])

    def labels(self, width: int) -> Sequence[Label]:
        """The text, with an ellipsis if it does not fit."""
        return [
            Label(cell(display_line(label.text), width, right=False), label.style) for label in self._labels
        ]
