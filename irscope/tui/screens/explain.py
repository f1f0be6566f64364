"""What the words on a line mean, over the app."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.strip import Strip

from irscope.glossary.glossary import GlossaryEntry
from irscope.model.text import display_line
from irscope.tui.paint import fitted
from irscope.tui.widgets.line_view import LineView


class ExplainView(LineView):
    """The entries, wrapped to the width."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"word"}

    def __init__(self, entries: Sequence[tuple[str, GlossaryEntry]]) -> None:
        super().__init__()
        self._entries = entries
        self._lines: list[tuple[str, str]] = []

    def on_resize(self) -> None:
        """Other lines fit."""
        width = max(self.scrollable_content_region.width - 4, 20)
        self._lines = [line for word, entry in self._entries for line in _lines(word, entry, width)]
        self.lines_changed()
        super().on_resize()

    def line_count(self) -> int:
        """Lines of all entries."""
        return len(self._lines)

    def draw_heading(self, width: int) -> Strip:
        """How to close it."""
        return self.bar(" What this means   (e, q or Escape closes)", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """A word, or a line of what there is to say of it."""
        style, text = self._lines[index]
        ink = self.base + self.ink(style) if style else self.base
        return Strip(fitted([Segment(f" {text}", ink)], width, self.base), width)


class ExplainScreen(ModalScreen[None]):
    """Until it is closed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,e,enter", "dismiss", "Close", show=False)]

    def __init__(self, entries: Sequence[tuple[str, GlossaryEntry]]) -> None:
        super().__init__()
        self._entries = entries

    def compose(self) -> ComposeResult:
        """One panel."""
        yield ExplainView(self._entries)

    def on_mount(self) -> None:
        """The keys move in the panel."""
        self.query_one(ExplainView).focus()


def _lines(word: str, entry: GlossaryEntry, width: int) -> list[tuple[str, str]]:
    """A word and its entry as (style class, text), a blank line at its end."""
    title = display_line(word if word == entry.word else f"{word}   ({entry.word})")
    lines = [("word", title), *(("", f"  {line}") for line in textwrap.wrap(entry.text, width))]
    if entry.see:
        see = entry.see.title + (f", {entry.see.url}" if entry.see.url else "")
        lines += [("dim", f"  {line}") for line in textwrap.wrap(f"see: {see}", width)]
    return [*lines, ("", "")]
