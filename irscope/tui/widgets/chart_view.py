"""The panel of the chart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from irscope.tui.plot import STYLE_CLASSES, Plot, PlotCell
from irscope.tui.widgets.bars import Bar
from irscope.workspace import Chart, Point


class ChartBar(Bar):
    """A line of text above or below the chart."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {*STYLE_CLASSES, "fact", "name", "note", "value"}


class ChartView(Widget, can_focus=True):
    """A point per variant; one is under the cursor."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {*STYLE_CLASSES}

    class PointMoved(Message):
        """The cursor moved to another point."""

    def __init__(self) -> None:
        super().__init__()
        self._chart: Chart | None = None
        self._plot: Plot | None = None
        self._cells: Sequence[Sequence[PlotCell]] = ()
        self._pair = (0, 0)
        self._cursor = 0

    @property
    def point(self) -> Point | None:
        """The point under the cursor."""
        points = self._chart.points if self._chart else []
        return next((point for point in points if point.variant.id == self._cursor), None)

    def show(self, chart: Chart, pair: tuple[int, int], cursor: int) -> None:
        """Draws a chart; `pair` are the ids of A and B, `cursor` that of the variant under the cursor."""
        self._chart, self._pair, self._cursor = chart, pair, cursor
        self._lay_out()

    def move(self, step: int) -> None:
        """Moves the cursor to the next (1) or previous (-1) point."""
        points = self._chart.points if self._chart else []
        ids = [point.variant.id for point in points]
        if self._cursor in ids:
            place = ids.index(self._cursor) + step
            self._go_to(points[max(0, min(place, len(points) - 1))])

    def on_click(self, event: events.Click) -> None:
        """Moves the cursor to the nearest point."""
        if self._plot is not None:
            self._go_to(self._plot.nearest(event.x, event.y))

    def on_resize(self) -> None:
        """Lays the chart out again."""
        self._lay_out()

    def render_line(self, y: int) -> Strip:
        """Draws a line of the chart."""
        line = self._cells[y] if y < len(self._cells) else ()
        segments = [
            Segment("".join(cell.text for cell in cells), self._style(style))
            for style, cells in groupby(line, key=lambda cell: cell.style)
        ]
        return Strip(segments).adjust_cell_length(self.size.width, self.rich_style)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(name) if name else self.rich_style

    def _go_to(self, point: Point | None) -> None:
        if point is not None:
            self._cursor = point.variant.id
            self._draw()
            self.post_message(self.PointMoved())

    def _lay_out(self) -> None:
        width, height = self.size
        drawable = self._chart is not None and self._chart.ticks and width and height
        self._plot = Plot(self._chart, width, height) if self._chart and drawable else None
        self._draw()

    def _draw(self) -> None:
        self._cells = self._plot.draw(self._cursor, self._pair) if self._plot else ()
        self.refresh()
