"""The base of screens of text: searching, going from section to section, explaining the terms on a line."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.screen import ScreenResultType
from textual.widgets import Input

from irscope.tui.screens.dialogs import DismissOnce
from irscope.tui.widgets.bars import KeyHints
from irscope.tui.widgets.line_view import LineView
from irscope.tui.widgets.search_bar import FilterBar, PanelSearch, SearchBar, next_row


class ReadingScreen(DismissOnce[ScreenResultType]):
    """Shows `panel` and has the keys of `bindings.READ` for it. What composes itself must yield `bar`."""

    def __init__(self, panel: LineView) -> None:
        super().__init__()
        self.panel = panel
        self.search_bar = PanelSearch()
        # The line for what is searched.
        self.bar: SearchBar = self.search_bar

    def compose(self) -> ComposeResult:
        """Yield the panel, the search bar and, in a screen of its own, the keys."""
        yield self.panel
        yield self.bar
        if not self.is_modal:
            yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Focuses the panel."""
        self.panel.focus()

    @property
    def reading(self) -> LineView:
        """Return the panel whose line under the cursor is explained."""
        return self.panel

    @property
    def searched(self) -> LineView:
        """Return the panel that is searched, and whose landmarks `]` and `[` go to."""
        return self.reading

    def go_to_number(self, text: str) -> bool:
        """Go to a line of the panel by its number."""
        return self.reading.go_to_number(text)

    def action_close(self) -> None:
        """Goes back."""
        self.dismiss(None)

    def action_change(self, direction: int) -> None:
        """Goes to the next or previous landmark."""
        row = next_row(self.searched.landmarks(), self.searched.position, direction)
        if row is None:
            self.notify("Nothing more below" if direction > 0 else "Nothing more above")
        else:
            self.searched.go_to_row(row)

    def action_explain(self) -> None:
        """Explains the terms on the line under the cursor."""
        from irscope.tui.screens.explain import explain_line  # a screen of this kind itself

        explain_line(self.app, self.reading.plain_text(self.reading.cursor), of_view=True)

    def action_search(self) -> None:
        """Open the search bar."""
        self.search_bar.start(self.searched)

    def action_match(self, direction: int) -> None:
        """Goes to the next or previous match; wraps around."""
        search = self.search_bar
        search.find()
        search.go_to_next(direction)
        self.app.clear_notifications()
        self.notify(str(search) or "Search with / first", timeout=2, markup=False)

    @on(Input.Changed, "#search")
    def _search(self, message: Input.Changed) -> None:
        self.search_bar.find(message.value)
        self.search_bar.go_to_first()

    @on(Input.Submitted, "#search")
    def _keep_search(self) -> None:
        if self.search_bar.words:
            next_key = "" if self.search_bar.fails else "; n: next"
            self.notify(f"{self.search_bar}{next_key}", markup=False)
        self._close_search()

    @on(SearchBar.Canceled, "#search")
    def _cancel_search(self) -> None:
        self._close_search(canceled=True)

    def _close_search(self, canceled: bool = False) -> None:
        self.search_bar.close(canceled)
        self.reading.focus()


class FilteringScreen(ReadingScreen[ScreenResultType]):
    """A screen in which `/` filters the panel instead of searching it."""

    def __init__(self, panel: LineView, placeholder: str) -> None:
        super().__init__(panel)
        self.bar = self.filter_bar = FilterBar(placeholder, panel, panel.line_count, self.filter_lines)

    def filter_lines(self, query: str) -> None:
        """Show only lines that match; all for ""."""
        raise NotImplementedError

    def action_search(self) -> None:
        """Open the filter."""
        self.filter_bar.open()

    def action_match(self, direction: int) -> None:
        """Goes to the next or previous line that the filter shows."""
        self.panel.go_to_row(self.panel.cursor + direction)

    def action_close(self) -> None:
        """Remove the filter; without one, goes back."""
        if not self.filter_bar.drop():
            super().action_close()
