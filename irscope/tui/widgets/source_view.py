"""The kernel's Python beside a stage: which lines the stage's line came from, and how much each became."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from irscope.analysis.source_map import SourcePlace
from irscope.model.text import display_line
from irscope.tui import highlight, keys
from irscope.tui.origins import Python
from irscope.tui.page import PageSide
from irscope.tui.paint import code, fitted
from irscope.tui.widgets.line_view import LineView

# Room for the numbers of operations in A and in B.
_COUNTS = 9


class SourceView(LineView):
    """A line of Python each, with its number and how many operations of the stage came from it."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.SOURCE]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "number",
        "gutter",
        "row--lit",
        *(f"code--{name}" for name in highlight.STYLE_CLASSES),
    }

    class Chosen(Message):
        """The user wants to see the next operation that came from the line under the cursor."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._python = Python(PageSide([]), [])
        self._stage = ""
        self._counts: Mapping[int, tuple[int, int]] = {}
        self._lit: Collection[int] = ()

    @property
    def python(self) -> Python:
        """What is shown."""
        return self._python

    @property
    def words(self) -> str:
        """The text of the line under the cursor."""
        lines = self._python.side.lines
        return lines[self.cursor] if lines else ""

    @property
    def place(self) -> SourcePlace | None:
        """The place of the line under the cursor; None on a line that is no code."""
        return self._python.places[self.cursor] if self._python.places else None

    def show(self, python: Python, stage: str, counts: Mapping[int, tuple[int, int]]) -> None:
        """Shows a source with the operations that each of its lines became in `stage`, in A and in B."""
        self._python, self._stage, self._counts = python, stage, counts
        self.lines_changed()

    def light(self, lines: Collection[int], cursor: int) -> None:
        """Marks the lines (from 0) that something came from; the cursor goes to one of them."""
        self._lit = lines
        self.refresh()
        self.reveal_centred(cursor)
        self.cursor = cursor

    def action_follow(self) -> None:
        """To the next operation that the line became."""
        self.post_message(self.Chosen())

    def on_click(self, event: events.Click) -> None:
        """A double click follows the line."""
        super().on_click(event)
        if event.chain == 2:
            self.action_follow()

    def line_count(self) -> int:
        """Lines of the source."""
        return len(self._python.side.lines)

    def draw_heading(self, width: int) -> Strip:
        """What the numbers on the left are."""
        return self.bar(f" {'A→B':>{_COUNTS - 1}}  Python, and how many operations of {self._stage}", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """A line of Python."""
        side = self._python.side
        lit = index in self._lit
        at_cursor = index == self.cursor
        base = self.style("row--lit") if lit else self.style("row--cursor") if at_cursor else self.base
        gutter = f" {side.number(index):>{side.number_width}} {'▸' if lit else ' '}"
        room = max(width - _COUNTS - len(gutter), 0)
        segments = [
            Segment(
                f"{_counts_text(*self._counts.get(index, (0, 0))):>{_COUNTS}}", base + self.ink("gutter")
            ),
            Segment(gutter, base + self.ink("number")),
            *code(display_line(side.lines[index]), side.language, 0, room, base, self),
        ]
        return Strip(fitted(segments, width, base), width)


def _counts_text(left: int, right: int) -> str:
    if left == right:
        return str(left) if left else ""
    return f"{left}→{right}"
