"""A panel of lines with a heading and a cursor, which draws only visible lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from irscope.model.text import display_line
from irscope.tui.bindings import MOVE, KeyGroup
from irscope.tui.page import searcher
from irscope.tui.paint import fitted
from irscope.tui.widgets.styled import LineScrollBar, PanelMessage, Styled

if TYPE_CHECKING:
    pass

# The first line of a panel is its heading, which does not scroll.
HEADING = 1
# A line and its part (from 0) on one screen line.
_Place = tuple[int, int]
# A text and the style class that is added to the line's own style; "" for none.
Piece = tuple[str, str]
Item = TypeVar("Item")
_NUMBER = re.compile(r"#?([0-9]{1,9})")


class LineView(ScrollView, Styled, can_focus=True):
    """The base of the panels: moving the cursor, the mouse, and drawing single lines."""

    ALLOW_SELECT = False  # a click moves the cursor; with Shift, the terminal selects text
    # The keys of a kind of panel, in addition to those that move the cursor.
    KEYS: ClassVar[KeyGroup] = MOVE
    BINDINGS: ClassVar[list[BindingType]] = [*MOVE.bindings]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"heading", "dim", "row--cursor"}

    cursor: var[int] = var(0, init=False)

    class CursorMoved(PanelMessage):
        """The cursor moved to another line."""

    class Dragged(PanelMessage):
        """The user drags the heading down by some lines."""

        def __init__(self, view: LineView, lines: int) -> None:
            super().__init__(view)
            self.lines = lines

    def __init_subclass__(cls, **options: bool) -> None:
        if "KEYS" in cls.__dict__:
            cls.BINDINGS = [*cls.KEYS.bindings]
        super().__init_subclass__(**options)

    # What the prompt for the number of a line asks for.
    NUMBERED: ClassVar[str] = "line number"
    # The text of the first line.
    heading = ""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        # The screen line at which the mouse holds the heading.
        self._grabbed = 0
        self._area: tuple[tuple[Size, bool], Size] | None = None
        # The lines on screen, if some take several screen lines: see `_places`.
        self._placed: tuple[tuple[int, int, int], list[_Place]] | None = None

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """Return the scroll bar, which is made when it is first asked for."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = LineScrollBar()
            self._vertical_scrollbar.display = False
            self.app._start_widget(self, self._vertical_scrollbar)
        return self._vertical_scrollbar

    def line_count(self) -> int:
        """Return the number of lines."""
        raise NotImplementedError

    def draw_heading(self, width: int) -> Strip:
        """Draws the first line of the panel."""
        return self.bar(f" {self.heading}", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """Draws line `index` (from 0) in `width` cells."""
        raise NotImplementedError

    # Lines that are wrapped take several screen lines. The panel scrolls by whole lines, so that only those
    # on screen are ever wrapped.

    @property
    def wraps(self) -> bool:
        """Return True if lines can take several screen lines."""
        return False

    def line_height(self, index: int) -> int:
        """Return the number of screen lines that line `index` takes, if lines are wrapped."""
        return 1

    def draw_part(self, index: int, part: int, width: int) -> Strip:
        """Draws screen line `part` (from 0) of line `index`."""
        return self.draw_line(index, width)

    @property
    def footer_height(self) -> int:
        """Return the number of screen lines at the bottom that do not scroll."""
        return 0

    def draw_footer(self, part: int, width: int) -> Strip:
        """Draws a screen line (from 0) at the bottom."""
        raise NotImplementedError

    def plain_text(self, index: int) -> str:
        """Return the text of line `index`, for searches and the glossary; "" if there is no such line."""
        width = max(self.scrollable_content_region.width, 1)
        return self.draw_line(index, width).text.rstrip() if index < self.line_count() else ""

    def line_numbered(self, number: int) -> int | None:
        """Return the line that users know by a number, or None if there is none."""
        return number - 1 if 0 < number <= self.line_count() else None

    def go_to_number(self, text: str) -> bool:
        """Move the cursor to the line with a number, which may have a `#`; False if there is none."""
        match = _NUMBER.fullmatch(text)
        line = self.line_numbered(int(match[1])) if match else None
        if line is not None:
            self.go_to_row(line)
        return line is not None

    def landmarks(self) -> Sequence[int]:
        """Return the rows that begin a section, in order."""
        return ()

    # Searching. The rows of a panel are its lines, if a subclass does not say otherwise.

    @property
    def position(self) -> int:
        """Return the row under the cursor."""
        return self.cursor

    def go_to_row(self, row: int) -> None:
        """Move the cursor to a row."""
        self.reveal_centered(row)
        self.cursor = row

    def matches(self, query: str) -> Sequence[int]:
        """Return the rows with `query`; ignore case unless it has a capital."""
        is_match = searcher(query)
        return [index for index in range(self.line_count()) if is_match(self.plain_text(index))]

    def mark_matches(self, query: str) -> None:
        """Mark the matches of a search, if the panel can."""

    def render_line(self, y: int) -> Strip:
        """Draws the screen line `y` of the panel."""
        width = self.area.width
        if y < HEADING:
            strip = self.draw_heading(width)
        elif y - HEADING >= self.page_lines and self.footer_height:
            strip = self.draw_footer(y - HEADING - self.page_lines, width)
        elif (line_part := self._place_at(y - HEADING)) is not None:
            strip = self.draw_part(*line_part, width)
        else:
            strip = Strip.blank(width, self.base)
        # While its size changes, a panel may have to draw lines of another width.
        return strip if strip.cell_length == width else strip.crop_extend(0, width, self.base)

    def _place_at(self, y: int) -> _Place | None:
        """Return the line, and its part, on screen line `y` below the heading."""
        if not self.wraps:
            index = self.scroll_offset.y + y
            return (index, 0) if index < self.line_count() else None
        line_parts = self._places()
        return line_parts[y] if y < len(line_parts) else None

    def _places(self) -> list[_Place]:
        """Return the lines and parts on screen, from top to bottom, if lines are wrapped."""
        key = (self.scroll_offset.y, self.page_lines, self.area.width)
        if self._placed is None or self._placed[0] != key:
            line_parts: list[_Place] = []
            index = key[0]
            while index < self.line_count() and len(line_parts) < key[1]:
                line_parts += ((index, part) for part in range(self.line_height(index)))
                index += 1
            self._placed = (key, line_parts[: key[1]])
        return self._placed[1]

    def line_at(self, y: int) -> int:
        """Return the line on screen line `y` below the heading; one after the last if there is none."""
        line_part = self._place_at(max(y, 0))
        return self.line_count() if line_part is None else line_part[0]

    def _first_before(self, index: int, height: int) -> int:
        """Return the first line from which at most `height` screen lines lead to the end of line `index`."""
        if not self.wraps or not self.line_count():
            return index - height + 1
        left = height - self.line_height(index)
        while index > 0 and (left := left - self.line_height(index - 1)) >= 0:
            index -= 1
        return index

    def lines_changed(self) -> None:
        """Update the cursor and the scroll bar; to be called when the lines changed."""
        self._placed = None
        # Wrapped lines are taller than one screen line: any of them can be scrolled to the top.
        beyond = self.page_lines - 1 if self.wraps else 0
        size = Size(1, self.line_count() + HEADING + self.footer_height + beyond)
        if self.styles.auto_dimensions:
            self.virtual_size = size
        else:  # a layout of the screen is needed only if the scroll bar comes or goes; Textual sees to that
            self.set_reactive(LineView.virtual_size, size)
            self._scroll_update(size)
        self.set_reactive(LineView.cursor, self.validate_cursor(self.cursor))
        self.refresh()

    def validate_cursor(self, cursor: int) -> int:
        """Return the nearest line that exists."""
        return max(0, min(cursor, self.line_count() - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        """Redraws the two lines and scrolls to the cursor."""
        for index in (old, new):
            self.refresh_index(index)
        self.reveal(new)
        self.post_message(self.CursorMoved(self))

    def reveal(self, index: int) -> None:
        """Scrolls as little as needed to show line `index`."""
        top = self.scroll_offset.y
        first = self._first_before(min(index, max(self.line_count() - 1, 0)), self.page_lines)
        if index < top:
            self._scroll(index)
        elif top < first:
            self._scroll(min(first, index))

    def reveal_centered(self, index: int) -> None:
        """Scrolls so that line `index` is a third down the panel, unless it is already well inside."""
        top = self.scroll_offset.y
        below = min(index + 2, max(self.line_count() - 1, 0))
        if index < top + 2 or self._first_before(below, self.page_lines) > top:
            self.center(index)

    def center(self, index: int) -> None:
        """Scrolls so that line `index` is a third down the panel."""
        self._scroll(self._first_before(index, self.page_lines // 3 + 1))

    @property
    def page_lines(self) -> int:
        """Return how many screen lines are between the heading and the footer."""
        return max(self.area.height - HEADING - self.footer_height, 1)

    @property
    def area(self) -> Size:
        """Return the size without the scroll bar.

        It is cached, because Textual computes it from the screen's layout.
        """
        key = self.outer_size, self.show_vertical_scrollbar
        if self._area is None or self._area[0] != key:
            self._area = key, self.scrollable_content_region.size
        return self._area[1]

    def refresh_index(self, index: int) -> None:
        """Redraws one line."""
        first, height = index - self.scroll_offset.y, 1
        if self.wraps:
            shown = [line for line, _ in self._places()]
            height = shown.count(index)
            first = shown.index(index) if height else 0
        self.refresh(Region(0, first + HEADING, self.size.width, height))

    def bar(self, text: str, width: int) -> Strip:
        """Draw a heading of one text."""
        return self.strip([(text, "")], width, self.style("heading"))

    def line_base(self, index: int) -> Style:
        """Return the style of line `index`, which the cursor highlights."""
        return self.style("row--cursor") if index == self.cursor else self.base

    def strip(self, pieces: Iterable[Piece], width: int, base: Style) -> Strip:
        """Draw pieces in exactly `width` cells."""
        segments = [
            Segment(display_line(text), base + self.ink(name) if name else base) for text, name in pieces
        ]
        return Strip(fitted(segments, width, base), width)

    def _scroll(self, y: int) -> None:
        self.scroll_to(y=max(y, 0), animate=False, force=True)

    def action_down(self) -> None:
        """Move down by a line."""
        self.cursor += 1

    def action_up(self) -> None:
        """Move up by a line."""
        self.cursor -= 1

    def action_page_down(self) -> None:
        """Move down by a screen; the cursor keeps its place on it."""
        self._turn(1)

    def action_page_up(self) -> None:
        """Move up by a screen."""
        self._turn(-1)

    def action_half_page(self, direction: int) -> None:
        """Move by half a screen."""
        self._turn(direction, 2)

    def _turn(self, direction: int, parts: int = 1) -> None:
        top = self.scroll_offset.y
        if self.wraps and direction < 0:
            step = min((self._first_before(top, self.page_lines) - top) // parts, -1)
        else:
            visible_lines = self.line_at(self.page_lines - 1) - top if self.wraps else self.page_lines - 1
            step = direction * max(visible_lines // parts, 1)
        self._scroll(self.scroll_offset.y + step)
        self.cursor += step

    def action_first(self) -> None:
        """Move to the first line."""
        self.cursor = 0

    def action_last(self) -> None:
        """Move to the last line."""
        self.cursor = self.line_count() - 1

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked line."""
        if HEADING <= event.y < HEADING + self.page_lines:
            self.cursor = self.line_at(event.y - HEADING)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take the heading."""
        if event.y < HEADING:
            self._grabbed = event.screen_y
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag the heading."""
        if self.app.mouse_captured is self and event.screen_y != self._grabbed:
            self.post_message(self.Dragged(self, event.screen_y - self._grabbed))
            self._grabbed = event.screen_y

    def on_mouse_up(self) -> None:
        """Let go of the heading."""
        self.release_mouse()

    def on_resize(self) -> None:
        """Keep the cursor on screen."""
        self.reveal(self.cursor)


class ItemView(LineView, Generic[Item]):
    """A panel with an item per line; Enter or a double click chooses the one under the cursor."""

    class Chosen(PanelMessage):
        """The user wants to open the item under the cursor."""

    def __init__(self, heading: str = "", *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self.heading = heading
        self.items: Sequence[Item] = ()

    @property
    def current(self) -> Item | None:
        """Return the item under the cursor."""
        return self.items[self.cursor] if self.cursor < len(self.items) else None

    def pieces(self, item: Item, index: int, width: int) -> Iterable[Piece]:
        """Return the content of an item's line in `width` cells."""
        raise NotImplementedError

    def show(self, items: Sequence[Item]) -> None:
        """Show other items."""
        self.items = items
        self.lines_changed()

    def line_count(self) -> int:
        """Return the number of items."""
        return len(self.items)

    def draw_line(self, index: int, width: int) -> Strip:
        """Draw an item."""
        return self.strip(self.pieces(self.items[index], index, width), width, self.line_base(index))

    def action_choose(self) -> None:
        """Choose the item under the cursor."""
        if self.items:
            self.post_message(self.Chosen(self))

    def on_click(self, event: events.Click) -> None:
        """Choose the item that is clicked twice."""
        super().on_click(event)
        if event.chain == 2:
            self.action_choose()
