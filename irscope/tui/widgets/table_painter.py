"""Drawing rows of the table of variants: the columns that fit, signs for the cursor, A, B and problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from rich.segment import Segment
from rich.style import Style

from irscope.model.text import display_line
from irscope.tui.paint import fitted
from irscope.tui.table_model import TableModel, TableRow
from irscope.workspace import FactColumn
from irscope.workspace.table import DIFFERS

GAP = 2
# The number stays on screen when the columns scroll.
_FIXED = 1
# Cursor, A, B, the sign of a problem or of a group, a blank.
GUTTER = 5
# The fewest cells in which a column of text is shown at the edge of the screen, cut.
_LEAST_CUT = 8
_SIGNS = {"best": "▲", "worst": "▼"}
_STYLES = {"best": "heat--good", "worst": "heat--bad"}


class ColumnSpan(NamedTuple):
    """A column on screen: its place in the model, and the cells of its text."""

    place: int
    start: int
    end: int


class Panel(Protocol):
    """The table, which knows the style classes of irscope.tcss."""

    def style(self, *names: str) -> Style:
        """Return the style of a class, with the panel's background."""

    def ink(self, name: str) -> Style:
        """Return the attributes that a style class itself sets, to add to another style."""


def visible(model: TableModel, chosen: int, width: int) -> list[ColumnSpan]:
    """Return the columns on screen: the number, then as many as fit.

    The `chosen` one is among them.
    """
    column_indices = model.shown
    first = min(_FIXED, len(column_indices))
    fixed = column_indices[:first]
    last = column_indices.index(chosen) if chosen in column_indices else 0
    while True:
        spans = list(_placed(model, [*fixed, *column_indices[first:]], width))
        if first >= last or any(span.place == chosen for span in spans):
            return spans
        first += 1


def _placed(model: TableModel, places: Sequence[int], width: int) -> Iterator[ColumnSpan]:
    start = GUTTER
    for column_index in places:
        end = start + model.width(column_index)
        if end > width:
            if not model.columns[column_index].numeric and width - start >= _LEAST_CUT:
                yield ColumnSpan(column_index, start, width - 1)
            return
        yield ColumnSpan(column_index, start, end)
        start = end + GAP


def heading(model: TableModel, chosen: int, width: int, panel: Panel) -> list[Segment]:
    """Draw the titles.

    The sorted one has an arrow; at the edges, signs say that there are more columns.
    """
    style, spans = panel.style("heading"), visible(model, chosen, width)
    skipped = len(spans) > 1 and model.shown.index(spans[_FIXED].place) > _FIXED
    segments = [Segment(" " * (GUTTER - 1) + ("<" if skipped else " "), style)]
    for span in spans:
        column = model.columns[span.place]
        title = cell(display_line(column.title), span.end - span.start, column.numeric)
        arrow = " "
        if model.sort and model.sort[0] == column.name:
            arrow = "▼" if model.sort[1] else "▲"
        segments.append(Segment(title, panel.style("heading--column") if span.place == chosen else style))
        segments.append(Segment(f"{arrow:{GAP}}", style))
    line = fitted(segments, width, style)
    if spans and spans[-1].place != model.shown[-1]:
        line = [*fitted(segments, width - 1, style), Segment(">", style)]
    return line


def row_segments(
    model: TableModel, row: TableRow, chosen: int, width: int, base: Style, gutter: str, panel: Panel
) -> list[Segment]:
    """Draw a row: `gutter`, then its cells.

    From the first fact on, a variant that has a problem has it instead of the cells.
    """
    problem = model.problem(row.variant)
    segments = [
        Segment(sign, base + panel.ink(f"mark--{sign.lower()}") if sign in "AB" else base) for sign in gutter
    ]
    for span in visible(model, chosen, width):
        column = model.columns[span.place]
        if problem and column.name not in ("#", "state") and _after_choices(model, span.place):
            text = cell(display_line(problem), width - span.start, right=False)
            segments.append(Segment(text, base))
            break
        value = model.cell(row, column)
        text = cell(display_line(value.text), span.end - span.start, column.numeric)
        ink = base + panel.ink(_STYLES[value.mark]) if value.mark else base
        segments.append(Segment(f"{text}{_SIGNS.get(value.mark, ''):{GAP}}", ink))
    return fitted(segments, width, base)


def is_cut(model: TableModel, row: TableRow, chosen: int, width: int) -> bool:
    """Return True if the cell of the chosen column is cut."""
    room = next((s.end - s.start for s in visible(model, chosen, width) if s.place == chosen), 0)
    return len(display_line(model.cell(row, model.columns[chosen]).text)) > room


def _after_choices(model: TableModel, place: int) -> bool:
    """Return True if a column comes after the config values: the facts and how they differ."""
    column = model.columns[place]
    return isinstance(column, FactColumn) or column.name == DIFFERS


def cell(text: str, width: int, right: bool) -> str:
    """`text` in `width` cells; an ellipsis replaces what does not fit."""
    text = text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"
    return text.rjust(width) if right else text.ljust(width)
