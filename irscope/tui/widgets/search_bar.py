"""A line to type a search or a filter in, and numbers typed in a panel; they take effect while you type."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from irscope.model.text import pluralize
from irscope.tui.widgets.styled import PanelMessage

if TYPE_CHECKING:
    from irscope.tui.widgets.line_view import LineView


# The class of a bar whose words match nothing.
NO_MATCH = "-no-match"
# A digit that comes this long after the last one begins another number.
_PAUSE_SECONDS = 5.0
_LONGEST_NUMBER = 24
_DIGITS = frozenset("0123456789")


class TypedNumber:
    """A number that the user types in a panel: `12`, or with `separator` several, `3,5`.

    A pause or another key ends it.
    """

    def __init__(self, separator: str = "") -> None:
        self.text = ""
        self._separator = separator
        self._typed_at = 0.0

    def take(self, event: events.Key) -> bool:
        """Take a key that is part of the number, and Escape, which drops it; return False for other keys."""
        started = self.text if event.time - self._typed_at < _PAUSE_SECONDS else ""
        self._typed_at = event.time
        self.text = ""
        if event.character and (
            event.character in _DIGITS or (started and event.character == self._separator)
        ):
            self.text = (started + event.character)[:_LONGEST_NUMBER]
        elif event.key == "backspace" and started:
            self.text = started[:-1]
        elif event.key != "escape" or not started:
            return False
        event.stop()
        return True


class SearchBar(Input):
    """Hidden until it is opened. Enter keeps the text, Escape cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "keep"),
        Binding("escape", "cancel", "cancel"),
        Binding("ctrl+u", "delete_left_all", "clear"),
    ]

    class Canceled(PanelMessage):
        """The user pressed Escape."""

    def __init__(self, placeholder: str, *, id: str) -> None:  # noqa: A002  Textual's name
        super().__init__(placeholder=placeholder, compact=True, id=id, select_on_focus=False)

    def open(self) -> None:
        """Show the bar and focuses it."""
        self.display = True
        self.focus()

    def action_cancel(self) -> None:
        """Close the bar."""
        self.post_message(self.Canceled(self))


class FilterBar(SearchBar):
    """Filters a panel while the user types; Enter keeps the filter on screen, Escape drops it.

    `apply` filters by the typed words, `count` returns how much matches.
    """

    def __init__(
        self, placeholder: str, panel: Widget, count: Callable[[], int], apply: Callable[[str], None]
    ) -> None:
        super().__init__(placeholder, id="filter")
        self._panel = panel
        self._count = count
        self._apply = apply

    @on(Input.Changed)
    def _filter(self, message: Input.Changed) -> None:
        message.stop()
        self._apply(message.value)
        self.set_class(bool(message.value) and not self._count(), NO_MATCH)

    @on(Input.Submitted)
    def _keep(self, message: Input.Submitted) -> None:
        message.stop()
        self.display = bool(message.value)
        self._panel.focus()

    def action_cancel(self) -> None:
        """Show everything again."""
        self.drop()
        self._panel.focus()

    def drop(self) -> bool:
        """Hides the bar and shows everything; False if there is no filter."""
        filtered = bool(self.value)
        self.value = ""
        self.display = False
        return filtered


class PanelSearch(SearchBar):
    """Searches the rows of a panel for `words`."""

    def __init__(self) -> None:
        super().__init__("search", id="search")
        self.words = ""
        self.rows: Sequence[int] = ()
        self.panel: LineView | None = None
        # The row from which the search started.
        self.origin = 0

    def start(self, panel: LineView) -> None:
        """Open the bar for a panel."""
        self.panel, self.origin, self.value = panel, panel.position, ""
        self.open()

    def find(self, words: str | None = None) -> None:
        """Find the words, or new ones, which are marked, in what the panel shows now."""
        if self.panel is None:
            return
        if words is not None:
            self.words = words
            self.panel.mark_matches(words)
        self.rows = self.panel.matches(self.words) if self.words else ()
        self.set_class(self.fails, NO_MATCH)

    @property
    def fails(self) -> bool:
        """Return True if nothing matches the words."""
        return bool(self.words) and not self.rows

    def go_to_first(self) -> None:
        """Goes to the first match from the origin on; wraps around."""
        if self.panel is not None and self.rows:
            self.panel.go_to_row(self.rows[bisect_left(self.rows, self.origin) % len(self.rows)])

    def go_to_next(self, direction: int) -> None:
        """Goes to the next (1) or previous (-1) match; wraps around."""
        if self.panel is not None and self.rows:
            row = next_row(self.rows, self.panel.position, direction)
            self.panel.go_to_row(self.rows[0 if direction > 0 else -1] if row is None else row)

    def close(self, canceled: bool = False) -> None:
        """Hides the bar; if the search is canceled, returns to its start."""
        self.display = False
        if self.panel is not None:
            if canceled:
                self.panel.go_to_row(self.origin)
            self.panel.focus()

    def __str__(self) -> str:
        """`3 of 41 with ld.global  n: next`, `no match for ld.global`; "" without words."""
        if not self.words or self.fails or self.panel is None:
            return f"no match for {self.words}" if self.words else ""
        position, count = self.panel.position, len(self.rows)
        if position in self.rows:
            return f"{bisect_right(self.rows, position):,} of {count:,} with {self.words}  n: next"
        return f"{pluralize(count, 'line')} with {self.words}"


def next_row(rows: Sequence[int], row: int, direction: int) -> int | None:
    """Return the first of `rows` after `row`, or the last before it; None if there is none."""
    index = bisect_right(rows, row) if direction > 0 else bisect_left(rows, row) - 1
    return rows[index] if 0 <= index < len(rows) else None
