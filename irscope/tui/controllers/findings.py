"""The findings: stepping through them, going to what one is about, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irscope.tui.controllers import Controller

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen
    from irscope.tui.widgets.line_view import LineView
    from irscope.workspace.finding_table import FindingTarget

# The lines of the findings' panel if it is opened from a line.
_PANEL = 9
# The size of the Python source in tenths of the texts', as in the style sheet.
_SOURCE_TENTHS = 7


class SizeController(Controller):
    """Changes the sizes of panels. `chosen` has those that the user chose, by the id of the panel.

    They are lines; for the Python source, tenths of the texts' size.
    """

    def __init__(self, screen: CompareScreen) -> None:
        super().__init__(screen)
        self.chosen: dict[str, int] = {}

    def grow(self, step: int) -> None:
        """Make the focused panel larger, or smaller if `step` is negative; the texts by the findings."""
        screen = self._screen
        if screen.focused is screen.table:
            self.set("variants", screen.table.outer_size.height + step)
        elif screen.focused in screen.source.children:
            self.set("source", self.chosen.get("source", _SOURCE_TENTHS) + step)
        else:
            step = -step if screen.focused is screen.texts else step
            self.set("findings", screen.findings_view.outer_size.height + step)

    def drag(self, heading: LineView, lines: int) -> None:
        """Move the border above a panel down: that of the texts or of the findings."""
        panel = self._screen.table if heading is self._screen.texts else self._screen.findings_view
        size = panel.outer_size.height
        self.set(panel.id or "", size - lines if panel is heading else size + lines)

    def set(self, name: str, size: int) -> None:
        """Give the panel with an id a size; the style sheet limits it, so that the texts stay visible."""
        screen = self._screen
        for panel in (screen.table, screen.findings_view, screen.source):
            if panel.id == name:
                self.chosen[name] = size = max(size, 1)
                panel.add_class("-sized")
                panel.styles.height = size
        if name == screen.source.id:
            screen.source.styles.width = screen.source.styles.height = f"{size / 10}fr"


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
        """Show the findings in a panel, or not at all."""
        view = self._screen.findings_view
        if not view.display:
            view.display = True
        elif view.one_line:
            self._screen.sizes.set("findings", _PANEL)
            view.focus()
        else:
            view.display = False
            self._screen.texts.focus()

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
