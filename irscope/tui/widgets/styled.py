"""What panels and bars have in common: their styles and messages, and that they draw only what changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.style import Style
from textual.geometry import Region, Size
from textual.message import Message
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget

if TYPE_CHECKING:
    from typing_extensions import Self


class Styled(Widget):
    """What draws lines with the styles of its component classes, which are computed once."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._base: Style | None = None
        self._inks: dict[str, Style] = {}
        self._rich_styles: dict[tuple[str, ...], Style] = {}
        # The lines on screen, by their places, and the size and style that they were drawn for.
        self._drawn: dict[int, Strip] = {}
        self._drawn_for: tuple[Size, Style] | None = None

    @property
    def base(self) -> Style:
        """Return the widget's own style; cached, because computing it takes 0.2 ms."""
        if self._base is None:
            self._base = self.rich_style
        return self._base

    def notify_style_update(self) -> None:
        """Drop cached styles after a change of theme or focus."""
        super().notify_style_update()
        self._base = None
        self._inks.clear()
        self._rich_styles.clear()
        self._drawn.clear()

    def refresh(self, *regions: Region, **options: bool) -> Self:
        """Draw regions again, or everything."""
        for region in regions:
            for y in region.line_range:
                self._drawn.pop(y, None)
        if not regions:
            self._drawn.clear()
        return super().refresh(*regions, **options)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines of a region, of which only those that were refreshed are drawn.

        Textual asks for all of them whenever any widget changes, and would copy and filter each again.
        """
        if self.styles.gutter:
            return super().render_lines(crop)  # which draws borders
        drawn_for = self.outer_size, self.base
        if self._drawn_for != drawn_for:
            self._drawn_for = drawn_for
            self._drawn.clear()
        if missing := [y for y in crop.line_range if y not in self._drawn]:
            filters, background = self.get_line_filters(), self.background_colors[1]
            for y in missing:
                strip = self.render_line(y)
                for line_filter in filters:
                    strip = strip.apply_filter(line_filter, background)
                self._drawn[y] = strip
        return [self._drawn[y].crop(*crop.column_span) for y in crop.line_range]

    def style(self, *names: str) -> Style:
        """Return the style of a component class, with the widget's background."""
        if names not in self._rich_styles:
            self._rich_styles[names] = self.get_component_rich_style(*names)
        return self._rich_styles[names]

    def ink(self, name: str) -> Style:
        """Return the attributes that a component class itself sets, to add to another style."""
        if name not in self._inks:
            partial_style = self.get_component_rich_style(name, partial=True)
            # A partial style lacks alpha: a tint of 20 % would be the whole color.
            whole = self.get_component_rich_style(name)
            self._inks[name] = partial_style + Style(
                color=partial_style.color and whole.color, bgcolor=partial_style.bgcolor and whole.bgcolor
            )
        return self._inks[name]


class LineScrollBar(Styled, ScrollBar):
    """A scroll bar that draws its few different lines; Textual takes 2 ms to draw each of its lines."""

    _lines: Sequence[Strip] = ()

    def on_show(self) -> None:
        """Show where the panel is, which may have scrolled before its scroll bar was there."""
        self.position = getattr(self.parent, "scroll_y", 0)

    def render_line(self, y: int) -> Strip:
        """Return a line, after a refresh of all lines."""
        if not self._drawn:
            console = self.app.console
            # A segment and a line feed per line.
            segments = [*console.render(self.render(), console.options.update_dimensions(*self.size))][::2]
            strips = {segment: Strip([segment]).apply_style(self.base) for segment in set(segments)}
            self._lines = [strips[segment] for segment in segments]
        return self._lines[y]


class PanelMessage(Message):
    """A message from a panel or a bar to its screen."""

    def __init__(self, view: Widget) -> None:
        super().__init__()
        self.view = view

    @property
    def control(self) -> Widget:
        """Return the panel, for the selectors of `on`."""
        return self.view
