"""A dialog that explains the terms on a line."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.strip import Strip

from irscope.glossary.glossary import GlossaryEntry, entries_in_line
from irscope.model.text import display_line
from irscope.tui.bindings import HELP, LEAVE, READ
from irscope.tui.paint import fitted
from irscope.tui.screens.reading import ReadingScreen
from irscope.tui.widgets.line_view import LineView


class ExplainView(LineView):
    """Glossary entries, wrapped."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"term"}

    def __init__(self, entries: Sequence[tuple[str, GlossaryEntry]]) -> None:
        super().__init__()
        self._entries = entries
        self._lines: list[tuple[str, str]] = []

    def on_resize(self) -> None:
        """Wrap the entries again."""
        width = max(self.scrollable_content_region.width - 4, 20)
        self._lines = [line for word, entry in self._entries for line in _lines(word, entry, width)]
        self.lines_changed()
        super().on_resize()

    def landmarks(self) -> Sequence[int]:
        """Return the terms."""
        return [index for index, (style, _) in enumerate(self._lines) if style == "term"]

    def line_count(self) -> int:
        """Return the number of wrapped lines."""
        return len(self._lines)

    def draw_heading(self, width: int) -> Strip:
        """Says how to close the dialog."""
        return self.bar(" Glossary   (e, q or Escape closes)", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """Draw a term, or a line of its explanation."""
        style, text = self._lines[index]
        ink = self.base + self.ink(style) if style else self.base
        return Strip(fitted([Segment(f" {text}", ink)], width, self.base), width)


class ExplainScreen(ReadingScreen[None], ModalScreen[None]):
    """The explanations of terms."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e,enter", "close", "Close", show=False),
        *LEAVE.bindings,
        *READ.bindings,
        HELP,
    ]

    def __init__(self, entries: Sequence[tuple[str, GlossaryEntry]]) -> None:
        super().__init__()
        self._entries = entries

    def compose(self) -> ComposeResult:
        """Yield the panel and the search bar."""
        yield ExplainView(self._entries)
        yield self.search_bar

    def on_mount(self) -> None:
        """Focuses the panel."""
        self.query_one(ExplainView).focus()


def explain_line(app: App[object], text: str, of_view: bool = False) -> None:
    """Explains the terms in a line of a stage, or else of a view; says so if there are none."""
    entries = entries_in_line(text, of_view)
    if entries:
        app.push_screen(ExplainScreen(entries))
    else:
        app.notify("No term on this line is in the glossary; `irscope explain` lists all terms")


def _lines(word: str, entry: GlossaryEntry, width: int) -> list[tuple[str, str]]:
    """Return a term and its explanation as (style class, text), followed by a blank line."""
    title = display_line(word if word == entry.word else f"{word}   ({entry.word})")
    lines = [("term", title), *(("", f"  {line}") for line in textwrap.wrap(entry.text, width))]
    if entry.related:
        related = f"related: {', '.join(entry.related)}"
        lines += [("dim", f"  {line}") for line in textwrap.wrap(related, width)]
    if entry.see:
        see = entry.see.title + (f", {entry.see.url}" if entry.see.url else "")
        lines += [("dim", f"  {line}") for line in textwrap.wrap(f"see: {see}", width)]
    return [*lines, ("", "")]
