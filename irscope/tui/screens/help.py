"""The help: the keys of the focused panel, then all others, then the signs; from the bindings themselves."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from irscope.document.blocks import Line, title
from irscope.tui.bindings import CLOSE, FILTER_KEYS, KeyGroup
from irscope.tui.screens.reading import FilteringScreen
from irscope.tui.widgets.document_view import DocumentView, TextRow

SIGNS = (
    ("+", "Only in B"),
    ("-", "Only in A"),
    ("~", "In both, but different: orange in A, blue in B"),
    ("tint", "A real change: more than shapes and constants differ"),
    ("▸", "In the Python source: the line of the stage came from here"),
    ("=", "On a tab: at most names and source locations differ"),
    ("·", "On a tab: not compared yet"),
    ("…", "On a tab: not compiled this far yet"),
    ("=#3", "In the table: machine code identical to that of #3"),
    ("before", "In the table: compiled before the last edit; now: after it"),
    ("▲ ▼", "In the table: the best value, green, and the worst, red, of a kernel; ↑ ↓: the column sorts"),
    ("red row", "In the table: the variant failed or cannot be launched; a gray one is being compiled"),
    ("!launch", "In the table: cannot be launched; the status line says why"),
    ("!failed", "In the table: did not compile; the status line says why"),
)
# Textual's own bindings.
_FROM_TEXTUAL = (
    ("Tab, Shift+Tab", "Next, previous panel"),
    ("^p", "Command palette: every action by name; themes"),
    ("^q, ^c", "Quit at once"),
)
_KEY_CELLS = 14


class HelpView(DocumentView):
    """The groups of keys and the signs; those that a filter leaves."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"help--key"}

    def __init__(self, groups: Sequence[KeyGroup], show: Callable[[Binding], str]) -> None:
        super().__init__("Keys   / filters, ] next section, q or Escape closes")
        keys = [(g.title, [(show(binding), binding.tooltip) for binding in g.bindings]) for g in groups]
        self._sections = [*keys, ("In every screen", _FROM_TEXTUAL), ("Signs", SIGNS)]
        if keys:
            useful = keys[0][1]
            useful += [entry for entry in _FROM_TEXTUAL[:2] if entry[0] not in dict(useful)]
        self.filter("")

    def filter(self, query: str) -> None:
        """Show only entries with `query`: in the key, in what it does, or in the title of the section."""
        words = query.lower().strip()
        lines: list[Line] = []
        for section, entries in self._sections[bool(words) :]:  # the others have the first section's, too
            whole = words in section.lower()
            matching = [entry for entry in entries if whole or words in " ".join(entry).lower()]
            if matching:
                lines.append(title(section))
                lines += [Line([(key, "help--key"), (text, "")]) for key, text in matching]
        none = Line([(f"No key or sign has “{words}” in its text", "dim")], gap=True)
        self.show_document(lines or [none])

    def wrapped(self, line: Line, width: int) -> Iterator[TextRow]:
        """Yield a title, or a key and what it does, each in its column."""
        if len(line.pieces) == 1:
            yield from super().wrapped(line, width)
            return
        (key, style), (text, _) = line.pieces
        columns = (textwrap.wrap(key, _KEY_CELLS), textwrap.wrap(text, max(width - _KEY_CELLS - 3, 20)))
        for name, part in zip_longest(*columns, fillvalue=""):
            yield TextRow([(f" {name:>{_KEY_CELLS}} ", style), (f" {part}", "")])


class HelpScreen(FilteringScreen[None], ModalScreen[None]):
    """The help. `show` returns the names of a binding's keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "close", "Close", show=False),
        *FILTER_KEYS,
        CLOSE,
    ]

    def __init__(self, groups: Sequence[KeyGroup], show: Callable[[Binding], str]) -> None:
        self._view = HelpView(groups, show)
        super().__init__(self._view, "filter: a key, a word of what it does, or a section")

    def filter_lines(self, query: str) -> None:
        """Show only keys and signs that match."""
        self._view.filter(query)
