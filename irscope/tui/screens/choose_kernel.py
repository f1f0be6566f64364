"""A dialog that chooses a kernel and a target: the table then shows only their variants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import Input

from irscope.model.text import display_line, has_words, pluralize
from irscope.tui.paint import cell
from irscope.tui.screens.dialogs import DismissOnce
from irscope.tui.widgets.line_view import HEADING, ItemView, LineView, Piece
from irscope.workspace import Scope
from irscope.workspace.kernel_scopes import ScopeCount

# A blank, the sign of the cursor, a blank.
_LEAD = 3


class ScopeView(ItemView[ScopeCount]):
    """The kernels and targets, each with its number of variants."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"scope--failed"}

    def __init__(self, counts: Sequence[ScopeCount], current: Scope) -> None:
        super().__init__()
        self.items = self._all = counts
        self._current = current

    def on_mount(self) -> None:
        """Put the cursor on what is chosen now."""
        self.lines_changed()
        self.cursor = next((i for i, count in enumerate(self.items) if count.scope == self._current), 0)

    def filter(self, query: str) -> None:
        """Show the kernels and targets that contain every word, in any case."""
        self.show([count for count in self._all if has_words(str(count.scope), query)])

    def draw_heading(self, width: int) -> Strip:
        """Draw the titles of the columns."""
        count = "" if len(self.items) == len(self._all) else f" ({len(self.items)} of {len(self._all)})"
        return self.bar(f"   Kernel and target{count}".ljust(max(width - 12, 0)) + "variants", width)

    def pieces(self, item: ScopeCount, index: int, width: int) -> Sequence[Piece]:
        """Return a kernel and a target, and how many variants failed and are there."""
        failed = f"  {item.failed:,} failed" if item.failed else ""
        sign = ">" if index == self.cursor else "*" if item.scope == self._current else " "
        room = max(width - _LEAD - len(failed) - 10, 1)
        name = cell(display_line(str(item.scope)), room, right=False)
        return [(f" {sign} {name}", ""), (failed, "scope--failed"), (f"{item.variants:>9,}", "")]

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked line."""
        LineView.on_click(self, event)
        if event.y >= HEADING:
            self.action_choose()


class ChooseKernelScreen(ModalScreen[Scope | None], DismissOnce[Scope | None]):
    """Returns what the user chose; None if nothing. Typing filters the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", show=False),
        Binding("down", "move(1)", "Down", show=False, priority=True),
        Binding("up", "move(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "page(1)", "Page down", show=False, priority=True),
        Binding("pageup", "page(-1)", "Page up", show=False, priority=True),
    ]

    def __init__(self, counts: Sequence[ScopeCount], current: Scope) -> None:
        super().__init__()
        self._view = ScopeView(counts, current)
        self._total = counts[0].variants if counts else 0

    def compose(self) -> ComposeResult:
        """Yield the filter and the list."""
        placeholder = f"type to filter, Enter shows these of {pluralize(self._total, 'variant')}"
        with Vertical():
            yield Input(placeholder=placeholder, compact=True)
            yield self._view

    def on_mount(self) -> None:
        """Focuses the filter; the arrows move in the list."""
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _filter(self, message: Input.Changed) -> None:
        self._view.filter(message.value)

    @on(Input.Submitted)
    @on(ScopeView.Chosen)
    def _choose(self) -> None:
        if self._view.current is not None:
            self.dismiss(self._view.current.scope)

    def action_move(self, step: int) -> None:
        """Move in the list."""
        self._view.cursor += step

    def action_page(self, step: int) -> None:
        """Move by a page in the list."""
        self._view.cursor += step * max(self._view.page_lines - 1, 1)

    def action_cancel(self) -> None:
        """Close the dialog; the table stays as it is."""
        self.dismiss(None)
