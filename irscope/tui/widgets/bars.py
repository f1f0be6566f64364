"""A line of labels, some of which are actions that a click runs: the stage tabs, the key hints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from irscope.model.text import display_line


@dataclass(frozen=True)
class Label:
    """A piece of the line: its text, its style class, and what a click on it does ("": nothing)."""

    text: str
    style: str
    action: str = ""


class Bar(Widget):
    """One line of labels, cut where the screen ends."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._labels: Sequence[Label] = ()

    def set_labels(self, labels: Sequence[Label]) -> None:
        """Shows other labels."""
        self._labels = labels
        self.refresh()

    def labels(self, width: int) -> Sequence[Label]:
        """The labels as they are shown in `width` cells."""
        return self._labels

    def render_line(self, y: int) -> Strip:
        """The line."""
        width = self.size.width
        segments = [
            Segment(display_line(label.text), self.get_component_rich_style(label.style))
            for label in self.labels(width)
        ]
        return Strip(segments).adjust_cell_length(width, self.rich_style).crop(0, width)

    async def on_click(self, event: events.Click) -> None:
        """Runs the action of the label that is clicked."""
        end = 0
        for label in self.labels(self.size.width):
            end += cell_len(display_line(label.text))
            if event.x < end:
                if label.action:
                    await self.run_action(label.action)
                return
