"""The help: every key, from the bindings themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.strip import Strip

from irscope.tui import keys
from irscope.tui.paint import fitted
from irscope.tui.widgets.line_view import LineView

SIGNS = (
    ("+", "Only in B"),
    ("-", "Only in A"),
    ("~", "In both, and not the same: what differs is orange in A and blue in B"),
    ("tint", "The whole row is tinted where more differs than shapes and the constants that follow"),
    ("▸", "In the Python: the line of the stage came from here"),
    ("=", "On a tab: nothing differs but names and source locations"),
    ("·", "On a tab: not compared yet"),
    ("…", "On a tab: not yet compiled that far"),
    ("=#3", "In the table: the machine code is that of #3"),
    ("before", "In the table: compiled before the last edit of the source; now: after it"),
    ("▲ ▼", "In the table: the highest, the lowest of a fact; green where that is good, red where not"),
    ("!launch", "In the table: does not fit the device; !failed: did not compile; the status line says why"),
)
# Bindings of Textual itself that belong into the help.
_FROM_TEXTUAL = (("Tab, Shift+Tab", "Next, previous panel"), ("^p", "Palette: every action by name; themes"))


class HelpView(LineView):
    """The sections, one key a line."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"help--section", "help--key"}

    def __init__(self, keymap: Mapping[str, str]) -> None:
        super().__init__()
        self._keymap = keymap

    def line_count(self) -> int:
        """Lines of all sections."""
        return len(self._lines())

    def draw_heading(self, width: int) -> Strip:
        """How to close it."""
        return self.bar(" irscope: keys   (q, ? or Escape closes)", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """A title, or a key and what it does."""
        key, text = self._lines()[index]
        if not key:
            return Strip(fitted([Segment(f" {text}", self.style("help--section"))], width, self.base))
        segments = [Segment(f" {key:>14} ", self.style("help--key")), Segment(f" {text}", self.base)]
        return Strip(fitted(segments, width, self.base))

    def _lines(self) -> list[tuple[str, str]]:
        lines = [("", "Signs"), *SIGNS]
        for title, bindings in keys.SECTIONS:
            lines += [("", ""), ("", title), *self._keys(bindings)]
        return [*lines, *_FROM_TEXTUAL]

    def _keys(self, bindings: Sequence[Binding]) -> list[tuple[str, str]]:
        return [(keys.shown(self.app, binding, self._keymap), binding.tooltip) for binding in bindings]


class HelpScreen(ModalScreen[None]):
    """Over the app, until it is closed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark", "dismiss", "Close", show=False)
    ]

    def __init__(self, keymap: Mapping[str, str]) -> None:
        super().__init__()
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        """One panel."""
        yield HelpView(self._keymap)

    def on_mount(self) -> None:
        """Fills the panel."""
        view = self.query_one(HelpView)
        view.lines_changed()
        view.focus()
