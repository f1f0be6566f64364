"""A page of the manual."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import ClassVar

from rich.console import Console
from rich.markdown import Markdown
from rich.segment import Segment
from rich.theme import Theme
from textual import work
from textual.binding import BindingType
from textual.strip import Strip

from irscope.learn.manual_pages import ManualPage
from irscope.model.text import display_line
from irscope.tui.background import Background
from irscope.tui.bindings import LEAVE, READ
from irscope.tui.paint import fitted
from irscope.tui.screens.reading import ReadingScreen
from irscope.tui.widgets.line_view import ItemView

# Lines of prose get hard to read if they are longer.
_MAX_WIDTH = 110
_HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)
_LINK = re.compile(r"!?\[([^]]*)\]\((?!https?:)[^)]*\)")
# Rich's headings are red, its code is black on cyan, which light themes do not suit.
_STYLES = Theme(
    {f"markdown.h{level}": "bold" for level in range(1, 7)}
    | {"markdown.code": "bold", "markdown.link": "underline"}
)


class ManualView(ItemView[Sequence[Segment]]):
    """A rendered page; lines that equal one of `headings` begin a section."""

    headings: frozenset[str] = frozenset()

    def landmarks(self) -> Sequence[int]:
        """Return the headings."""
        return [
            index for index in range(self.line_count()) if self.plain_text(index).strip() in self.headings
        ]

    def draw_line(self, index: int, width: int) -> Strip:
        """Draw a line of the page."""
        base = self.line_base(index)
        row = [
            Segment(display_line(text), base + style if style else base)
            for text, style, _ in self.items[index]
        ]
        return Strip(fitted([Segment(" ", base), *row], width, base), width)


class ManualScreen(ReadingScreen[None]):
    """Shows a page; rendering it takes up to half a second, in the background."""

    BINDINGS: ClassVar[list[BindingType]] = [*READ.bindings, *LEAVE.bindings]

    def __init__(self, title: str, path: Path, background: Background) -> None:
        self._view = ManualView(title)
        super().__init__(self._view)
        self._page = ManualPage(title, path)
        self._background = background
        self._width = 0

    def on_resize(self) -> None:
        """Render the page for the width of the screen."""
        width = min(self.size.width - 3, _MAX_WIDTH)
        if width != self._width:
            self._width = width
            self._render_page()

    @work(exclusive=True, group="manual", exit_on_error=False)
    async def _render_page(self) -> None:
        dark = self.app.current_theme.dark
        try:
            text = _LINK.sub(r"\1", self._page.text())
        except OSError as error:
            text = f"{self._page.path}: {error.strerror or error}"
        rows = await self._background.run(rendered, text, self._width, dark)
        self._view.headings = frozenset(title.replace("`", "").strip() for title in _HEADING.findall(text))
        self._view.show(rows)


def rendered(text: str, width: int, dark: bool) -> list[list[Segment]]:
    """Render the lines of a Markdown text."""
    console = Console(
        file=StringIO(), width=max(width, 20), force_terminal=True, color_system="truecolor", theme=_STYLES
    )
    markdown = Markdown(text, code_theme="ansi_dark" if dark else "ansi_light", hyperlinks=False)
    lines = console.render_lines(markdown, pad=False)
    return [[Segment(s.text.rstrip("\n"), s.style) for s in line if not s.control] for line in lines]
