"""A panel of lines with a heading and a cursor, of which only what is on screen is drawn."""

from __future__ import annotations

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
from irscope.tui import keys
from irscope.tui.paint import fitted

# The first line of a panel says what it shows; it stays when the lines scroll.
HEADING = 1


class LineView(ScrollView, can_focus=True):
    """The base of the table, the texts and the findings: movement, mouse and drawing of single lines."""

    ALLOW_SELECT = False  # the mouse moves the cursor; `m` leaves selecting to the terminal
    BINDINGS: ClassVar[list[BindingType]] = [*keys.MOVE]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"heading", "dim", "row--cursor"}

    cursor: var[int] = var(0, init=False)

    class Moved(Message):
        """The cursor came to another line."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._base: Style | None = None
        self._inks: dict[str, Style] = {}

    def line_count(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def draw_heading(self, width: int) -> Strip:
        """The first line of the panel."""
        raise NotImplementedError

    def draw_line(self, index: int, width: int) -> Strip:
        """Line `index`, from 0, for `width` cells."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        """The screen line `y` of the panel."""
        width = self.scrollable_content_region.width
        index = self.scroll_offset.y + y - HEADING
        if y < HEADING:
            strip = self.draw_heading(width)
        elif index < self.line_count():
            strip = self.draw_line(index, width)
        else:
            strip = Strip.blank(width, self.base)
        # A panel in the middle of a change of size may be asked for lines of another width.
        return strip if strip.cell_length == width else strip.crop_extend(0, width, self.base)

    def lines_changed(self) -> None:
        """To be called when there are other lines: the cursor and the scroll bar follow."""
        self.virtual_size = Size(1, self.line_count() + HEADING)
        self.set_reactive(LineView.cursor, self.validate_cursor(self.cursor))
        self.refresh()

    def validate_cursor(self, cursor: int) -> int:
        """The nearest line that is there."""
        return max(0, min(cursor, self.line_count() - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        """Draws the two lines anew and brings the cursor in sight."""
        for index in (old, new):
            self.refresh_index(index)
        self.reveal(new)
        self.post_message(self.Moved())

    def reveal(self, index: int, margin: int = 0) -> None:
        """Scrolls as little as shows line `index` with `margin` lines around it."""
        page = self.page_lines
        top = self.scroll_offset.y
        if index < top + margin:
            self._scroll(index - margin)
        elif index >= top + page - margin:
            self._scroll(index + margin - page + 1)

    def reveal_centred(self, index: int) -> None:
        """Puts line `index` a third down the panel, unless it is well in sight already."""
        top, page = self.scroll_offset.y, self.page_lines
        if not top + 2 <= index < top + page - 2:
            self._scroll(index - page // 3)

    @property
    def page_lines(self) -> int:
        """How many lines are in sight at once."""
        return max(self.scrollable_content_region.height - HEADING, 1)

    def refresh_index(self, index: int) -> None:
        """Draws one line anew."""
        self.refresh(Region(0, index - self.scroll_offset.y + HEADING, self.size.width, 1))

    @property
    def base(self) -> Style:
        """The panel's own style; remembered, as it costs 0.2 ms."""
        if self._base is None:
            self._base = self.rich_style
        return self._base

    def notify_style_update(self) -> None:
        """Another theme or focus: other colours."""
        super().notify_style_update()
        self._base = None
        self._inks.clear()

    def style(self, *names: str) -> Style:
        """The style of a component class, with the panel's background."""
        return self.get_component_rich_style(*names)

    def ink(self, name: str) -> Style:
        """What a component class itself sets, to be laid over another style."""
        ink = self._inks.get(name)
        if ink is None:
            own = self.get_component_rich_style(name, partial=True)
            # Textual leaves the alpha out of a partial style: a tint of 20 % would be the whole colour.
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
        """One line down."""
        self.cursor += 1

    def action_up(self) -> None:
        """One line up."""
        self.cursor -= 1

    def action_page_down(self) -> None:
        """A page down; the cursor keeps its place on the screen."""
        self._turn(1)

    def action_page_up(self) -> None:
        """A page up."""
        self._turn(-1)

    def _turn(self, direction: int) -> None:
        step = direction * max(self.page_lines - 1, 1)
        self._scroll(self.scroll_offset.y + step)
        self.cursor += step

    def action_first(self) -> None:
        """The first line."""
        self.cursor = 0

    def action_last(self) -> None:
        """The last line."""
        self.cursor = self.line_count() - 1

    def on_click(self, event: events.Click) -> None:
        """The cursor goes to the line that is clicked."""
        if event.y >= HEADING:
            self.cursor = self.scroll_offset.y + event.y - HEADING

    def on_resize(self) -> None:
        """The cursor stays in sight."""
        self.reveal(self.cursor)
