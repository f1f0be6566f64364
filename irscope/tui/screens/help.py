"""The help: the keys of the focused panel, then all others, then the signs; from the bindings themselves."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.strip import Strip

from irscope.tui.bindings import EXPLAIN, FILTER_KEYS, LEAVE, KeyGroup
from irscope.tui.paint import fitted
from irscope.tui.screens.reading import FilteringScreen
from irscope.tui.widgets.line_view import LineView

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
    ("▲ ▼", "In the table: highest, lowest value; green good, red bad"),
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


class HelpView(LineView):
    """The groups of keys and the signs, wrapped; those that a filter leaves."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"help--section", "help--key"}

    def __init__(self, groups: Sequence[KeyGroup], show: Callable[[Binding], str]) -> None:
        super().__init__()
        keys = [(g.title, [(show(binding), binding.tooltip) for binding in g.bindings]) for g in groups]
        self._sections = [*keys, ("In every screen", list(_FROM_TEXTUAL)), ("Signs", list(SIGNS))]
        self._filter = ""
        self._lines: list[tuple[str, str, str]] = []  # style class, key, text

    def filter(self, query: str) -> None:
        """Show only entries with `query`: in the key, in what it does, or in the title of the section."""
        self._filter = query.lower().strip()
        self._wrap()

    def on_resize(self) -> None:
        """Wrap the entries again."""
        self._wrap()
        super().on_resize()

    def _wrap(self) -> None:
        self._lines = []
        for title, entries in self._sections:
            whole = self._filter in title.lower()
            matching = [entry for entry in entries if whole or self._filter in " ".join(entry).lower()]
            if matching:
                gap = [("", "", "")] if self._lines else []
                self._lines += [*gap, ("help--section", "", title)]
                self._lines += [line for entry in matching for line in self._wrapped(*entry)]
        if not self._lines:
            self._lines = [("dim", "", f"No key or sign has “{self._filter}” in its text")]
        self.lines_changed()

    def _wrapped(self, key: str, text: str) -> list[tuple[str, str, str]]:
        room = max(self.scrollable_content_region.width - _KEY_CELLS - 3, 20)
        lines = textwrap.wrap(text, room) or [""]
        keys = textwrap.wrap(key, _KEY_CELLS) or [""]
        rows = max(len(lines), len(keys))
        keys, lines = (part + [""] * (rows - len(part)) for part in (keys, lines))
        return [("help--key", *row) for row in zip(keys, lines, strict=True)]

    def landmarks(self) -> Sequence[int]:
        """Return the titles."""
        return [index for index, (style, *_) in enumerate(self._lines) if style == "help--section"]

    def line_count(self) -> int:
        """Return the number of wrapped lines."""
        return len(self._lines)

    def draw_heading(self, width: int) -> Strip:
        """Says how to search and how to close the help."""
        return self.bar(" Keys   / filters, ] next section, q or Escape closes", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """Draw a title, or a key and what it does."""
        style, key, text = self._lines[index]
        base = self.style("row--cursor") if index == self.cursor else self.base
        if style != "help--key":
            return Strip(
                fitted([Segment(f" {text}", base + self.ink(style) if style else base)], width, base)
            )
        segments = [Segment(f" {key:>{_KEY_CELLS}} ", base + self.ink(style)), Segment(f" {text}", base)]
        return Strip(fitted(segments, width, base))


class HelpScreen(FilteringScreen[None], ModalScreen[None]):
    """The help. `show` returns the names of a binding's keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "close", "Close", show=False),
        *FILTER_KEYS,
        *(binding for binding in LEAVE.bindings if binding is not EXPLAIN),
    ]

    def __init__(self, groups: Sequence[KeyGroup], show: Callable[[Binding], str]) -> None:
        super().__init__()
        self._groups = groups
        self._show = show

    def compose(self) -> ComposeResult:
        """Yield the panel and the field of the filter."""
        yield HelpView(self._groups, self._show)
        self.search_bar.placeholder = "filter: a key, a word of what it does, or a section"
        yield self.search_bar

    def on_mount(self) -> None:
        """Focuses the panel."""
        self.query_one(HelpView).focus()

    def filter_lines(self, query: str) -> None:
        """Show only keys and signs that match."""
        self.query_one(HelpView).filter(query)
