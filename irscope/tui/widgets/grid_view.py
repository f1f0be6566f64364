"""The grids of A's and B's layouts, side by side, each with its maps, and a cursor on an element."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip

from irscope.model.text import display_line
from irscope.tui.paint import cell, fitted
from irscope.tui.widgets.bars import WrappedBar
from irscope.tui.widgets.styled import Styled
from irscope.workspace import Grid, GridCell

_GROUPS = 8
# The lines of a pane above its cells: the title and the labels of the columns.
_HEAD = 2
# The room for the labels of rows next to a map, and between two panes.
_MARGIN = 5
_GAP = 2
# The fewest lines in which a pane is shown, cut.
_LEAST_LINES = 6
_BOLD = Style(bold=True)
_STYLES = {f"cell--{group}{shade}" for group in (*range(_GROUPS), "equal") for shade in "ab"}


class LayoutBar(WrappedBar):
    """Text above or below the grids."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"name", "note", "value", "problem"}


@dataclass(frozen=True)
class GridSide:
    """A variant's grids, and the heading above them. `line`: of a tensor with one dimension."""

    heading: str
    grids: Sequence[Grid]
    line: bool = False


class GridView(Styled, can_focus=True):
    """The grids of one or two variants; the cursor is on the same element in all of them.

    `cursor` is a row and a column of elements; of a grid whose rows have names, of cells. Of a tensor with
    one dimension, the column is the element.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {*_STYLES, "cell--cursor", "label", "title"}

    cursor: var[tuple[int, int]] = var((0, 0), init=False)

    class CellMoved(Message):
        """The cursor moved to another element."""

    class Resized(Message):
        """The view has another size."""

    def __init__(self) -> None:
        super().__init__()
        self._headings: Sequence[str] = ()
        self._sides: Sequence[Sequence[_Pane]] = ()

    def show(self, sides: Sequence[GridSide]) -> None:
        """Draw the grids of each side; the cursor stays if it can. Without grids, nothing is drawn."""
        sides = sides if all(side.grids for side in sides) else ()
        self._headings = [side.heading for side in sides]
        self._sides = [[_Pane.from_grid(grid, side.line) for grid in side.grids] for side in sides]
        _arrange(self._sides, self._width, self.size.height - 1)
        self._follow()
        self.refresh()

    def watch_cursor(self) -> None:
        """Scroll to the cursor."""
        self._follow()
        self.post_message(self.CellMoved())

    def move(self, rows: int, columns: int) -> None:
        """Move the cursor by cells of the first grid."""
        if self._sides:
            pane = max((panes[0] for panes in self._sides), key=lambda pane: len(pane.grid.cells))
            self.cursor = pane.element(pane.row + rows, pane.column + columns)

    def descriptions(self) -> list[str]:
        """Describe the cell under the cursor in each side's first grid."""
        return [panes[0].grid.describe(panes[0].row, panes[0].column) for panes in self._sides]

    def page(self) -> int:
        """Return how many rows of cells fit on the screen."""
        return max((panes[0].page for panes in self._sides), default=1)

    def rooms(self, sides: int, maps: int) -> Iterator[tuple[int, int]]:
        """Yield the rows and columns of cells that each of a side's `maps` can have, however arranged."""
        for across in range(1, maps + 1):
            down = -(-maps // across)
            rows = (self.size.height - 1) // down - _HEAD - (down > 1)
            yield max(1, rows), max(1, self.size.width // max(sides, 1) // across - _MARGIN - _GAP)

    def on_resize(self) -> None:
        """Have the grids drawn for the new size."""
        self.post_message(self.Resized())

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked cell."""
        side = min(event.x // self._width, len(self._sides) - 1)
        for pane in self._sides[side] if self._sides else ():
            x, y = event.x - side * self._width - pane.x, event.y - 1 - pane.y
            if 0 <= x < pane.width and _HEAD <= y < pane.height:
                row, column = pane.top + y - _HEAD, pane.left + max(0, x - pane.margin) // pane.size
                self.cursor = pane.element(row, column)

    def render_line(self, y: int) -> Strip:
        """Draw a line of the grids."""
        segments: list[Segment] = []
        width = self._width
        for heading, panes in zip(self._headings, self._sides, strict=True):
            line: list[Segment] = []
            if y == 0:
                title = cell(display_line(heading), width - 1, right=False)
                line.append(Segment(title, self.style("title")))
            end = Segment.get_line_length(line)
            for pane in panes:
                if 0 <= y - 1 - pane.y < pane.height:
                    line = [*fitted(line, pane.x, self.base, end), *self._line(pane, y - 1 - pane.y)]
                    end = pane.x + pane.width
            segments += fitted(line, width, self.base, end)
        strip = Strip(segments, width * len(self._sides))
        return strip.adjust_cell_length(self.size.width, self.base)

    def _line(self, pane: _Pane, y: int) -> list[Segment]:
        grid, shown = pane.grid, slice(pane.left, pane.left + pane.page_columns)
        label = self.style("label")
        if y == 0:
            return fitted([Segment(grid.title, label + _BOLD)], pane.width, self.base)
        if y == 1:
            names = grid.ruler(pane.size, shown)
            return fitted([Segment(" " * pane.margin + names, label)], pane.width, self.base)
        row, cursor = pane.top + y - _HEAD, pane.column - pane.left
        cells = grid.cells[row][shown]
        line = [Segment(grid.rows[row].rjust(pane.margin - 1) + " ", label)]
        if row == pane.row and cells:
            line += self._cells(pane, cells[:cursor])
            line.append(Segment(pane.text(cells[cursor]), self.style("cell--cursor")))
            line += self._cells(pane, cells[cursor + 1 :])
        else:
            # The rows of maps are few objects.
            key = id(grid.cells[row]), pane.left, self.base
            if key not in pane.drawn:
                pane.drawn[key] = [*self._cells(pane, cells)]
            line += pane.drawn[key]
        return fitted(line, pane.width, self.base, pane.margin + len(cells) * pane.size)

    def _cells(self, pane: _Pane, cells: Sequence[GridCell | None]) -> Iterator[Segment]:
        """Yield neighbors of one style as one segment."""
        for color, alike in groupby(cells, _color):
            style = self.base
            if color:
                group, shade = color
                style = self.style(f"cell--{'equal' if group < 0 else group % _GROUPS}{'ab'[shade % 2]}")
                if pane.compared and group >= 0:
                    style += _BOLD  # also without colors, it differs from those that are equal
            yield Segment("".join(map(pane.text, alike)), style)

    @property
    def _width(self) -> int:
        """Return the width of a side."""
        return max(1, self.size.width // max(len(self._sides), 1))

    def _follow(self) -> None:
        """Scroll each pane to the cell with the element under the cursor, and draw what changes."""
        for pane in (pane for panes in self._sides for pane in panes):
            before, scroll = pane.row, (pane.top, pane.left)
            pane.go_to(self.cursor)
            top = 1 + pane.y
            if not pane.height:
                continue
            if scroll != (pane.top, pane.left):
                self.refresh(Region(0, top, self.size.width, pane.height))
            for row in {before, pane.row}:
                self.refresh(Region(0, top + _HEAD + row - pane.top, self.size.width, 1))


@dataclass
class _Pane:
    """A grid, where it is within its side, where its cursor is, and its first row and column on screen.

    `margin` is the width of the labels of rows, `size` that of a cell with the blank before it.
    """

    grid: Grid
    margin: int
    size: int
    starts: tuple[Sequence[int], Sequence[int]]
    line: bool
    compared: bool
    x: int = 0
    y: int = 0
    width: int = 0
    height: int = 0
    row: int = 0
    column: int = 0
    top: int = 0
    left: int = 0
    # Rows of cells without the cursor.
    drawn: dict[tuple[int, int, Style], list[Segment]] = field(default_factory=dict)

    @classmethod
    def from_grid(cls, grid: Grid, line: bool) -> _Pane:
        """Measure a grid."""
        size = 1
        if not grid.compact:
            labels = [len(cell.label) for row in grid.cells for cell in row if cell]
            size = max([*labels, *map(len, grid.columns), 1]) + 1
        margin = max(map(len, grid.rows), default=0) + 1
        compared = any(cell and cell.group < 0 for row in grid.cells for cell in row)
        return cls(grid, margin, size, (_starts(grid.rows), _starts(grid.columns)), line, compared)

    @property
    def whole_size(self) -> tuple[int, int]:
        """Return the width and height of all cells with the labels and the title."""
        width = self.margin + len(self.grid.columns) * self.size
        return max(width, len(self.grid.title)), _HEAD + len(self.grid.rows)

    @property
    def page(self) -> int:
        """Return how many rows are on screen."""
        return max(1, self.height - _HEAD)

    @property
    def page_columns(self) -> int:
        """Return how many columns are on screen."""
        return max(1, (self.width - self.margin) // self.size)

    def text(self, cell: GridCell | None) -> str:
        """Return the text of a cell; without gaps if the labels are single glyphs."""
        label = cell.label if cell else "."
        return label if self.grid.compact else f" {label}".ljust(self.size)

    def go_to(self, element: tuple[int, int]) -> None:
        """Move the cursor to the cell of an element, and scroll to it."""
        (rows, columns), (row, column) = self.starts, element
        self.row = _last_before(rows, column if self.line else row)
        self.column = _last_before(columns, column - rows[self.row] if self.line and rows else column)
        self.top = max(self.row - self.page + 1, min(self.top, self.row))
        self.left = max(self.column - self.page_columns + 1, min(self.left, self.column))

    def element(self, row: int, column: int) -> tuple[int, int]:
        """Return the first element of the cell at a row and a column, or of the nearest cell."""
        rows, columns = self.starts
        if not rows or not columns:
            return 0, 0
        first = rows[max(0, min(row, len(rows) - 1))], columns[max(0, min(column, len(columns) - 1))]
        return (0, sum(first)) if self.line else first


def _color(cell: GridCell | None) -> tuple[int, int] | None:
    return (cell.group, cell.shade) if cell else None


def _starts(labels: Sequence[str]) -> Sequence[int]:
    """Return the numbers of rows or columns; of those with names, their places."""
    return [int(label) for label in labels] if all(map(str.isdecimal, labels)) else range(len(labels))


def _last_before(starts: Sequence[int], number: int) -> int:
    return max(0, bisect_right(starts, number) - 1)


def _arrange(sides: Sequence[Sequence[_Pane]], width: int, height: int) -> None:
    """Place the panes of all sides alike: from left to right, then below each other.

    Those that do not fit get no height.
    """
    x = y = lowest = 0
    for index, panes in enumerate(zip_longest(*sides)):
        present = [pane for pane in panes if pane]
        whole_width, whole_height = (max(pane.whole_size[d] for pane in present) for d in (0, 1))
        if index and x + whole_width > width:
            x, y = 0, lowest + 1
        room = height - y
        fits = not index or (whole_width <= width and room >= min(whole_height, _LEAST_LINES))
        for pane in present:
            pane.x, pane.y = x, y
            pane.width = min(pane.whole_size[0], width)
            pane.height = min(pane.whole_size[1], room) if fits else 0
        if fits:
            x += min(whole_width, width) + _GAP
            lowest = max(lowest, y + min(whole_height, room))
