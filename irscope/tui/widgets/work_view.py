"""What one line of Python became: its operations and instructions, stage by stage, in A and in B."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from irscope.model.text import display_line
from irscope.tui import keys
from irscope.tui.paint import fitted
from irscope.tui.tracing import LineOutcome
from irscope.tui.widgets.line_view import LineView


class WorkView(LineView):
    """A class of operations each: stage, opcode, how many in A and in B."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.WORK]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"gutter"}

    class Chosen(Message):
        """The user wants to see `work` in its stage."""

        def __init__(self, work: LineOutcome) -> None:
            super().__init__()
            self.work = work

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._title = ""
        self._work: Sequence[LineOutcome] = ()

    @property
    def words(self) -> str:
        """The opcode under the cursor."""
        return self._work[self.cursor].opcode if self._work else ""

    def show(self, title: str, work: Sequence[LineOutcome]) -> None:
        """Shows what the line called `title` became."""
        self._title, self._work = title, work
        self.lines_changed()

    def action_go(self) -> None:
        """To the stage of the line under the cursor."""
        if self._work:
            self.post_message(self.Chosen(self._work[self.cursor]))

    def on_click(self, event: events.Click) -> None:
        """A double click goes there."""
        super().on_click(event)
        if event.chain == 2:
            self.action_go()

    def line_count(self) -> int:
        """Classes of operations, of all stages."""
        return len(self._work)

    def draw_heading(self, width: int) -> Strip:
        """Which line it is about."""
        return self.bar(f" {self._title}", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """A class of operations; the stage is named where it begins."""
        work = self._work[index]
        base = self.style("row--cursor") if index == self.cursor else self.base
        first = index == 0 or self._work[index - 1].stage != work.stage
        differs = work.left != work.right and None not in (work.left, work.right)
        mark = "~" if differs else " "
        left, right = ("-" if number is None else f"{number:,}" for number in (work.left, work.right))
        numbers = f" {left:>6} {right:>6} "
        room = max(width - len(numbers) - 12, 1)
        opcode = display_line(work.opcode)[:room]
        segments = [
            Segment(f" {work.stage if first else '':<8} ", base),
            Segment(f"{mark} ", base + self.ink("gutter")),
            *fitted([Segment(opcode, base)], room, base),
            Segment(numbers, base),
        ]
        return Strip(fitted(segments, width, base), width)
