"""The grids of A's and B's layouts, side by side or below each other, with a cursor."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
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
        self._panes: Sequence[_Pane] = ()

    def show(self, grids: Sequence[Grid]) -> None:
        """Draws grids; the cursor stays if it can."""
        before = [*self._panes, *[None] * len(grids)]
        self._panes = [_Pane.from_grid(grid, old) for grid, old in zip(grids, before, strict=False)]
        self.cursor = self.validate_cursor(self.cursor)
        self._follow()

    def validate_cursor(self, cursor: tuple[int, int]) -> tuple[int, int]:
        """Keep the cursor within the first grid."""
        if not self._panes:
            return 0, 0
        grid = self._panes[0].grid
        return max(0, min(cursor[0], len(grid.rows) - 1)), max(0, min(cursor[1], len(grid.columns) - 1))

    def watch_cursor(self) -> None:
        """Scrolls to the cursor."""
        self._follow()
        self.post_message(self.CellMoved())

    def cells(self) -> list[GridCell | None]:
        """Return the cell under the cursor in each grid."""
        return [
            pane.grid.cells[pane.row][pane.column] if pane.grid.rows and pane.grid.columns else None
            for pane in self._panes
        ]

    def page(self) -> int:
        """Return how many rows of cells fit on the screen."""
        return max(1, self._pane_size()[1] - _HEAD - self._has_legend)

    def on_resize(self) -> None:
        """Keep the cursor on screen."""
        self._follow()
        self.post_message(self.Resized())

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked cell of the first grid."""
        width, height = self._pane_size()
        if not self._panes or event.x >= width or not _HEAD <= event.y < height:
            return
        pane = self._panes[0]
        column = pane.left + max(0, event.x - pane.margin) // pane.size
        self.cursor = self.validate_cursor((pane.top + event.y - _HEAD, column))

    def render_line(self, y: int) -> Strip:
        """Draws a line of the grids."""
        width, height = self._pane_size()
        panes = self._panes
        if width == self.size.width and len(panes) > 1:  # below each other
            panes, y = (panes[:1], y) if y < height else (panes[1:], y - height)
        segments: list[Segment] = []
        for pane in panes:
            segments += fitted(self._line(pane, y, width), width, self.rich_style)
        return Strip(segments).adjust_cell_length(self.size.width, self.rich_style)

    def _line(self, pane: _Pane, y: int, width: int) -> list[Segment]:
        grid = pane.grid
        end = pane.left + pane.columns(width)
        if y == 0:
            title = clipped(display_line(grid.title), width - 1)
            return [Segment(title, self.get_component_rich_style("title"))]
        label = self.get_component_rich_style("label")
        if y == 1:
            names = grid.ruler(pane.size, slice(pane.left, end))
            return [Segment((" " * pane.margin + names)[:width], label)]
        row = pane.top + y - _HEAD
        if grid.compact and y - _HEAD == min(len(grid.rows), self.page()):
            return self._legend(pane)
        if row >= len(grid.rows) or y - _HEAD >= self.page():
            return []
        columns = range(pane.left, min(end, len(grid.columns)))
        name = Segment(grid.rows[row].rjust(pane.margin - 1) + " ", label)
        return [name, *(self._cell(pane, row, column) for column in columns)]

    def _cell(self, pane: _Pane, row: int, column: int) -> Segment:
        cell, at_cursor = pane.grid.cells[row][column], (row, column) == (pane.row, pane.column)
        style = self.rich_style if cell is None else self.cell_style(cell.group, cell.shade)
        if at_cursor:
            style = self.get_component_rich_style("cell--cursor")
        text = cell.label if cell else "."
        if pane.grid.compact:
            return Segment(text, style + Style(underline=True) if at_cursor else style)
        return Segment((f"[{text}]" if at_cursor else f" {text}").ljust(pane.size), style)

    def _legend(self, pane: _Pane) -> list[Segment]:
        """Draw the legend of the glyphs."""
        blank = self.rich_style
        pieces = [Segment(" " * (pane.margin - 1), blank)]
        for group, text in pane.grid.legend:
            pieces += [Segment(" ", blank), Segment(f" {text} ", self.cell_style(group))]
        return pieces

    def cell_style(self, group: int, shade: int = 0) -> Style:
        """Return the colors of a group's cells."""
        return self.get_component_rich_style(f"cell--{group % _GROUPS}{'ab'[shade % 2]}")

    @property
    def _has_legend(self) -> bool:
        return any(pane.grid.compact for pane in self._panes)

    def panes(self) -> list[tuple[int, int]]:
        """Return the sizes that a pane of two grids can have, in cells of a compact grid.

        The first is that of panes side by side, the second that of panes below each other.
        """
        width, height = self.size
        margin, head = _MARGIN, _HEAD + 1
        sizes = [(height - head, width // 2 - margin), (height // 2 - head, width - margin)]
        return sizes if height >= _STACKED_FROM else sizes[:1]

    def _pane_size(self) -> tuple[int, int]:
        """Return the width and height of a grid's part of the screen.

        The grids are side by side, or below each other if more cells fit then.
        """
        width, height = self.size
        if len(self._panes) < 2:
            return max(1, width), max(1, height)
        beside, below = (max(1, width // 2), max(1, height)), (max(1, width), max(1, height // 2))
        if height < _STACKED_FROM or self._visible(*beside) >= self._visible(*below):
            return beside
        return below

    def _visible(self, width: int, height: int) -> int:
        """Return how many cells of all grids fit in panes of this size."""
        count = 0
        for pane in self._panes:
            columns = min(len(pane.grid.columns), max(0, width - pane.margin) // pane.size)
            count += min(len(pane.grid.rows), height - _HEAD) * columns
        return count

    def _follow(self) -> None:
        """Scrolls each grid to the cursor.

        In the second grid, it is on the cell of the same element if rows are numbered.
        """
        tall, width = self.page(), self._pane_size()[0]
        for index, pane in enumerate(self._panes):
            pane.row, pane.column = self.cursor
            if index:
                first = self._panes[0].grid
                pane.row = _same(first.rows, pane.grid.rows, pane.row)
                pane.column = _same(first.columns, pane.grid.columns, pane.column)
            pane.top = max(pane.row - tall + 1, min(pane.top, pane.row))
            pane.left = max(pane.column - pane.columns(width) + 1, min(pane.left, pane.column))
        self.refresh()


@dataclass
class _Pane:
    """A grid, where its cursor is, and its first row and column on screen.

    `margin` is the width of the labels of rows, `size` that of a cell, including the cursor's brackets.
    """

    grid: Grid
    margin: int
    size: int
    row: int = 0
    column: int = 0
    top: int = 0
    left: int = 0

    @classmethod
    def from_grid(cls, grid: Grid, before: _Pane | None) -> _Pane:
        """Measure a grid, which is scrolled as the one before."""
        size = 1
        if not grid.compact:
            labels = [len(cell.label) for row in grid.cells for cell in row if cell]
            size = max([*labels, *map(len, grid.columns), 1]) + 2
        margin = max(map(len, grid.rows), default=0) + 1
        return cls(grid, margin, size, top=before.top if before else 0, left=before.left if before else 0)

    def columns(self, width: int) -> int:
        """Return how many columns fit in a pane."""
        return max(1, (width - self.margin) // self.size)


def _same(first: Sequence[str], own: Sequence[str], at: int) -> int:
    """Return the index in `own` of the label that corresponds to label `at` of `first`."""
    if at < len(first) and all(label.isdecimal() for label in (*own, first[at])):
        at = bisect_right([int(label) for label in own], int(first[at])) - 1
    return max(0, min(at, len(own) - 1))
