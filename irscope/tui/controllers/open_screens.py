"""Other ways to look at the variants, each a screen over the main one."""

from __future__ import annotations

from irscope.analysis.chart_data import chartable_facts
from irscope.model import Variant
from irscope.tui.controllers.base import ComparisonScreen
from irscope.tui.screens.chart import ChartScreen
from irscope.tui.screens.passes import PassesScreen
from irscope.tui.screens.why import WhyScreen
from irscope.tui.why_lines import Goal
from irscope.tui.widgets.variant_table import VariantTable


class LookActions(ComparisonScreen):
    """Opens them, and takes what was chosen there."""

    def action_chart(self) -> None:
        """Charts the variants that the table shows, of the kernel of the one under its cursor."""
        table = self.query_one(VariantTable)
        current = table.current
        variants = [v for v in table.order if current and v.kernel.name == current.kernel.name]
        if current is None or not chartable_facts(variants, table.facts.known):
            self.notify("Nothing to chart: no fact of these variants is a number", severity="warning")
            return
        pair = self._comparison.a, self._comparison.b
        self.app.push_screen(ChartScreen(variants, table.facts, table.words, pair, current), self._take)

    def action_why(self) -> None:
        """Why B was compiled beside A, and the story of the whole capture."""
        facts = self.query_one(VariantTable).facts
        self.app.push_screen(WhyScreen(self._comparison, self._background, facts), self._see)

    def action_passes(self) -> None:
        """The compiler's passes of A and B."""
        workspace = self._comparison.workspace
        if not any(workspace.passes(variant) for variant in (self._comparison.a, self._comparison.b)):
            self.notify("No passes are kept of these: compile with --passes", severity="warning")
            return
        self.app.push_screen(PassesScreen(self._comparison, self._background))

    def _see(self, goal: Goal | None) -> None:
        """Shows the line that was chosen elsewhere."""
        if goal is not None and goal.stage in self._comparison.stages:
            self._choose(goal.stage)
            texts = self._texts
            texts.go_to_line(goal.line, goal.right and texts.page.right is not None)
            texts.focus()

    def _take(self, pair: tuple[Variant, Variant] | None) -> None:
        """Compares A and B as they were marked elsewhere."""
        comparison = self._comparison
        if pair is not None and [v.id for v in pair] != [comparison.a.id, comparison.b.id]:
            self._pair(*pair)
