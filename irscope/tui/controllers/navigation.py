"""Finding things in the texts: search, going to a line, explaining its terms."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from irscope.model import Variant
from irscope.model.text import pluralize
from irscope.tui.controllers.main_screen import MainScreen
from irscope.tui.input_queue import hold_input
from irscope.tui.widgets.findings_view import FindingsView
from irscope.tui.widgets.line_view import LineView, contains
from irscope.tui.widgets.search_bar import SearchBar
from irscope.tui.widgets.source_view import LineOutcomesView, SourceView
from irscope.tui.widgets.variant_table import VariantTable

if TYPE_CHECKING:
    from irscope.workspace import StageLine

_MAX_JUMPS = 100
_LINE = re.compile(r"([abAB]?) *([0-9]{1,9})")
_NUMBER = re.compile(r"#?([0-9]{1,9})")


@dataclass(frozen=True)
class _Place:
    """A row of a stage of A and B, and what reopens the screen from which the user jumped."""

    a: Variant
    b: Variant
    stage: str
    row: int
    reopen: Callable[[], object] | None = None


class Search:
    """A query and the rows of the page that match it."""

    def __init__(self) -> None:
        self.query = ""
        self.rows: Sequence[int] = ()
        # The row from which the search started.
        self.origin = 0

    def first(self) -> int | None:
        """Return the first matching row from `origin` on; wrap around."""
        return self.rows[bisect_left(self.rows, self.origin) % len(self.rows)] if self.rows else None

    def next(self, row: int, direction: int) -> int | None:
        """Return the next (1) or previous (-1) matching row; wrap around."""
        if not self.rows:
            return None
        index = bisect_right(self.rows, row) if direction > 0 else bisect_left(self.rows, row) - 1
        return self.rows[index % len(self.rows)]

    def __str__(self) -> str:
        """`41 lines with ld.global`; "" without a query."""
        return f"{pluralize(len(self.rows), 'line')} with {self.query}" if self.query else ""


class NavigationController:
    """Finds lines in the focused panel: the texts, the Python source, the table or the findings."""

    def __init__(self, screen: MainScreen, search_bar: SearchBar) -> None:
        self._screen = screen
        self._bar = search_bar
        self.search = Search()
        # The panel that is searched.
        self._searched: LineView = screen.texts
        self._jumps: deque[_Place] = deque(maxlen=_MAX_JUMPS)

    # Search.

    def open_search(self) -> None:
        """Open the search bar for the focused panel."""
        self._searched = self._panel()
        self.search.origin = self._row()
        self._bar.open()

    def go_to_match(self, direction: int) -> None:
        """Goes to the next or previous match in the focused panel."""
        if self._searched is not self._panel():
            self._searched = self._panel()
            self.search_page()
        if not self.search.rows:
            message = f"{self.search}" if self.search.query else "Search with / first"
            self._screen.notify(message, markup=False)
        self._go_to_row(self.search.next(self._row(), direction))

    def search_page(self, query: str | None = None) -> None:
        """Find the query, or a new one, in the page on screen, or in the panel that is searched."""
        search, texts, panel = self.search, self._screen.texts, self._searched
        search.query = search.query if query is None else query
        if not search.query:
            search.rows = ()
        elif panel is texts:
            search.rows = texts.page.matches(search.query, texts.located)
        else:
            lines = range(panel.line_count())
            search.rows = [line for line in lines if contains(panel.plain_text(line), search.query)]

    def query_changed(self, query: str) -> None:
        """Search while the user types."""
        self.search_page(query)
        self._screen.texts.mark_matches(query if self._searched is self._screen.texts else "")
        self._go_to_row(self.search.first())
        self._screen.update_status()

    def clear_search(self) -> None:
        """Forgets the query and its marks."""
        self._bar.value = ""
        self.query_changed("")

    def close_search(self) -> None:
        """Hides the search bar and keeps the query."""
        self._bar.display = False
        self._searched.focus()

    def keep_search(self) -> None:
        """Stays at the match; going back returns to the start of the search."""
        if self.search.rows and self._searched is self._screen.texts:
            self._jumps.append(replace(self._place(), row=self.search.origin))
        self.close_search()

    def cancel_search(self) -> None:
        """Return to the start of the search."""
        self._bar.value = ""
        self._go_to_row(self.search.origin)
        self.close_search()

    def _go_to_row(self, row: int | None) -> None:
        panel = self._searched
        if row is None:
            return
        if panel is self._screen.texts:
            self._screen.texts.go_to_row(row)
        else:
            panel.reveal_centered(row)
            panel.cursor = row

    def _row(self) -> int:
        """Return the row under the cursor of the panel that is searched."""
        texts, panel = self._screen.texts, self._searched
        return texts.row if panel is texts else panel.cursor

    def _panel(self) -> LineView:
        """Return the focused panel, or the texts if none of the panels has the focus."""
        focused = self._screen.focused
        return focused if isinstance(focused, LineView) else self._screen.texts

    # Lines.

    def go_to(self, target: StageLine | None, reopen: Callable[[], object] | None = None) -> None:
        """Show a line of a stage; nothing for None. Going back then calls `reopen`."""
        screen = self._screen
        if target is not None and target.stage in screen.pair.stages:
            self.remember_place(reopen)
            screen.choose(target.stage)
            screen.texts.go_to_line(target.line, target.right and screen.texts.page.right is not None)
            screen.texts.focus()

    def remember_place(self, reopen: Callable[[], object] | None = None) -> None:
        """Remembers where the user is, to go back to; going back then calls `reopen`."""
        self._jumps.append(replace(self._place(), reopen=reopen))

    def go_to_line(self) -> None:
        """Asks for a line number and goes there, in the focused panel."""
        panel = self._panel()
        is_texts = panel is self._screen.texts
        work = self._go_to_line if is_texts else partial(self._go_to_numbered, panel)
        self._screen.run_exclusive(work, "ask")

    async def _go_to_numbered(self, panel: LineView) -> None:
        """Goes to a line of a panel by the number that users know it by: of a variant, a finding, a file."""
        from irscope.tui.screens.dialogs import PromptScreen  # after the first paint

        with hold_input(self._screen.app):
            question = f"Go to {panel.NUMBERED} number:"
            answer = await self._screen.app.push_screen_wait(PromptScreen(question))
        if answer is None:
            return
        match = _NUMBER.fullmatch(answer)
        line = panel.line_numbered(int(match[1])) if match else None
        if line is None:
            self._screen.notify(f"No {panel.NUMBERED} {answer} here", severity="warning", markup=False)
            return
        panel.reveal_centered(line)
        panel.cursor = line

    async def _go_to_line(self) -> None:
        from irscope.tui.screens.dialogs import PromptScreen  # after the first paint

        texts = self._screen.texts
        with hold_input(self._screen.app):
            answer = await self._screen.app.push_screen_wait(
                PromptScreen("Go to line (of B; a12 is line 12 of A):")
            )
        if answer is None:
            return
        match = _LINE.fullmatch(answer)
        page = texts.page
        right = page.right is not None and (match is None or match[1].lower() != "a")
        side = page.right if right and page.right else page.left
        line = side.line_numbered(int(match[2])) if match else None
        if line is None:
            self._screen.notify(f"No line {answer} here", severity="warning", markup=False)
            return
        self._jumps.append(self._place())
        texts.go_to_line(line, right)
        texts.focus()

    # Jumps.

    @property
    def has_jumped(self) -> bool:
        """Return True if there is a place to go back to."""
        return bool(self._jumps)

    def go_back(self) -> None:
        """Goes back to where the user was before the last jump."""
        if not self._jumps:
            self._screen.notify("No jump to go back from")
            return
        jump, screen = self._jumps.pop(), self._screen
        if (screen.pair.a.id, screen.pair.b.id) != (jump.a.id, jump.b.id):
            if jump.a not in screen.workspace or jump.b not in screen.workspace:
                screen.notify("A or B of that place is no longer in the capture")
                return
            screen.compare(jump.a, jump.b)
        if jump.stage in screen.pair.stages:
            screen.choose(jump.stage)
            screen.texts.go_to_row(min(jump.row, max(len(screen.texts.page.rows) - 1, 0)))
            screen.texts.focus()
        if jump.reopen is not None:
            jump.reopen()

    def _place(self) -> _Place:
        pair = self._screen.pair
        return _Place(pair.a, pair.b, self._screen.stage, self._screen.texts.row)

    def explain(self) -> None:
        """Explains the terms on the line, the column or the finding under the cursor."""
        from irscope.tui.screens.explain import explain_line  # after the first paint

        focused = self._screen.focused
        if isinstance(focused, VariantTable | FindingsView):
            explain_line(self._screen.app, focused.explained_text, of_view=True)
        else:
            explain_line(
                self._screen.app, self._text_under_cursor(), of_view=isinstance(focused, LineOutcomesView)
            )

    def _text_under_cursor(self) -> str:
        focused = self._screen.focused
        if isinstance(focused, LineOutcomesView | SourceView):
            return focused.text_under_cursor
        return self._screen.texts.line_text(True) or ""
