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
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.strip import Strip

from irscope.learn.manual_pages import ManualPage
from irscope.model.text import display_line
from irscope.tui.background import Background
from irscope.tui.bindings import LEAVE, READ
from irscope.tui.paint import fitted
from irscope.tui.screens.reading import ReadingScreen
from irscope.tui.widgets.bars import KeyHints
from irscope.tui.widgets.line_view import LineView

# Lines of prose get hard to read if they are longer.
_MAX_WIDTH = 110
_HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)
_LINK = re.compile(r"!?\[([^]]*)\]\((?!https?:)[^)]*\)")
# Rich's headings are red, its code is black on cyan, which light themes do not suit.
_STYLES = Theme(
    {f"markdown.h{level}": "bold" for level in range(1, 7)}
    | {"markdown.code": "bold", "markdown.link": "underline"}
)


class ManualView(LineView):
    """A rendered page."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self._rows: list[list[Segment]] = []
        self._headings: frozenset[str] = frozenset()

    def show(self, rows: list[list[Segment]], headings: frozenset[str] = frozenset()) -> None:
        """Show rendered lines; those that equal one of `headings` begin a section."""
        self._rows, self._headings = rows, headings
        self.lines_changed()

    def landmarks(self) -> Sequence[int]:
        """Return the headings."""
        return [index for index in range(len(self._rows)) if self.plain_text(index).strip() in self._headings]

    def line_count(self) -> int:
        """Return the number of lines."""
        return len(self._rows)

    def draw_heading(self, width: int) -> Strip:
        """Draw the title of the page."""
        return self.bar(f" {self._title}", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """Draw a line of the page."""
        base = self.style("row--cursor") if index == self.cursor else self.base
        row = [
            Segment(display_line(text), base + style if style else base)
            for text, style, _ in self._rows[index]
        ]
        return Strip(fitted([Segment(" ", base), *row], width, base), width)


class ManualScreen(ReadingScreen[None]):
    """Shows a page; rendering it takes up to half a second, in the background."""

    BINDINGS: ClassVar[list[BindingType]] = [*READ.bindings, *LEAVE.bindings]

    def __init__(self, title: str, path: Path, background: Background) -> None:
        super().__init__()
        self._page = ManualPage(title, path)
        self._background = background
        self._width = 0

    def compose(self) -> ComposeResult:
        """Yield the page, the search bar, the keys."""
        yield ManualView(self._page.title)
        yield self.search_bar
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Focuses the page."""
        self.query_one(ManualView).focus()

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
        self.query_one(ManualView).show(rows, frozenset(_plain(title) for title in _HEADING.findall(text)))


def _plain(title: str) -> str:
    """Return a heading as it is rendered."""
    return title.replace("`", "").strip()


def rendered(text: str, width: int, dark: bool) -> list[list[Segment]]:
    """Render the lines of a Markdown text."""
    console = Console(
        file=StringIO(), width=max(width, 20), force_terminal=True, color_system="truecolor", theme=_STYLES
    )
    markdown = Markdown(text, code_theme="ansi_dark" if dark else "ansi_light", hyperlinks=False)
    lines = console.render_lines(markdown, pad=False)
    return [[Segment(s.text.rstrip("\n"), s.style) for s in line if not s.control] for line in lines]
