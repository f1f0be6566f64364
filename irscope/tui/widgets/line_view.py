"""A panel of lines with a heading and a cursor, which draws only visible lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

from irscope.model.text import display_line
from irscope.tui.bindings import MOVE, KeyGroup
from irscope.tui.paint import fitted

# The first line of a panel is its heading, which does not scroll.
HEADING = 1


class LineView(ScrollView, can_focus=True):
    """The base of the panels: moving the cursor, the mouse, and drawing single lines."""

    ALLOW_SELECT = False  # a click moves the cursor; after `m`, the terminal selects text
    # The keys of a kind of panel, in addition to those that move the cursor.
    KEYS: ClassVar[KeyGroup] = MOVE
    BINDINGS: ClassVar[list[BindingType]] = [*MOVE.bindings]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"heading", "dim", "row--cursor"}

    cursor: var[int] = var(0, init=False)

    class CursorMoved(Message):
        """The cursor moved to another line."""

        def __init__(self, view: LineView) -> None:
            super().__init__()
            self.view = view

        @property
        def control(self) -> LineView:
            """The panel, for the selectors of `on`."""
            return self.view

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._base: Style | None = None
        self._inks: dict[str, Style] = {}

    def line_count(self) -> int:
        """The number of lines."""
        raise NotImplementedError

    def draw_heading(self, width: int) -> Strip:
        """Draws the first line of the panel."""
        raise NotImplementedError

    def draw_line(self, index: int, width: int) -> Strip:
        """Draws line `index` (from 0) in `width` cells."""
        raise NotImplementedError

    def plain_text(self, index: int) -> str:
        """The text of line `index`, for searches and the glossary; "" if there is no such line."""
        width = max(self.scrollable_content_region.width, 1)
        return self.draw_line(index, width).text.rstrip() if index < self.line_count() else ""

    def landmarks(self) -> Sequence[int]:
        """The lines that begin a section, in order."""
        return ()

    def render_line(self, y: int) -> Strip:
        """Draws the screen line `y` of the panel."""
        width = self.scrollable_content_region.width
        index = self.scroll_offset.y + y - HEADING
        if y < HEADING:
            strip = self.draw_heading(width)
        elif index < self.line_count():
            strip = self.draw_line(index, width)
        else:
            strip = Strip.blank(width, self.base)
        # While its size changes, a panel may have to draw lines of another width.
        return strip if strip.cell_length == width else strip.crop_extend(0, width, self.base)

    def lines_changed(self) -> None:
        """Updates the cursor and the scroll bar; to be called when the lines changed."""
        self.virtual_size = Size(1, self.line_count() + HEADING)
        self.set_reactive(LineView.cursor, self.validate_cursor(self.cursor))
        self.refresh()

    def validate_cursor(self, cursor: int) -> int:
        """The nearest line that exists."""
        return max(0, min(cursor, self.line_count() - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        """Redraws the two lines and scrolls to the cursor."""
        for index in (old, new):
            self.refresh_index(index)
        self.reveal(new)
        self.post_message(self.CursorMoved(self))

    def reveal(self, index: int, margin: int = 0) -> None:
        """Scrolls as little as needed to show line `index` with `margin` lines around it."""
        page = self.page_lines
        top = self.scroll_offset.y
        if index < top + margin:
            self._scroll(index - margin)
        elif index >= top + page - margin:
            self._scroll(index + margin - page + 1)

    def reveal_centered(self, index: int) -> None:
        """Scrolls so that line `index` is a third down the panel, unless it is already well inside."""
        top, page = self.scroll_offset.y, self.page_lines
        if not top + 2 <= index < top + page - 2:
            self._scroll(index - page // 3)

    @property
    def page_lines(self) -> int:
        """How many lines fit on the screen."""
        return max(self.scrollable_content_region.height - HEADING, 1)

    def refresh_index(self, index: int) -> None:
        """Redraws one line."""
        self.refresh(Region(0, index - self.scroll_offset.y + HEADING, self.size.width, 1))

    @property
    def base(self) -> Style:
        """The panel's own style; cached, because computing it takes 0.2 ms."""
        if self._base is None:
            self._base = self.rich_style
        return self._base

    def notify_style_update(self) -> None:
        """Drops cached styles after a change of theme or focus."""
        super().notify_style_update()
        self._base = None
        self._inks.clear()

    def style(self, *names: str) -> Style:
        """The style of a component class, with the panel's background."""
        return self.get_component_rich_style(*names)

    def ink(self, name: str) -> Style:
        """The attributes that a component class itself sets, to add to another style."""
        ink = self._inks.get(name)
        if ink is None:
            own = self.get_component_rich_style(name, partial=True)
            # A partial style lacks alpha: a tint of 20 % would be the whole color.
            whole = self.get_component_rich_style(name)
            ink = own + Style(color=own.color and whole.color, bgcolor=own.bgcolor and whole.bgcolor)
            self._inks[name] = ink
        return ink

    def bar(self, text: str, width: int) -> Strip:
        """A heading of one text."""
        style = self.style("heading")
        return Strip(fitted([Segment(display_line(text), style)], width, style), width)

    def _scroll(self, y: int) -> None:
        self.scroll_to(y=max(y, 0), animate=False, force=True)

    def action_down(self) -> None:
        """Moves down by a line."""
        self.cursor += 1

    def action_up(self) -> None:
        """Moves up by a line."""
        self.cursor -= 1

    def action_page_down(self) -> None:
        """Moves down by a screen; the cursor keeps its place on it."""
        self._turn(1)

    def action_page_up(self) -> None:
        """Moves up by a screen."""
        self._turn(-1)

    def _turn(self, direction: int) -> None:
        step = direction * max(self.page_lines - 1, 1)
        self._scroll(self.scroll_offset.y + step)
        self.cursor += step

    def action_first(self) -> None:
        """Moves to the first line."""
        self.cursor = 0

    def action_last(self) -> None:
        """Moves to the last line."""
        self.cursor = self.line_count() - 1

    def on_click(self, event: events.Click) -> None:
        """Moves the cursor to the clicked line."""
        if event.y >= HEADING:
            self.cursor = self.scroll_offset.y + event.y - HEADING

    def on_resize(self) -> None:
        """Keeps the cursor on screen."""
        self.reveal(self.cursor)
