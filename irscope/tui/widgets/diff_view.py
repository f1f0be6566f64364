"""The main area: two aligned texts that scroll together, or one text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.cache import LRUCache
from textual.geometry import Region
from textual.strip import Strip

from irscope.model.text import display_line
from irscope.tui import minimap, paint, row_painter
from irscope.tui.bindings import KeyGroup, key
from irscope.tui.minimap import Minimap
from irscope.tui.page import Page
from irscope.tui.paint import fitted
from irscope.tui.row_painter import Columns, RowPainter
from irscope.tui.widgets.line_view import HEADING, ItemView
from irscope.tui.widgets.page_view import PageView
from irscope.workspace import LineMarks
from irscope.workspace.stage_marks import NO_MARKS

# The heights from which on the change under the cursor has a line, and two lines.
_FOOTER_FROM, _TWO_FROM = 6, 20
# The width of a column from which on it has the lines of Python.
_PYTHON_FROM = 56
# And from which on it also has their shares of what runs.
_SHARES_FROM = 78
# How many drawn lines are kept: many pages, but not all of a long stage.
_STRIPS = 2000


class DiffView(PageView):
    """Draws a Page."""

    KEYS: ClassVar[KeyGroup] = KeyGroup(
        "In the texts",
        (
            key("l,right", "pan(8)", "Scroll right"),
            key("h,left", "pan(-8)", "Scroll left"),
            key("0", "pan_home", "Scroll back to the start of the lines"),
            key("Z", "wrap", "Wrap long lines, to see each change in full, or cut them"),
            key("V", "gauge", "Show or hide register pressure per line (SASS, PTX, AMDGCN)"),
            key("enter", "open_fold", "Unfold the lines, or go to what the finding is about", "open"),
        ),
    )
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *row_painter.STYLE_CLASSES,
        *(f"code--{name}" for name in paint.STYLE_CLASSES),
        *row_painter.DETAIL_STYLES,
        "ruler",
    }

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._headings = ("", "")
        # The page with the lines that only hold debug information.
        self._whole = self.page
        self._query = ""
        self._x = 0
        # Whether the user scrolled sideways since the last jump.
        self._panned = False
        self._wrapped = False
        self._located = False
        self._strips: LRUCache[tuple[object, ...], Strip] = LRUCache(_STRIPS)
        # The state that the painter of the lines was made for, and the painter.
        self._known_painter: tuple[tuple[object, ...], RowPainter] | None = None
        self._marks = (NO_MARKS, NO_MARKS)
        # Whether the gauge is shown; None: if there is room.
        self._wants_gauge: bool | None = None
        self._map = Minimap(self._layout, self._marks, 1)
        self._highlighted: row_painter.Highlighted = (frozenset(), frozenset())

    def show(self, page: Page, headings: tuple[str, str], place: tuple[int, bool]) -> None:
        """Show a page, with the cursor on `place`: a line, and whether it is B's."""
        self._whole, self._headings = page, headings
        self.page = page if self._located else page.code
        self._highlighted = (frozenset(), frozenset())
        self._opened.clear()
        self._x, self._panned = 0, False
        self._lay_out(*place)

    def set_headings(self, headings: tuple[str, str]) -> None:
        """Replace the headings."""
        self._headings = headings
        self.refresh(Region(0, 0, self.size.width, HEADING))

    def set_marks(self, left: LineMarks, right: LineMarks) -> None:
        """Mark the lines of A and B: hot loops, matrix instructions, spills, register pressure."""
        if (left, right) != self._marks:
            self._marks = left, right
            self._map = self._new_map()
            self.redraw()

    def matches(self, query: str) -> Sequence[int]:
        """Return the rows with `query`; source locations count if they are on screen."""
        return self.page.matches(query, self.located)

    def mark_matches(self, query: str) -> None:
        """Mark the matches of a search."""
        self._query = query
        self.redraw()

    def go_to_line(self, line: int, right: bool) -> None:
        """Move the cursor to a line of one side; if it has no row, show all of the text."""
        side = self.page.right if right else self.page.left
        if not self.located and side is not None and line not in side.code_lines:
            self.toggle_locations()
        super().go_to_line(line, right)

    def highlight(self, left: frozenset[int], right: frozenset[int]) -> None:
        """Highlights lines (from 0) of A and B."""
        self._highlighted = left, right
        self._known_painter = None
        self.refresh()

    def highlighted_row(self, after: int = -1) -> int | None:
        """Return the first row below row `after` that has a highlighted line; None if there is none."""
        rows = []
        for right, lines in enumerate(self._highlighted):
            above = self.page.line_before(after + 1, bool(right))
            line = min(filter(above.__le__, lines), default=None)
            if line is not None:
                rows.append(self.page.row_of(line, bool(right)))
        return min((row for row in rows if row > after), default=None)

    @property
    def located(self) -> bool:
        """Return True if source locations are on screen."""
        return self._located or self.page.raw

    # Actions.

    def toggle_locations(self) -> None:
        """Show or hide source locations, lines of debug information, and addresses."""
        self._located = not self._located
        place = self.place
        self.page = self._whole if self._located else self._whole.code
        self._opened.clear()
        self._lay_out(*place)

    def action_open_fold(self) -> None:
        """Unfold the rows under the cursor, or go to what the finding is about."""
        if self._at_fold(self.cursor):
            self._open(self.cursor)
        else:
            self.post_message(ItemView.Chosen(self))

    def on_click(self, event: events.Click) -> None:
        """Unfold a fold that is clicked; on the minimap, go to the clicked position."""
        screen_line = event.y - HEADING
        if self.minimap and event.x >= self._text_width and 0 <= screen_line < self.page_lines:
            self.go_to_row(self._map.target(screen_line))
            return
        super().on_click(event)
        if self._at_fold(self.cursor):
            self._open(self.cursor)

    def action_wrap(self) -> None:
        """Wrap long lines, or cuts them at the edge."""
        self._wrapped = not self._wrapped
        self._x, self._panned = 0, False
        self._lay_out(*self.place)

    def action_gauge(self) -> None:
        """Show or hides the register pressure of each line."""
        self._wants_gauge = not self.gauge
        self._lay_out(*self.place)

    def action_pan(self, cells: int) -> None:
        """Scrolls the texts sideways; if lines are wrapped, those that are taller than the panel."""
        longest = max(side.longest for side in (self.page.left, self.page.right) if side)
        step = self._columns.room(False) if self._wrapped else abs(cells)
        x = max(0, min(self._x + (step if cells > 0 else -step), longest - 16))
        self._panned = x > 0
        self._x = x
        self.redraw()  # even if x is the same: layouts are in full now, or no longer

    def action_pan_home(self) -> None:
        """Scrolls to the start of the lines."""
        self._panned = False
        self._x = 0
        self.redraw()

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        """Scrolls sideways with the wheel."""
        event.stop()
        self.action_pan(8)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        """Scrolls sideways with the wheel."""
        event.stop()
        self.action_pan(-8)

    def watch_cursor(self, old: int, new: int) -> None:
        """Show the change of the new line."""
        super().watch_cursor(old, new)
        footer = self.footer_height
        area = self.area
        self.refresh(Region(0, area.height - footer, area.width, footer))

    # Layout.

    def _forget(self) -> None:
        """Drop what is drawn from cached state."""
        self._strips.clear()
        self._known_painter = None

    def redraw(self) -> None:
        """Redraws everything."""
        self._forget()
        self._placed = None
        self.refresh()

    def laid_out(self) -> None:
        """Drop cached lines, and make the minimap of the new layout."""
        self._forget()
        self._map = self._new_map()

    def moved(self) -> None:
        """Show the match or the change under the cursor after a jump."""
        if self._panned:
            self.action_pan_home()

    def notify_style_update(self) -> None:
        """Drop cached lines after a change of theme or focus."""
        super().notify_style_update()
        self._forget()

    def on_resize(self) -> None:
        """Switches to one column if the panel is narrow."""
        self._lay_out(*self.place)
        super().on_resize()

    @property
    def wraps(self) -> bool:
        """Return True if long lines are wrapped."""
        return self._wrapped

    def line_height(self, index: int) -> int:
        """Return the number of screen lines that a line takes."""
        return self._painter().height(self._layout[index])

    # Drawing.

    def draw_heading(self, width: int) -> Strip:
        """Draw the names of A and B above their columns."""
        style = self.style("heading")
        left, right = (f" {display_line(heading)}" for heading in self._headings)
        if self.page.right is None or self._layout.unified:
            room = max(width // 2, width - cell_len(right) - 2)  # both names are on screen
            left_segments = fitted([Segment(left, style)], min(cell_len(left), room), style)
            return Strip(fitted([*left_segments, Segment(f"  {right}", style)], width, style), width)
        half = (width - 2) // 2
        left_segments = [*fitted([Segment(left, style)], half, style), Segment("│", style)]
        return Strip([*left_segments, *fitted([Segment(right, style)], width - half - 1, style)], width)

    def render_line(self, y: int) -> Strip:
        """Draws the screen line `y` and its part of the minimap; cached until something changes."""
        screen_line, page = y - HEADING, self.page_lines
        if not 0 <= screen_line < page or not self.line_count():
            return super().render_line(y)
        cells = self._map_cells(screen_line, page)
        index, part = self._place_at(screen_line) or (-1, 0)
        width = self.area.width
        key = (index, part, index == self.cursor, cells, self._highlight_of(index), width)
        strip = self._strips.get(key)
        if strip is None:
            segments = [Segment(" " * self._text_width, self.base)]
            if index >= 0:
                segments = self._painter().paint(self._layout[index], index == self.cursor, part)
            strip = self._strips[key] = Strip([*segments, Segment(cells, self.style("ruler"))], width)
        return strip

    def _highlight_of(self, index: int) -> tuple[bool, bool]:
        """Return whether A's and B's lines on screen line `index` of the page are highlighted."""
        left, right = self._highlighted
        if index < 0 or not any(self._highlighted):
            return False, False
        row = self.page.rows[self._layout[index].row]
        return row.left in left, row.right in right

    def _map_cells(self, place: int, page: int) -> str:
        """Return the minimap's part next to screen line `place`; if it is off, whether there is a change."""
        if not self.minimap:
            return "▐" if self._map.changed(place) else " "
        top = self.scroll_offset.y
        visible_lines = self.line_at(page - 1) - top + 1 if self.wraps else page
        return self._map.cells(place, top, visible_lines)

    @property
    def minimap(self) -> bool:
        """Return True if the panel is wide enough for the minimap."""
        return self.outer_size.width >= minimap.NARROWEST

    @property
    def gauge(self) -> bool:
        """Return True if the register pressure is next to the lines.

        It is as the user chose, else on if there is room.
        """
        return bool(self._columns.gauge)

    def _new_map(self) -> Minimap:
        return Minimap(self._layout, self._marks, self.page_lines)

    @property
    def _text_width(self) -> int:
        """Return the width without the minimap, or without the ruler instead of it."""
        return self.area.width - (minimap.WIDTH if self.minimap else 1)

    @property
    def _columns(self) -> Columns:
        two = self.page.right is not None and not self._layout.unified
        columns = Columns(self.page, self._text_width, two)
        digits = max(marks.longest_python for marks in self._marks)
        width = columns.width_of(False)
        if digits and width >= _PYTHON_FROM:
            shares = width >= _SHARES_FROM and any(any(marks.runs.values()) for marks in self._marks)
            python = len("py ") + digits + shares * row_painter.SHARES
            columns = replace(columns, python=python, shares=shares)
        has_pressure = any(marks.pressure for marks in self._marks)
        wide = width >= minimap.GAUGE_NARROWEST
        if has_pressure and (wide if self._wants_gauge is None else self._wants_gauge):
            return replace(columns, gauge=minimap.GAUGE_WIDTH)
        return columns

    def _painter(self) -> RowPainter:
        state = (self._x, self._panned, self._wrapped, self._located, self._query, self.area, self.page_lines)
        if self._known_painter is None or self._known_painter[0] != state:
            painter = RowPainter(
                self.page,
                self,
                self.base,
                self._columns,
                self._x,
                self._query,
                self._highlighted,
                self._located,
                full=self._panned,
                wrapped=self._wrapped,
                tallest=self.page_lines,
                marks=self._marks,
            )
            self._known_painter = state, painter
        return self._known_painter[1]

    # The change under the cursor.

    @property
    def footer_height(self) -> int:
        """Return the number of screen lines for the change under the cursor."""
        height = self.outer_size.height
        if height < _FOOTER_FROM or self.page.left.language is None:
            return 0
        return 2 if height >= _TWO_FROM else 1

    def draw_footer(self, part: int, width: int) -> Strip:
        """Draw a line of the change under the cursor."""
        base, rows = self.style("detail"), self._details()
        segments = rows[part] if part < len(rows) else []
        if part + 1 == self.footer_height and len(rows) > self.footer_height:
            segments.append(Segment(paint.ELLIPSIS, base))
        return Strip(fitted([Segment(" ", base), *segments], width, base), width)

    def _details(self) -> list[list[Segment]]:
        """Return the change under the cursor and the marks of its lines.

        They take as many screen lines as they need.
        """
        if not self.page.rows or self._at_fold(self.cursor):
            return []
        row = self.page.rows[self.row]
        painter = self._painter()
        change_pieces = list(
            row_painter.pieces(self.page, row, painter.text(row, False), painter.text(row, True))
        )
        notes = list(row_painter.notes(self._marks, row, self.page.right is not None))
        if change_pieces and notes:
            change_pieces.append(row_painter.GAP)
        width = max(self.area.width - 2, 1)
        return row_painter.rows([*change_pieces, *notes], width, self.style("detail"), self)
