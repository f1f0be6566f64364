"""The help: signs and keys, from the bindings themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.strip import Strip

from irscope.tui.bindings import KeyGroup
from irscope.tui.paint import fitted
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
)


class HelpView(LineView):
    """The signs and the groups of keys."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"help--section", "help--key"}

    def __init__(self, groups: Sequence[KeyGroup], show: Callable[[Binding], str]) -> None:
        super().__init__()
        self._content = [("", "Signs"), *SIGNS]
        for group in groups:
            keys = [(show(binding), binding.tooltip) for binding in group.bindings]
            self._content += [("", ""), ("", group.title), *keys]
        self._content += _FROM_TEXTUAL

    def line_count(self) -> int:
        """The number of lines."""
        return len(self._content)

    def draw_heading(self, width: int) -> Strip:
        """Says how to close the help."""
        return self.bar(" irscope: keys   (q, ? or Escape closes)", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """A title, or a key and what it does."""
        key, text = self._content[index]
        if not key:
            return Strip(fitted([Segment(f" {text}", self.style("help--section"))], width, self.base))
        segments = [Segment(f" {key:>14} ", self.style("help--key")), Segment(f" {text}", self.base)]
        return Strip(fitted(segments, width, self.base))


class HelpScreen(ModalScreen[None]):
    """The help. `show` returns the names of a binding's keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark", "dismiss", "Close", show=False)
    ]

    def __init__(self, groups: Sequence[KeyGroup], show: Callable[[Binding], str]) -> None:
        super().__init__()
        self._groups = groups
        self._show = show

    def compose(self) -> ComposeResult:
        """The panel."""
        yield HelpView(self._groups, self._show)

    def on_mount(self) -> None:
        """Focuses the panel."""
        view = self.query_one(HelpView)
        view.lines_changed()
        view.focus()
