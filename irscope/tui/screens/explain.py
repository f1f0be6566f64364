"""A dialog that explains the terms on a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.style import Style
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from irscope.document.blocks import Line, title
from irscope.glossary.glossary import GlossaryEntry, entries_in_line
from irscope.tui.bindings import HELP, LEAVE, READ
from irscope.tui.screens.reading import ReadingScreen
from irscope.tui.widgets.document_view import DocumentView
from irscope.tui.widgets.page_view import PageView

_HEADING = "Glossary   (e, q or Escape closes)"


class ExplainView(DocumentView):
    """Glossary entries; no line is highlighted."""

    def line_base(self, index: int) -> Style:
        """Return the panel's own style."""
        return self.base


class ExplainScreen(ReadingScreen[None], ModalScreen[None]):
    """The explanations of terms."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e,enter", "close", "Close", show=False),
        *LEAVE.bindings,
        *READ.bindings,
        HELP,
    ]

    def __init__(self, definitions: Sequence[str], entries: Sequence[tuple[str, GlossaryEntry]]) -> None:
        document = [Line(text) for text in definitions]
        document += (line for word, entry in entries for line in _lines(word, entry))
        super().__init__(ExplainView(_HEADING, document))


def explain_line(app: App[object], text: str, of_view: bool = False, definitions: Sequence[str] = ()) -> None:
    """Show definitions, then the terms in them and in a line of a stage, or of a view; say so if none."""
    entries = entries_in_line(" ".join([text, *definitions]), of_view)
    if entries or definitions:
        app.push_screen(ExplainScreen(definitions, entries))
    else:
        app.notify("No term on this line is in the glossary; `irscope explain` lists all terms")


def explain_row(app: App[object], texts: PageView) -> None:
    """Show the definitions of the layouts on the line under the cursor, and explain the terms."""
    explain_line(app, texts.line_text(True) or "", definitions=texts.definitions())


def _lines(word: str, entry: GlossaryEntry) -> Iterator[Line]:
    """Yield a term and its explanation."""
    yield title(word if word == entry.word else f"{word}   ({entry.word})")
    yield Line(entry.text)
    if entry.related:
        yield Line([(f"related: {', '.join(entry.related)}", "dim")])
    if entry.see:
        link = f", {entry.see.url}" if entry.see.url else ""
        yield Line([(f"see: {entry.see.title}{link}", "dim")])
