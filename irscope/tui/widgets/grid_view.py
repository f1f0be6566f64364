"""The grids of A's and B's layouts, side by side or below each other, with a cursor."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from irscope.model.text import clipped, display_line
from irscope.tui.paint import fitted
from irscope.tui.widgets.bars import WrappedBar
from irscope.workspace import Grid, GridCell

_GROUPS = 8
# The lines of a pane above its cells: the title and the labels of the columns.
_HEAD = 2
# The room for the labels of rows next to a compact grid.
_MARGIN = 5
# Below this height, two grids do not fit below each other.
_STACKED_FROM = 12
_STYLES = {f"cell--{group}{shade}" for group in range(_GROUPS) for shade in "ab"}


class LayoutBar(WrappedBar):
    """Text above or below the grids."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"name", "note", "value", "problem"}


class GridView(Widget, can_focus=True):
    """One or two grids; the cursor is on the same element in both.

    `cursor` is a row and a column of the first grid.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {*_STYLES, "cell--cursor", "label", "title"}

    cursor: var[tuple[int, int]] = var((0, 0), init=False)

    class CellMoved(Message):
        """The cursor moved to another cell."""

    class Resized(Message):
        """The view has another size."""

    def __init__(self) -> None:
        super().__init__()
        self._grids: Sequence[Grid] = ()
        # Per grid the width of the row labels, and of a cell including the cursor's brackets.
        self._sizes: Sequence[tuple[int, int]] = ()
        # The cell of each grid under the cursor.
        self._places: Sequence[tuple[int, int]] = ()
        self._tops = [0, 0]
        self._lefts = [0, 0]

    def show(self, grids: Sequence[Grid]) -> None:
        """Draws grids; the cursor stays if it can."""
        self._grids = grids
        self._sizes = [_measure(grid) for grid in grids]
        self.cursor = self.validate_cursor(self.cursor)
        self._follow()

    def validate_cursor(self, cursor: tuple[int, int]) -> tuple[int, int]:
        """Keep the cursor within the first grid."""
        if not self._grids:
            return 0, 0
        rows, columns = len(self._grids[0].rows), len(self._grids[0].columns)
        return max(0, min(cursor[0], rows - 1)), max(0, min(cursor[1], columns - 1))

    def watch_cursor(self) -> None:
        """Scrolls to the cursor."""
        self._follow()
        self.post_message(self.CellMoved())

    def cells(self) -> list[GridCell | None]:
        """Return the cell under the cursor in each grid."""
        cursor_cells = []
        for index, grid in enumerate(self._grids):
            row, column = self._places[index]
            cursor_cells.append(grid.cells[row][column] if grid.rows and grid.columns else None)
        return cursor_cells

    def page(self) -> int:
        """Return how many rows of cells fit on the screen."""
        return max(1, self._pane()[1] - _HEAD - self._has_legend)

    def on_resize(self) -> None:
        """Keep the cursor on screen."""
        self._follow()
        self.post_message(self.Resized())

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked cell of the first grid."""
        width, height = self._pane()
        if not self._grids or event.x >= width or not _HEAD <= event.y < height:
            return
        margin, size = self._sizes[0]
        self.cursor = self.validate_cursor(
            (self._tops[0] + event.y - _HEAD, self._lefts[0] + max(0, event.x - margin) // size)
        )

    def render_line(self, y: int) -> Strip:
        """Draws a line of the grids."""
        width, height = self._pane()
        stacked = width == self.size.width and len(self._grids) > 1
        grid_indices = (
            range(min(y // height, 1), min(y // height, 1) + 1) if stacked else range(len(self._grids))
        )
        segments = [
            segment
            for index in grid_indices
            for segment in fitted(
                self._line(index, y - height * index * stacked, width), width, self.rich_style
            )
        ]
        return Strip(segments).adjust_cell_length(self.size.width, self.rich_style)

    def _line(self, index: int, y: int, width: int) -> list[Segment]:
        grid = self._grids[index]
        margin, size = self._sizes[index]
        left = self._lefts[index]
        column_count = max(1, (width - margin) // size)
        if y == 0:
            return [
                Segment(clipped(display_line(grid.title), width - 1), self.get_component_rich_style("title"))
            ]
        label = self.get_component_rich_style("label")
        if y == 1:
            names = grid.ruler(size, slice(left, left + column_count))
            return [Segment((" " * margin + names)[:width], label)]
        row = self._tops[index] + y - _HEAD
        if grid.compact and y - _HEAD == min(len(grid.rows), self.page()):
            return self._legend(index)
        if row >= len(grid.rows) or y - _HEAD >= self.page():
            return []
        segments = [Segment(grid.rows[row].rjust(margin - 1) + " ", label)]
        columns = range(left, min(left + column_count, len(grid.columns)))
        return [*segments, *(self._cell(index, row, column, size) for column in columns)]

    def _cell(self, index: int, row: int, column: int, size: int) -> Segment:
        grid = self._grids[index]
        cell = grid.cells[row][column]
        at_cursor = (row, column) == self._places[index]
        text = cell.label if cell else "."
        if grid.compact:
            return Segment(text, self._compact_style(cell, at_cursor))
        text = f"[{text}]" if at_cursor else f" {text}"
        if at_cursor:
            return Segment(text.ljust(size), self.get_component_rich_style("cell--cursor"))
        style = self.rich_style if cell is None else self.cell_style(cell.group, cell.shade)
        return Segment(text.ljust(size), style)

    def _legend(self, index: int) -> list[Segment]:
        """Draw the legend of the glyphs."""
        blank = self.rich_style
        pieces = [Segment(" " * (self._sizes[index][0] - 1), blank)]
        for group, text in self._grids[index].legend:
            pieces += [Segment(" ", blank), Segment(f" {text} ", self.cell_style(group))]
        return pieces

    def _compact_style(self, cell: GridCell | None, here: bool) -> Style:
        if here:
            return self.get_component_rich_style("cell--cursor") + Style(underline=True)
        return self.rich_style if cell is None else self.cell_style(cell.group, cell.shade)

    def cell_style(self, group: int, shade: int = 0) -> Style:
        """Return the colors of a group's cells."""
        return self.get_component_rich_style(f"cell--{group % _GROUPS}{'ab'[shade % 2]}")

    @property
    def _has_legend(self) -> bool:
        return any(grid.compact for grid in self._grids)

    def panes(self) -> list[tuple[int, int]]:
        """Return the sizes that a pane of two grids can have, in cells of a compact grid.

        The first is that of panes side by side, the second that of panes below each other.
        """
        width, height = self.size
        margin, head = _MARGIN, _HEAD + 1
        sizes = [(height - head, width // 2 - margin), (height // 2 - head, width - margin)]
        return sizes if height >= _STACKED_FROM else sizes[:1]

    def _pane(self) -> tuple[int, int]:
        """Return the width and height of a grid's part of the screen.

        The grids are side by side, or below each other if more cells fit then.
        """
        width, height = self.size
        if len(self._grids) < 2:
            return max(1, width), max(1, height)
        beside, below = (max(1, width // 2), max(1, height)), (max(1, width), max(1, height // 2))
        if height < _STACKED_FROM or self._visible(*beside) >= self._visible(*below):
            return beside
        return below

    def _visible(self, width: int, height: int) -> int:
        """Return how many cells of all grids fit in panes of this size."""
        count = 0
        for index, grid in enumerate(self._grids):
            margin, size = self._sizes[index]
            rows = min(len(grid.rows), height - _HEAD)
            count += rows * min(len(grid.columns), max(0, width - margin) // size)
        return count

    def _place(self, index: int) -> tuple[int, int]:
        """Return the cursor's cell in a grid.

        In the second grid, it is the cell of the same element if rows are numbered.
        """
        if index == 0:
            return self.cursor
        first, grid = self._grids[0], self._grids[index]
        return (
            _same(first.rows, grid.rows, self.cursor[0]),
            _same(first.columns, grid.columns, self.cursor[1]),
        )

    def _follow(self) -> None:
        """Scrolls each grid to the cursor."""
        self._places = [self._place(index) for index in range(len(self._grids))]
        for index, (row, column) in enumerate(self._places):
            margin, size = self._sizes[index]
            tall, wide = self.page(), max(1, (self._pane()[0] - margin) // size)
            self._tops[index] = max(row - tall + 1, min(self._tops[index], row))
            self._lefts[index] = max(column - wide + 1, min(self._lefts[index], column))
        self.refresh()


def _same(first: Sequence[str], own: Sequence[str], at: int) -> int:
    """Return the index in `own` of the label that corresponds to label `at` of `first`."""
    if at < len(first) and all(label.isdecimal() for label in (*own, first[at])):
        at = bisect_right([int(label) for label in own], int(first[at])) - 1
    return max(0, min(at, len(own) - 1))


def _measure(grid: Grid) -> tuple[int, int]:
    """Return the width of the row labels, and of a cell."""
    margin = max(map(len, grid.rows), default=0) + 1
    if grid.compact:
        return margin, 1
    labels = [len(cell.label) for row in grid.cells for cell in row if cell]
    return margin, max([*labels, *map(len, grid.columns), 1]) + 2
