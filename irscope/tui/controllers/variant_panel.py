"""The table's surroundings: the choice of kernel and target, the lines below it, and its height."""

from __future__ import annotations

from irscope.tui.controllers import Controller
from irscope.tui.widgets.line_view import HEADING
from irscope.workspace import Scope
from irscope.workspace.kernel_scopes import mismatch, scope_counts, scope_of


class VariantPanelController(Controller):
    """Chooses what the table shows, and gives it the rows that the texts do not need."""

    def choose_kernel(self) -> None:
        """Asks for a kernel and a target, and shows only their variants."""
        screen = self._screen
        counts = scope_counts(screen.workspace.variants)

        from irscope.tui.screens.choose_kernel import ChooseKernelScreen  # after the first paint

        def choose(scope: Scope | None) -> None:
            if scope is not None:
                screen.table.choose(scope)
                screen.table.display = True
                screen.table.focus()

        screen.app.push_screen(ChooseKernelScreen(counts, screen.table.model.scope), choose)

    def pair_changed(self) -> None:
        """Show a warning if A and B should not be compared; the table shows the kernel of A and B."""
        pair, table = self._screen.pair, self._screen.table
        self._screen.mismatch.show(mismatch(pair.a, pair.b))
        if pair.a not in table.model.scope and pair.b not in table.model.scope:
            table.choose(scope_of(pair.a, pair.b))
        self._screen.call_after_refresh(self.fit)

    def arranged(self) -> None:
        """Update the line below the table and its height."""
        self._screen.table_note.update(self._screen.table.display)
        self.fit()

    def fit(self) -> None:
        """Give the table the rows that are empty below the texts, and take back the others."""
        table, texts = self._screen.table, self._screen.texts
        if not table.display or not texts.size.height or table.has_class("-sized"):
            return
        full_height = table.line_count() + HEADING
        default = min(full_height, self._default_height())
        free = table.size.height + texts.size.height - default - HEADING - texts.line_count()
        rows = min(full_height, default + free) if free > 0 and full_height > default else None
        if rows or table.styles.inline.has_rule("max_height"):  # Textual lays the screen out again
            table.styles.max_height = rows

    def _default_height(self) -> int:
        """Return the height that the style sheet allows the table, in lines."""
        table = self._screen.table
        limit = table.styles.base.max_height
        if limit is None:
            return table.size.height
        share = self._screen.app.size.height / 100 if limit.is_percent else 1
        return int(limit.value * share)
