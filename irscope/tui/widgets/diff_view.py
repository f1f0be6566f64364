"""The main area: two aligned texts that scroll together, or one text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.strip import Strip

from irscope.model.text import display_line
from irscope.tui import paint, row_painter
from irscope.tui.bindings import KeyGroup, key
from irscope.tui.page import Kind, Page, PageSide, ScreenLayout, plain_page
from irscope.tui.paint import fitted
from irscope.tui.widgets.line_view import HEADING, LineView

# In fewer cells, two columns would show less than 40 characters of each line.
UNIFIED_BELOW = 100


class DiffView(LineView):
    """Draws a Page."""

    KEYS: ClassVar[KeyGroup] = KeyGroup(
        "In the texts",
        (
            key("l,right", "pan(8)", "Scroll right"),
            key("h,left", "pan(-8)", "Scroll left"),
            key("0", "pan_home", "Scroll back to the start of the lines"),
            key("enter", "open_fold", "Unfold the lines under the cursor"),
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS.bindings]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *row_painter.STYLE_CLASSES,
        *(f"code--{name}" for name in paint.STYLE_CLASSES),
        "ruler",
    }

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._page = plain_page(PageSide([]), None)
        self._headings = ("", "")
        self._query = ""
        self._x = 0
        self._wanted: bool | None = None
        self._folded = True
        self._opened: set[int] = set()
        self._located = False
        self._layout = ScreenLayout(self._page, False, False)
        self._strips: dict[tuple[int, int, bool, bool], Strip] = {}
        self._ruler: list[bool] = []
        self._highlighted: row_painter.Highlighted = (frozenset(), frozenset())

    # The visible rows and the position of the cursor.

    @property
    def page(self) -> Page:
        """The page on screen."""
        return self._page

    @property
    def unified(self) -> bool:
        """Whether there is one column: as the user chose, else if the panel is narrow."""
        return self.size.width < UNIFIED_BELOW if self._wanted is None else self._wanted

    @property
    def chosen_unified(self) -> bool | None:
        """Whether the user chose one column (True) or two; None: the width of the panel decides."""
        return self._wanted

    def restore_unified(self, wanted: bool | None) -> None:
        """Shows the number of columns that the user chose earlier."""
        self._wanted = wanted

    def show(self, page: Page, headings: tuple[str, str], place: tuple[int, bool]) -> None:
        """Shows a page, with the cursor on `place`: a line, and whether it is B's."""
        self._page, self._headings = page, headings
        self._highlighted = (frozenset(), frozenset())
        self._opened.clear()
        self._lay_out(*place)

    def set_headings(self, headings: tuple[str, str]) -> None:
        """Replaces the headings."""
        self._headings = headings
        self.refresh(Region(0, 0, self.size.width, HEADING))

    def mark_matches(self, query: str) -> None:
        """Marks the matches of a search."""
        self._query = query
        self.redraw()

    def highlight(self, left: frozenset[int], right: frozenset[int]) -> None:
        """Highlights lines (from 0) of A and B."""
        if self._highlighted != (left, right):
            self._highlighted = left, right
            self.redraw()

    def highlighted_rows(self) -> list[int]:
        """The rows of the highlighted lines, in order."""
        sides = enumerate(self._highlighted)
        return sorted({self._page.row_of(line, bool(side)) for side, lines in sides for line in lines})

    @property
    def located(self) -> bool:
        """Whether source locations are on screen."""
        return self._located or self._page.raw

    @property
    def row(self) -> int:
        """The row under the cursor."""
        lines = self._layout.lines
        return lines[self.cursor].row if self.cursor < len(lines) else 0

    @property
    def place(self) -> tuple[int, bool]:
        """The line under the cursor, and whether it is B's; A's if both sides have one."""
        if not self._page.rows:
            return 0, False
        row = self._page.rows[self.row]
        return (row.left, False) if row.left is not None else (row.right or 0, True)

    def go_to_row(self, row: int) -> None:
        """Moves the cursor to a row, and unfolds it."""
        index = self._layout.find(row)
        if self._at_fold(index):
            self._open(index)
            index = self._layout.find(row)
        self.reveal_centered(index)
        self.cursor = index

    def go_to_line(self, line: int, right: bool) -> None:
        """Moves the cursor to a line of one side."""
        self.go_to_row(self._page.row_of(line, right))

    def go_to_change(self, direction: int) -> bool:
        """Moves the cursor to the next (1) or previous (-1) change; False if there is none."""
        firsts = [first for first, _ in self._page.runs]
        place = bisect_right(firsts, self.row) if direction > 0 else bisect_left(firsts, self.row) - 1
        if not 0 <= place < len(firsts):
            return False
        self.go_to_row(firsts[place])
        return True

    def change_number(self) -> int:
        """The number of changes that start at the cursor or above it."""
        return bisect_right([first for first, _ in self._page.runs], self.row)

    def line_of(self, right: bool) -> int | None:
        """The line (from 0) of B, or of A, under the cursor; None if it has none."""
        if not self._page.rows:
            return None
        row = self._page.rows[self.row]
        return row.right if right else row.left

    def line_text(self, right: bool) -> str | None:
        """The text under the cursor: B's, or A's; the other one if that side has none."""
        if not self._page.rows:
            return None
        row = self._page.rows[self.row]
        mine, other = (self._page.text(row, side) for side in (right, not right))
        return other if mine is None else mine

    # Actions.

    def toggle_unified(self) -> None:
        """Switches between two columns and one."""
        self._wanted = not self.unified
        self._lay_out(*self.place)

    def toggle_folded(self) -> None:
        """Folds or shows equal rows."""
        self._folded = not self._folded
        self._opened.clear()
        self._lay_out(*self.place)

    def toggle_locations(self) -> None:
        """Shows or hides source locations."""
        self._located = not self._located
        self.redraw()

    def action_open_fold(self) -> None:
        """Unfolds the rows under the cursor."""
        if self._at_fold(self.cursor):
            self._open(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """A click unfolds a fold."""
        super().on_click(event)
        self.action_open_fold()

    def action_pan(self, cells: int) -> None:
        """Scrolls the texts sideways."""
        longest = max(side.longest for side in (self._page.left, self._page.right) if side)
        self._x = max(0, min(self._x + cells, longest - 16))
        self.redraw()

    def action_pan_home(self) -> None:
        """Scrolls to the start of the lines."""
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

    # Layout.

    def redraw(self) -> None:
        """Redraws everything."""
        self._strips.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        """Drops cached lines after a change of theme or focus."""
        super().notify_style_update()
        self._strips.clear()

    def on_resize(self) -> None:
        """Switches to one column if the panel is narrow."""
        self._ruler = []
        if self._layout.unified != (self.unified and self._page.compared):
            self._lay_out(*self.place)
        self.redraw()
        super().on_resize()

    def _lay_out(self, line: int, right: bool) -> None:
        """Lays the page out, with the cursor on a line at its previous height on the screen."""
        below = self.cursor - self.scroll_offset.y
        self._layout = ScreenLayout(self._page, self.unified, self._folded, self._opened)
        self._ruler = []
        self._strips.clear()
        cursor = self._layout.find(self._page.row_of(line, right))
        self.set_reactive(DiffView.cursor, cursor)
        self.lines_changed()
        self._scroll(cursor - below)
        self.reveal(cursor)
        self.post_message(self.CursorMoved(self))

    def _at_fold(self, index: int) -> bool:
        return index < self.line_count() and self._layout.lines[index].kind is Kind.FOLD

    def _open(self, index: int) -> None:
        self._opened.add(self._layout.lines[index].row)
        self._lay_out(*self.place)

    # Drawing.

    def line_count(self) -> int:
        """The number of screen lines; a fold is one."""
        return len(self._layout.lines)

    def draw_heading(self, width: int) -> Strip:
        """The names of A and B above their columns."""
        style = self.style("heading")
        left, right = (f" {display_line(heading)}" for heading in self._headings)
        if self._page.right is None or self._layout.unified:
            return self.bar(f"{left}  {right}", width)
        half = (width - 2) // 2
        rest = width - half - 1
        segments = [
            *fitted([Segment(left, style)], half, style),
            Segment("│", style),
            *fitted([Segment(right, style)], rest, style),
        ]
        return Strip(segments, width)

    def draw_line(self, index: int, width: int) -> Strip:
        """A screen line and its part of the ruler, cached until something changes."""
        key = (index, width, index == self.cursor, self._changed_at(index - self.scroll_offset.y))
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._paint(*key)
        return strip

    def _paint(self, index: int, width: int, at_cursor: bool, changed: bool) -> Strip:
        painter = row_painter.RowPainter(
            self._page, self, self.base, self._x, self._query, self._highlighted, self._located
        )
        segments = painter.paint(self._layout.lines[index], width - 1, at_cursor)
        return Strip([*segments, Segment("▐" if changed else " ", self.style("ruler"))], width)

    def _changed_at(self, place: int) -> bool:
        """Whether the ruler, an overview of the whole text in the last column, has a mark here."""
        if not self._ruler:
            self._ruler = self._overview(self.page_lines)
        return place < len(self._ruler) and self._ruler[place]

    def _overview(self, height: int) -> list[bool]:
        """For each of `height` equal parts of the text, whether it has a change."""
        parts = [False] * height
        count = max(self.line_count(), height)
        for first, last in self._page.runs:
            start = self._layout.find(first) * height // count
            end = self._layout.find(last - 1) * height // count
            parts[start : end + 1] = [True] * (end + 1 - start)
        return parts
