"""A chart in character cells: axes, lines of braille dots, and a mark per point."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from irscope.model.text import display_line
from irscope.workspace import Chart, Point
from irscope.workspace.charts import Series, axis_scale

# Each series has its own mark and color; after the shapes, letters.
MARKS = "●■▲◆○□△◇abcdefghijklmnopqrstuvwxyz"
COLORS = 8
STYLE_CLASSES = (
    *(f"series--{number}" for number in range(COLORS)),
    "axis",
    "grid",
    "problem",
    "cursor",
    "mark--a",
    "mark--b",
)
_PROBLEM = "!"
# Cells between series if there is room, so that equal values do not hide each other.
_APART = 2
# The bits of a braille cell's dots, by column and row.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_BRAILLE = 0x2800
# The y axis has at most one label per this many rows.
_ROWS_PER_LABEL = 3
_LONGEST_LABEL = 12


class PlotCell(NamedTuple):
    """A character and its style class; "" for the panel's own style."""

    text: str = " "
    style: str = ""


class Plot:
    """A chart laid out in `width` x `height` cells."""

    def __init__(self, chart: Chart, width: int, height: int) -> None:
        self.chart = chart
        numbers = [point.y for point in chart.points if point.y is not None] or [0.0]
        self._unknown = any(point.y is None for point in chart.points)
        self._rows = max(
            height - 2 - self._unknown, 1
        )  # without the axis, its labels, and the row of unknown values
        self._scale = axis_scale(min(numbers), max(numbers), self._rows // _ROWS_PER_LABEL)
        self._labels = dict(self._label_rows())
        self._left = max(map(len, self._labels.values())) + 2
        self._width = max(width - self._left, 1)
        self._places = {
            point.variant.id: self._place(point, number)
            for number, series in enumerate(chart.series)
            for point in series.points
        }

    def nearest(self, x: int, y: int) -> Point | None:
        """Return the point nearest to a cell."""

        def distance(point: Point) -> int:
            column, row = self._places[point.variant.id]
            return (column + self._left - x) ** 2 + 4 * (
                row - y
            ) ** 2  # a cell is twice as high as it is wide

        return min(self.chart.points, key=distance, default=None)

    def draw(self, cursor: int, pair: tuple[int, int]) -> list[list[PlotCell]]:
        """Draw the cells, line by line.

        `cursor` and `pair` are ids of the variant under the cursor, A and B.
        """
        grid = [list(row) for row in self._unmarked]
        for point in self.chart.points:
            id_ = point.variant.id
            if id_ in pair:
                self._put(
                    grid, point, PlotCell("A", "mark--a") if id_ == pair[0] else PlotCell("B", "mark--b")
                )
        if cursor in self._places:
            column, row = self._places[cursor]
            grid[row][max(column - 1, 0)] = PlotCell("[", "cursor")
            grid[row][min(column + 1, self._width - 1)] = PlotCell("]", "cursor")
        return [*map(list.__add__, self._row_labels, grid), *self._axis_rows]

    @cached_property
    def _unmarked(self) -> list[list[PlotCell]]:
        """The grid with the lines and points, without the cursor, A and B."""
        ruler, blank = PlotCell("─", "grid"), PlotCell()
        grid = [
            [ruler if row in self._labels else blank] * self._width
            for row in range(self._rows + self._unknown)
        ]
        for number, series in enumerate(self.chart.series):
            self._draw_line(grid, series, number)
        for number, series in enumerate(self.chart.series):
            for point in series.points:
                self._put(grid, point, PlotCell(_PROBLEM, "problem") if point.trouble else _mark(number))
        return grid

    # Positions.

    def _column(self, tick: float, number: int) -> float:
        """Return the column of a tick for a series: the middle of the tick's band, shifted."""
        band = self._width / len(self.chart.ticks)
        count = len(self.chart.series)
        apart = min(_APART, 0.8 * band / count)
        return min((tick + 0.5) * band + (number - (count - 1) / 2) * apart, self._width - 1)

    def _row(self, y: float) -> float:
        return (self._scale.high - y) / (self._scale.high - self._scale.low) * (self._rows - 1)

    def _place(self, point: Point, number: int) -> tuple[int, int]:
        row = self._rows if point.y is None else round(self._row(point.y))
        return int(self._column(point.tick, number)), row

    def _label_rows(self) -> Iterator[tuple[int, str]]:
        for value in self._scale.values():
            yield round(self._row(value)), self._scale.label(value, self.chart.kind.unit)

    # Drawing.

    def _put(self, grid: list[list[PlotCell]], point: Point, cell: PlotCell) -> None:
        column, row = self._places[point.variant.id]
        grid[row][column] = cell

    def _draw_line(self, grid: list[list[PlotCell]], series: Series, number: int) -> None:
        """Draws dots from each point of the line to the next."""
        dots = [
            (int(2 * self._column(tick, number)), round(4 * self._row(y) + 1.5)) for tick, y in series.line
        ]
        for (x, y), (end_x, end_y) in pairwise(dots):
            steps = max(abs(end_x - x), abs(end_y - y), 1)
            for step in range(steps + 1):
                self._dot(
                    grid, x + round(step * (end_x - x) / steps), y + round(step * (end_y - y) / steps), number
                )

    def _dot(self, grid: list[list[PlotCell]], x: int, y: int, number: int) -> None:
        old = grid[y // 4][x // 2]
        style = f"series--{number % COLORS}"
        bits = ord(old.text) - _BRAILLE if old.style == style else 0
        grid[y // 4][x // 2] = PlotCell(chr(_BRAILLE + (bits | _DOTS[x % 2][y % 4])), style)

    @cached_property
    def _row_labels(self) -> list[list[PlotCell]]:
        """The label on the left of each row."""
        labels = [*map(self._labels.get, range(self._rows)), *["?"] * self._unknown]
        texts = (f"{label or '':>{self._left - 2}} {'┤' if label else '│'}" for label in labels)
        return [_axis_cells(text[-self._left :]) for text in texts]

    @cached_property
    def _axis_rows(self) -> list[list[PlotCell]]:
        """The axis, with a notch for each tick whose label has room, and the labels."""
        line, labels = ["─"] * self._width, [" "] * self._width
        free = 0
        for tick, text in enumerate(self.chart.ticks):
            label = display_line(text)
            label = label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"
            middle = int((tick + 0.5) * self._width / len(self.chart.ticks))
            start = min(max(middle - len(label) // 2, 0), self._width - len(label))
            if start >= free:
                line[middle] = "┴"
                labels[start : start + len(label)] = label
                free = start + len(label) + 1
        edge = " " * (self._left - 1)
        return [_axis_cells(f"{edge}└{''.join(line)}"), _axis_cells(f"{edge} {''.join(labels)}")]


def _axis_cells(text: str) -> list[PlotCell]:
    return [PlotCell(character, "axis") for character in text]


def _mark(number: int) -> PlotCell:
    return PlotCell(MARKS[number % len(MARKS)], f"series--{number % COLORS}")
