"""The base of screens of text: searching, going from section to section, explaining the terms on a line."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.screen import ScreenResultType
from textual.widgets import Input

from irscope.model.text import pluralize
from irscope.tui.bindings import KeyGroup
from irscope.tui.screens.dialogs import DismissOnce
from irscope.tui.widgets.line_view import LineView, contains
from irscope.tui.widgets.search_bar import SearchBar


class ReadingScreen(DismissOnce[ScreenResultType]):
    """Has the keys of `bindings.READ` for the panel `reading`; `compose` must yield `search_bar`."""

    # The groups of keys of its own, and its panels with keys.
    KEYS: ClassVar[Sequence[KeyGroup]] = ()
    PANELS: ClassVar[Sequence[type[LineView]]] = ()

    def __init__(self) -> None:
        super().__init__()
        self.search_bar = SearchBar("search", id="search")
        self._query = ""
        self._origin = 0

    @property
    def reading(self) -> LineView:
        """Return the panel with the text."""
        return self.query(LineView).first()

    def landmarks(self) -> Sequence[int]:
        """Return the lines that `]` and `[` go to, in order."""
        return self.reading.landmarks()

    def row(self) -> int:
        """Return the line under the cursor."""
        return self.reading.cursor

    def go_to_row(self, row: int) -> None:
        """Move the cursor to a line."""
        self.reading.reveal_centered(row)
        self.reading.cursor = row

    def matches(self, query: str) -> Sequence[int]:
        """Return the lines with `query`; ignore case unless it has a capital."""
        view = self.reading
        return [row for row in range(view.line_count()) if contains(view.plain_text(row), query)]

    def action_close(self) -> None:
        """Goes back."""
        self.dismiss(None)

    def action_change(self, direction: int) -> None:
        """Goes to the next or previous landmark."""
        row = _next(self.landmarks(), self.row(), direction)
        if row is None:
            self.notify("Nothing more below" if direction > 0 else "Nothing more above")
        else:
            self.go_to_row(row)

    def action_explain(self) -> None:
        """Explains the terms on the line under the cursor."""
        from irscope.tui.screens.explain import explain_line  # a screen of this kind itself

        explain_line(self.app, self.reading.plain_text(self.reading.cursor), of_view=True)

    def action_search(self) -> None:
        """Open the search bar."""
        self._origin = self.row()
        self.search_bar.open()

    def action_match(self, direction: int) -> None:
        """Goes to the next or previous match; wraps around."""
        rows = self.matches(self._query) if self._query else ()
        if not rows:
            self.notify(f"No line with {self._query}" if self._query else "Search with / first", markup=False)
            return
        row = _next(rows, self.row(), direction)
        self.go_to_row(row if row is not None else rows[0 if direction > 0 else -1])

    @on(Input.Changed, "#search")
    def _search(self, message: Input.Changed) -> None:
        self._query = message.value
        rows = self.matches(self._query) if self._query else ()
        if rows:
            self.go_to_row(rows[bisect_left(rows, self._origin) % len(rows)])

    @on(Input.Submitted, "#search")
    def _keep_search(self) -> None:
        if self._query:
            count = len(self.matches(self._query))
            self.notify(f"{pluralize(count, 'line')} with {self._query}; n: next", markup=False)
        self._close_search()

    @on(SearchBar.Canceled, "#search")
    def _cancel_search(self) -> None:
        self.go_to_row(self._origin)
        self._close_search()

    def _close_search(self) -> None:
        self.search_bar.display = False
        self.reading.focus()


class FilteringScreen(ReadingScreen[ScreenResultType]):
    """A screen in which `/` filters: the panel has `filter`, which shows only matching lines."""

    def filter_lines(self, query: str) -> None:
        """Show only lines that match; all for ""."""
        raise NotImplementedError

    # `prevent_default` keeps ReadingScreen from searching.

    @on(Input.Changed, "#search")
    def _filter(self, message: Input.Changed) -> None:
        message.prevent_default()
        self.filter_lines(message.value)

    @on(Input.Submitted, "#search")
    def _keep_filter(self, message: Input.Submitted) -> None:
        message.prevent_default()
        self.search_bar.display = bool(message.value)
        self.reading.focus()

    @on(SearchBar.Canceled, "#search")
    def _drop_filter(self, message: SearchBar.Canceled) -> None:
        message.prevent_default()
        self.search_bar.value = ""
        self.search_bar.display = False
        self.reading.focus()

    def action_search(self) -> None:
        """Open the filter."""
        self.search_bar.open(self.search_bar.value)

    def action_match(self, direction: int) -> None:
        """Goes to the next or previous line that the filter shows."""
        self.go_to_row(self.row() + direction)

    def action_close(self) -> None:
        """Remove the filter; without one, goes back."""
        if self.search_bar.value:
            self.search_bar.value = ""
            self.search_bar.display = False
        else:
            super().action_close()


def _next(rows: Sequence[int], row: int, direction: int) -> int | None:
    """Return the first of `rows` after `row`, or the last before it; None if there is none."""
    index = bisect_right(rows, row) if direction > 0 else bisect_left(rows, row) - 1
    return rows[index] if 0 <= index < len(rows) else None
