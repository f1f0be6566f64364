"""Variants that are compiled while one looks on; `r` compiles again, or reads the capture again."""

from __future__ import annotations

from textual import work

from irscope.model import UserError, Variant
from irscope.tui.controllers.base import ComparisonScreen
from irscope.tui.live import Live, Planned
from irscope.tui.live_updates import LiveUpdates, apply_events
from irscope.tui.pair_state import same_config
from irscope.tui.widgets.title_bar import TitleBar
from irscope.tui.widgets.variant_table import VariantTable
from irscope.workspace import Workspace

# What went wrong may take longer to read than what is well.
_PROBLEM_SECONDS = 20.0


class LiveActions(ComparisonScreen):
    """Keeps the screen in step with what is compiled; what the user chose stays as it is."""

    _live: Live | None
    _workspace: Workspace

    def action_recompile(self) -> None:
        """Compiles the source as it is now; of a capture alone, takes in what was added to the file."""
        if self._live is None:
            self._reread()
        else:
            self._live.ask()
            self._attend(self._live)

    @work(exclusive=True, group="live", exit_on_error=False)
    async def _attend(self, live: Live) -> None:
        """Shows what comes until nothing is under way any more."""
        while live.asked or self._workspace.in_progress:
            news = apply_events(self._workspace, await live.take_all())
            live.asked = live.asked and not news.answered
            self._renew(news)

    @work(exclusive=True, group="live", exit_on_error=False)
    async def _reread(self) -> None:
        try:
            added = await self._background.run(self._workspace.reread)
        except UserError as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        self._renew(LiveUpdates(rows=True, changed={self._comparison.a.id, self._comparison.b.id}))
        name = self._workspace.path.name
        self.notify(f"{added:,} more in {name}" if added else f"Nothing more in {name}", markup=False)

    def _renew(self, news: LiveUpdates) -> None:
        """Draws what is new."""
        workspace, table = self._workspace, self.query_one(VariantTable)
        if news.rows:
            table.load(workspace)
        else:
            table.renew(workspace, news.changed)
        if news.ended:
            table.fit()
        table.measure(workspace, self._background)
        self.query_one(TitleBar).show(workspace)
        pair = self._new_pair(news.planned)
        if pair is not None:
            self._pair(*pair)
        elif news.changed & {self._comparison.a.id, self._comparison.b.id}:
            self._renew_pair()
        for words in news.said:
            self.notify(words, markup=False)
        for problem in news.problems:
            self.notify(problem, severity="error", timeout=_PROBLEM_SECONDS, markup=False)
        if news.ended and not workspace.in_progress and not news.problems:
            self.notify("Compiled; r compiles again after an edit of the source")

    def _compare(self) -> object:
        """Compares the stages of A and B."""
        raise NotImplementedError

    def _renew_pair(self) -> None:
        """More of A or B is there: the texts change where theirs do, and the tabs."""
        before, after = self._comparison, self._comparison.renewed()
        self._comparison = after
        stage = after.first_stage() if self._still_looking() else self._stage
        if stage not in after.stages:
            stage = after.first_stage()
        if stage != self._stage or before.keys.get(stage) != after.keys.get(stage):
            self._show(stage)
        else:
            self._texts.head(after.headings())
            self._update_tabs()
        self._compare()

    def _new_pair(self, planned: Planned | None) -> tuple[Variant, Variant] | None:
        """A and B where they change: B's config as it was and as it will be, or what is left of them."""
        workspace, a, b = self._workspace, self._comparison.a, self._comparison.b
        busy = workspace.in_progress
        alike = [variant for variant in workspace.variants if same_config(variant, b)]
        new = next((v for v in alike if planned is not None and v.kernel.id == planned.kernel.id), None)
        if new is not None and new.kernel.id != b.kernel.id:
            whole = [v for v in alike if v.failure is None and v.id not in busy and v is not new]
            return (b if b in whole else whole[-1] if whole else new), new
        left = [variant for variant in (a, b) if variant in workspace] or workspace.variants[:1]
        return None if (a in workspace and b in workspace) or not left else (left[0], new or left[0])
