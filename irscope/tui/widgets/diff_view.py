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
from irscope.tui import highlight, keys, rows
from irscope.tui.page import Kind, Page, PageSide, ScreenLayout, plain_page
from irscope.tui.paint import fitted
from irscope.tui.widgets.line_view import HEADING, LineView

# Two sides in fewer cells than this leave less than 40 characters of each line.
UNIFIED_BELOW = 100


class DiffView(LineView):
    """Draws a Page. `show` puts another one in its place."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.TEXT]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *rows.STYLE_CLASSES,
        *(f"code--{name}" for name in highlight.STYLE_CLASSES),
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
        self._lit: rows.Lit = (frozenset(), frozenset())

    # What is shown, and where the cursor is.

    @property
    def page(self) -> Page:
        """The page on show."""
        return self._page

    @property
    def unified(self) -> bool:
        """Whether both texts stand in one column: the user's choice, else where the panel is narrow."""
        return self.size.width < UNIFIED_BELOW if self._wanted is None else self._wanted

    def show(self, page: Page, headings: tuple[str, str], place: tuple[int, bool]) -> None:
        """Draws another page; the cursor goes to `place`: a line, and whether it is B's."""
        self._page, self._headings = page, headings
        self._lit = (frozenset(), frozenset())
        self._opened.clear()
        self._lay_out(*place)

    def head(self, headings: tuple[str, str]) -> None:
        """Draws other headings."""
        self._headings = headings
        self.refresh(Region(0, 0, self.size.width, HEADING))

    def mark_matches(self, query: str) -> None:
        """Marks what contains `query`."""
        self._query = query
        self.forget()

    def light(self, left: frozenset[int], right: frozenset[int]) -> None:
        """Marks these lines (from 0) of A and of B: a line of Python became them."""
        if self._lit != (left, right):
            self._lit = left, right
            self.forget()

    def lit_rows(self) -> list[int]:
        """The rows of the lines that `light` marks, in order."""
        sides = enumerate(self._lit)
        return sorted({self._page.row_of(line, bool(side)) for side, lines in sides for line in lines})

    @property
    def located(self) -> bool:
        """Whether source locations are shown."""
        return self._located or self._page.raw

    @property
    def row(self) -> int:
        """The row of the page that the cursor is on."""
        lines = self._layout.lines
        return lines[self.cursor].row if self.cursor < len(lines) else 0

    @property
    def place(self) -> tuple[int, bool]:
        """The line that the cursor is on, and whether it is B's: A's where both sides have one."""
        if not self._page.rows:
            return 0, False
        row = self._page.rows[self.row]
        return (row.left, False) if row.left is not None else (row.right or 0, True)

    def go_to_row(self, row: int) -> None:
        """The cursor to a row; a fold that hides it is opened."""
        index = self._layout.find(row)
        if self._at_fold(index):
            self._open(index)
            index = self._layout.find(row)
        self.reveal_centred(index)
        self.cursor = index

    def go_to_line(self, line: int, right: bool) -> None:
        """The cursor to a line of one side."""
        self.go_to_row(self._page.row_of(line, right))

    def go_to_change(self, direction: int) -> bool:
        """To the next (1) or previous (-1) change; False where there is none."""
        firsts = [first for first, _ in self._page.runs]
        place = bisect_right(firsts, self.row) if direction > 0 else bisect_left(firsts, self.row) - 1
        if not 0 <= place < len(firsts):
            return False
        self.go_to_row(firsts[place])
        return True

    def change_number(self) -> int:
        """How many changes begin at the cursor or above it."""
        return bisect_right([first for first, _ in self._page.runs], self.row)

    def line_of(self, right: bool) -> int | None:
        """The line (from 0) of B, or of A, under the cursor; None where it has none."""
        if not self._page.rows:
            return None
        row = self._page.rows[self.row]
        return row.right if right else row.left

    def line_text(self, right: bool) -> str | None:
        """The line under the cursor as the capture has it: B's (or A's), else the one that is there."""
        if not self._page.rows:
            return None
        row = self._page.rows[self.row]
        mine, other = (self._page.text(row, side) for side in (right, not right))
        return other if mine is None else mine

    # What the user does.

    def toggle_unified(self) -> None:
        """Two sides or one column."""
        self._wanted = not self.unified
        self._lay_out(*self.place)

    def toggle_folded(self) -> None:
        """Folds what is equal, or shows all of it."""
        self._folded = not self._folded
        self._opened.clear()
        self._lay_out(*self.place)

    def toggle_locations(self) -> None:
        """Shows source locations at the ends of lines, or hides them."""
        self._located = not self._located
        self.forget()

    def action_open_fold(self) -> None:
        """Shows the rows of the fold under the cursor."""
        if self._at_fold(self.cursor):
            self._open(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """A click on a fold opens it."""
        super().on_click(event)
        self.action_open_fold()

    def action_pan(self, cells: int) -> None:
        """Moves the texts sideways."""
        longest = max(side.longest for side in (self._page.left, self._page.right) if side)
        self._x = max(0, min(self._x + cells, longest - 16))
        self.forget()

    def action_pan_home(self) -> None:
        """Back to where the lines start."""
        self._x = 0
        self.forget()

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        """Sideways with the wheel."""
        event.stop()
        self.action_pan(8)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        """Sideways with the wheel."""
        event.stop()
        self.action_pan(-8)

    # How it lies on the screen.

    def forget(self) -> None:
        """Draws everything anew."""
        self._strips.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        """Another theme or focus: other colours."""
        super().notify_style_update()
        self._strips.clear()

    def on_resize(self) -> None:
        """A narrow panel turns to the unified view by itself."""
        self._ruler = []
        if self._layout.unified != (self.unified and self._page.compared):
            self._lay_out(*self.place)
        self.forget()
        super().on_resize()

    def _lay_out(self, line: int, right: bool) -> None:
        """Lays the page out anew, with the cursor on a line and that as far down the screen as it was."""
        below = self.cursor - self.scroll_offset.y
        self._layout = ScreenLayout(self._page, self.unified, self._folded, self._opened)
        self._ruler = []
        self._strips.clear()
        cursor = self._layout.find(self._page.row_of(line, right))
        self.set_reactive(DiffView.cursor, cursor)
        self.lines_changed()
        self._scroll(cursor - below)
        self.reveal(cursor)
        self.post_message(self.Moved())

    def _at_fold(self, index: int) -> bool:
        return index < self.line_count() and self._layout.lines[index].kind is Kind.FOLD

    def _open(self, index: int) -> None:
        self._opened.add(self._layout.lines[index].row)
        self._lay_out(*self.place)

    # Drawing.

    def line_count(self) -> int:
        """Screen lines; a fold is one."""
        return len(self._layout.lines)

    def draw_heading(self, width: int) -> Strip:
        """The names of A and B over their sides."""
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
        """A screen line and its bit of the ruler, remembered until something changes."""
        key = (index, width, index == self.cursor, self._changed_at(index - self.scroll_offset.y))
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._paint(*key)
        return strip

    def _paint(self, index: int, width: int, at_cursor: bool, changed: bool) -> Strip:
        painter = rows.RowPainter(self._page, self, self.base, self._x, self._query, self._lit, self._located)
        segments = painter.paint(self._layout.lines[index], width - 1, at_cursor)
        return Strip([*segments, Segment("▐" if changed else " ", self.style("ruler"))], width)

    def _changed_at(self, place: int) -> bool:
        """What the last column marks: which part of the whole text differs, so changes show from afar."""
        if not self._ruler:
            self._ruler = self._overview(self.page_lines)
        return place < len(self._ruler) and self._ruler[place]

    def _overview(self, height: int) -> list[bool]:
        """For each of `height` equal parts of the screen lines, whether something in it differs."""
        parts = [False] * height
        count = max(self.line_count(), height)
        for first, last in self._page.runs:
            start = self._layout.find(first) * height // count
            end = self._layout.find(last - 1) * height // count
            parts[start : end + 1] = [True] * (end + 1 - start)
        return parts
