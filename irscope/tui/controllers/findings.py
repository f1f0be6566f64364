"""The findings: stepping through them, going to what one is about, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irscope.tui.controllers import Controller

if TYPE_CHECKING:
    from irscope.workspace.finding_table import FindingTarget

# The classes of the panel if the user chose its size; without one, the size of the screen decides.
STRIP, PANEL = "-as-strip", "-as-panel"


class FindingsController(Controller):
    """Goes from a finding to the line, the column or the screen that shows it, and back."""

    def step(self, direction: int) -> None:
        """Step to the next or previous finding, without leaving the panel that has the focus."""
        self._screen.findings_view.display = True
        self._screen.findings_view.step(direction)

    def go_to_current(self) -> None:
        """Goes to what the finding under the cursor of the findings is about."""
        if self._screen.findings_view.findings:
            self._screen.findings_view.action_choose()
        else:
            self._screen.notify("There is no finding about A and B")

    def toggle(self) -> None:
        """Show the findings in a line, in a panel, or not at all."""
        view = self._screen.findings_view
        if not view.display:
            view.display = True
            self._resize(STRIP)
        elif view.one_line:
            self._resize(PANEL)
            view.focus()
        else:
            view.display = False
            self._screen.texts.focus()

    def _resize(self, chosen: str) -> None:
        for name in (STRIP, PANEL):
            self._screen.findings_view.set_class(name == chosen, name)

    def go(self) -> None:
        """Goes to what the finding under the cursor is about."""
        if (row := self._screen.findings_view.row) is None:
            return
        screen, target = self._screen, row.target
        from_panel = screen.focused or screen.texts
        if target.line is not None:
            screen.navigation.go_to(target.line, from_panel.focus)
            return
        screen.navigation.remember_place(from_panel.focus)
        if target.variant is not None:
            self._show_problem(target)
        elif target.column:
            self._show_column(target.column, screen.pair.b.id)
        else:
            screen.open_overlay(target.screen)

    def _show_problem(self, target: FindingTarget) -> None:
        """Show the message of a variant that failed; in the table, why one cannot be launched."""
        screen = self._screen
        variant = screen.workspace.live.by_id(target.variant or 0)
        if variant.failure is None:
            self._show_column("shared", variant.id)
            return
        stage = next((s for s in screen.pair.stages if screen.pair.only_variant(s) is variant), screen.stage)
        screen.stages.choose(stage)
        screen.texts.focus()

    def _show_column(self, column: str, variant: int) -> None:
        table = self._screen.table
        table.display = True
        table.go_to(variant)
        table.go_to_column(column)
        table.focus()
