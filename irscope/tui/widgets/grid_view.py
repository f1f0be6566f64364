"""The grids of A's and B's layouts side by side, with a cursor."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from irscope.model.text import display_line
from irscope.tui.paint import fitted
from irscope.tui.widgets.bars import Bar
from irscope.workspace import Grid, GridCell

_GROUPS = 8
_STYLES = {f"cell--{group}{shade}" for group in range(_GROUPS) for shade in "ab"}


class LayoutBar(Bar):
    """A line of text above or below the grids."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"name", "note", "value", "trouble"}


class GridView(Widget, can_focus=True):
    """One or two grids; the cursor is on the same element in both.

    `cursor` is a row and a column of the first grid.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {*_STYLES, "cell--cursor", "label", "title"}

    cursor: var[tuple[int, int]] = var((0, 0), init=False)

    class CellMoved(Message):
        """The cursor moved to another cell."""

    def __init__(self) -> None:
        super().__init__()
        self._grids: Sequence[Grid] = ()
        self._tops = [0, 0]
        self._lefts = [0, 0]

    def show(self, grids: Sequence[Grid]) -> None:
        """Draws grids; the cursor stays if it can."""
        self._grids = grids
        self.cursor = self.validate_cursor(self.cursor)
        self._follow()

    def validate_cursor(self, cursor: tuple[int, int]) -> tuple[int, int]:
        """Keeps the cursor within the first grid."""
        if not self._grids:
            return 0, 0
        rows, columns = len(self._grids[0].rows), len(self._grids[0].columns)
        return max(0, min(cursor[0], rows - 1)), max(0, min(cursor[1], columns - 1))

    def watch_cursor(self) -> None:
        """Scrolls to the cursor."""
        self._follow()
        self.post_message(self.CellMoved())

    def cells(self) -> list[GridCell | None]:
        """The cell under the cursor in each grid."""
        found = []
        for index, grid in enumerate(self._grids):
            row, column = self._place(index)
            found.append(grid.cells[row][column] if grid.rows and grid.columns else None)
        return found

    def page(self) -> int:
        """How many rows of cells fit on the screen."""
        return max(1, self.size.height - 2)

    def on_resize(self) -> None:
        """Keeps the cursor on screen."""
        self._follow()

    def on_click(self, event: events.Click) -> None:
        """Moves the cursor to the clicked cell."""
        pane, at = divmod(event.x, self._pane_width())
        if pane != 0 or not self._grids or event.y < 2:
            return
        margin, size = self._sizes(0)
        self.cursor = self.validate_cursor(
            (self._tops[0] + event.y - 2, self._lefts[0] + max(0, at - margin) // size)
        )

    def render_line(self, y: int) -> Strip:
        """Draws a line of both grids."""
        width = self._pane_width()
        segments = [
            segment
            for index in range(len(self._grids))
            for segment in fitted(self._line(index, y, width), width, self.rich_style)
        ]
        return Strip(segments).adjust_cell_length(self.size.width, self.rich_style)

    def _line(self, index: int, y: int, width: int) -> list[Segment]:
        grid = self._grids[index]
        margin, size = self._sizes(index)
        left = self._lefts[index]
        shown = max(1, (width - margin) // size)
        if y == 0:
            return [Segment(display_line(grid.title)[: width - 1], self.get_component_rich_style("title"))]
        label = self.get_component_rich_style("label")
        if y == 1:
            names = "".join(name.ljust(size) for name in grid.columns[left : left + shown])
            return [Segment((" " * margin + names)[:width], label)]
        row = self._tops[index] + y - 2
        if row >= len(grid.rows):
            return []
        segments = [Segment(grid.rows[row].rjust(margin - 1) + " ", label)]
        columns = range(left, min(left + shown, len(grid.columns)))
        return [*segments, *(self._cell(index, row, column, size) for column in columns)]

    def _cell(self, index: int, row: int, column: int, size: int) -> Segment:
        cell = self._grids[index].cells[row][column]
        here = (row, column) == self._place(index)
        text = cell.label if cell else "."
        text = f"[{text}]" if here else f" {text}"
        if here:
            return Segment(text.ljust(size), self.get_component_rich_style("cell--cursor"))
        if cell is None:
            return Segment(text.ljust(size), self.rich_style)
        shade = "ab"[cell.shade % 2]
        return Segment(
            text.ljust(size), self.get_component_rich_style(f"cell--{cell.group % _GROUPS}{shade}")
        )

    def _sizes(self, index: int) -> tuple[int, int]:
        """The width of the row labels, and of a cell including the cursor's brackets."""
        grid = self._grids[index]
        labels = [len(cell.label) for row in grid.cells for cell in row if cell]
        widest = max([*labels, *map(len, grid.columns), 1])
        return max(map(len, grid.rows), default=0) + 1, widest + 2

    def _pane_width(self) -> int:
        return max(1, self.size.width // max(1, len(self._grids)))

    def _place(self, index: int) -> tuple[int, int]:
        """The cursor's cell in a grid: in the second, the cell of the same element if rows are numbered."""
        if index == 0:
            return self.cursor
        first, own = self._grids[0], self._grids[index]
        return (
            _same(first.rows, own.rows, self.cursor[0]),
            _same(first.columns, own.columns, self.cursor[1]),
        )

    def _follow(self) -> None:
        """Scrolls each grid to the cursor."""
        for index in range(len(self._grids)):
            margin, size = self._sizes(index)
            row, column = self._place(index)
            tall, wide = self.page(), max(1, (self._pane_width() - margin) // size)
            self._tops[index] = max(row - tall + 1, min(self._tops[index], row))
            self._lefts[index] = max(column - wide + 1, min(self._lefts[index], column))
        self.refresh()


def _same(first: Sequence[str], own: Sequence[str], at: int) -> int:
    """The index in `own` of the label that corresponds to label `at` of `first`."""
    if at < len(first) and all(label.isdecimal() for label in (*own, first[at])):
        at = bisect_right([int(label) for label in own], int(first[at])) - 1
    return max(0, min(at, len(own) - 1))
