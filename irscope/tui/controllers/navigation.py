"""Finding things in the texts: search, going to a line, explaining its terms."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from irscope.model import Variant
from irscope.tui.controllers import Controller
from irscope.tui.widgets.findings_view import FindingsView
from irscope.tui.widgets.line_view import LineView
from irscope.tui.widgets.search_bar import PanelSearch
from irscope.tui.widgets.source_view import LineOutcomesView, SourceView
from irscope.tui.widgets.variant_table import VariantTable

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen
    from irscope.workspace import StageLine

_MAX_JUMPS = 100


@dataclass(frozen=True)
class _Place:
    """A row of a stage of A and B, and what reopens the screen from which the user jumped."""

    a: Variant
    b: Variant
    stage: str
    row: int
    reopen: Callable[[], object] | None = None


class NavigationController(Controller):
    """Finds lines in the focused panel: the texts, the Python source, the table or the findings."""

    def __init__(self, screen: CompareScreen) -> None:
        super().__init__(screen)
        self._jumps: deque[_Place] = deque(maxlen=_MAX_JUMPS)

    # Search.

    @property
    def search(self) -> PanelSearch:
        """Return the words that are searched for, and the rows that have them."""
        return self._screen.search_bar

    def open_search(self) -> None:
        """Open the search bar for the focused panel."""
        self.search.start(self.panel)

    def go_to_match(self, direction: int) -> None:
        """Goes to the next or previous match in the focused panel."""
        search, panel = self.search, self.panel
        if search.panel is not panel:
            search.panel = panel
            search.find()
        if not search.rows:
            self._screen.notify(str(search) or "Search with / first", markup=False)
        search.go_to_next(direction)

    def query_changed(self, words: str) -> None:
        """Search while the user types."""
        self.search.find(words)
        if self.search.panel is not self._screen.texts:
            self._screen.texts.mark_matches("")
        self.search.go_to_first()
        self._screen.update_status()

    def clear_search(self) -> None:
        """Forgets the words and their marks."""
        self.search.value = ""
        self.query_changed("")

    def keep_search(self) -> None:
        """Stays at the match; going back returns to the start of the search."""
        if self.search.rows and self.search.panel is self._screen.texts:
            self._jumps.append(replace(self._place(), row=self.search.origin))
        self.search.close()

    def cancel_search(self) -> None:
        """Return to the start of the search."""
        self.search.value = ""
        self.search.close(canceled=True)

    @property
    def panel(self) -> LineView:
        """Return the focused panel, or the texts if none of the panels has the focus."""
        focused = self._screen.focused
        return focused if isinstance(focused, LineView) else self._screen.texts

    # Lines.

    def go_to(self, target: StageLine | None, reopen: Callable[[], object] | None) -> None:
        """Show a line of a stage; nothing for None. Going back then calls `reopen`."""
        screen = self._screen
        if target is not None and target.stage in screen.pair.stages:
            self.remember_place(reopen)
            screen.stages.choose(target.stage)
            screen.texts.go_to_line(target.line, target.right and screen.texts.page.right is not None)
            screen.texts.focus()

    def remember_place(self, reopen: Callable[[], object] | None) -> None:
        """Remembers where the user is, to go back to; going back then calls `reopen`."""
        self._jumps.append(replace(self._place(), reopen=reopen))

    def go_to_number(self, text: str) -> bool:
        """Go to a line, a variant or a finding by its number, in the focused panel."""
        panel, start = self.panel, self._place()
        found = panel.go_to_number(text)
        if found and panel is self._screen.texts:
            self._jumps.append(start)
            panel.focus()
        return found

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
            screen.stages.compare(jump.a, jump.b)
        if jump.stage in screen.pair.stages:
            screen.stages.choose(jump.stage)
            screen.texts.go_to_row(min(jump.row, max(len(screen.texts.page.rows) - 1, 0)))
            screen.texts.focus()
        if jump.reopen is not None:
            jump.reopen()

    def _place(self) -> _Place:
        pair = self._screen.pair
        return _Place(pair.a, pair.b, self._screen.stage, self._screen.texts.row)

    def explain(self) -> None:
        """Explains the terms on the line, the column or the finding under the cursor."""
        from irscope.tui.screens.explain import explain_line, explain_row  # after the first paint

        app, focused = self._screen.app, self._screen.focused
        if isinstance(focused, VariantTable | FindingsView):
            explain_line(app, focused.explained_text, of_view=True)
        elif isinstance(focused, LineOutcomesView | SourceView):
            explain_line(app, focused.text_under_cursor, of_view=isinstance(focused, LineOutcomesView))
        else:
            explain_row(app, self._screen.texts)
