"""A, B and the stage on screen: comparing them, and keeping the cursor where the user left it.

Stepping through the versions of a variant: captures of several commits, edits, versions of Triton.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from irscope.model import UserError, Variant
from irscope.model.process import keep_from_search
from irscope.tui.background import Background
from irscope.tui.controllers import Controller
from irscope.tui.pair_state import PairState
from irscope.workspace import Detail
from irscope.workspace.opening import opening_pair
from irscope.workspace.variant_texts import ERROR

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen
    from irscope.workspace.timeline import TimelineStep


_START = (0, False)
# A search for cycles among the objects of more rows takes longer than a key may: 0.1 s for 54,000.
MANY_ROWS = 10_000


class StageController(Controller):
    """Holds A, B, the stage and how much detail is shown."""

    def __init__(self, screen: CompareScreen, stage: str) -> None:
        super().__init__(screen)
        variants = screen.workspace.variants
        pair = opening_pair(variants, screen.table.facts) or (variants[0], variants[0])
        self.pair = PairState(screen.workspace, *pair)
        has_stage = stage in self.pair.stages
        self.stage = stage if has_stage and not self.pair.failed else self.pair.first_stage()
        # The stage to return to after an error.
        self._before_error = stage if has_stage else ""
        self.detail = Detail.SHAPES
        # Whether to switch to the first stage that differs, which is until the user picks one.
        self._choosing = not has_stage
        self._shown = ""
        # The initial position of the cursor, and whether the user moved it since.
        self._placed_at = _START
        self._moved = False
        # Makes texts that are not stored; started when the first one is needed.
        self._reader: Background | None = None
        # The cursor's positions in the other stages.
        self._places: dict[str, tuple[int, bool]] = {}

    # A and B.

    def restore(self, a: Variant, b: Variant, stage: str, detail: Detail) -> None:
        """Start with another A, B and detail, and with `stage` if they have it."""
        self.pair = PairState(self._screen.workspace, a, b)
        self.detail = detail
        self._choosing = stage not in self.pair.stages
        self.stage = self.pair.first_stage() if self._choosing else stage

    def compare(self, a: Variant, b: Variant) -> None:
        """Compare another two variants; the stage stays, and so does the line of A."""
        before, self.pair = self.pair, PairState(self._screen.workspace, a, b)
        self.stage = self._stage_after(before)
        self._places.clear()
        self._moved = False
        self._placed_at = self._screen.texts.place
        self.show_pair()
        self.start_comparing()

    def show_pair(self) -> None:
        """Mark A and B in the table and show the stage."""
        self._screen.table.set_pair(self.pair.a, self.pair.b)
        self._screen.findings_view.set_findings((), note="" if self.pair.single else "comparing...")
        self._tell("", "")
        self.show(self.stage)

    def refresh_pair(self) -> None:
        """Update the texts and tabs after A or B got more stages."""
        before, self.pair = self.pair, self.pair.renewed()
        stage = self.pair.first_stage() if self._may_switch() else self._stage_after(before)
        if stage != self.stage or before.keys.get(stage) != self.pair.keys.get(stage):
            self.show(stage)
        else:
            self._screen.texts.set_headings(self.pair.headings())
            self._update_tabs()
        self.start_comparing()

    def _stage_after(self, before: PairState) -> str:
        """Return the stage to show after the pair changed.

        It is a new error, or else the stage on screen if there is one.
        """
        if not self.pair.failed <= before.failed:
            if self.stage != ERROR:
                self._before_error = self.stage
            return ERROR
        candidate = self.stage if self.stage in self.pair.stages else self._before_error
        return candidate if candidate in self.pair.stages else self.pair.first_stage()

    def swap(self) -> None:
        """Swap A and B."""
        self.compare(self.pair.b, self.pair.a)

    def step(self, direction: int) -> None:
        """Make the variant below or above B in the table B; skips A."""
        table, a = self._screen.table, self.pair.a
        neighbor = table.neighbor(self.pair.b.id, direction, without=a.id)
        if neighbor is not None:
            table.go_to(neighbor.id)
            self.compare(a, neighbor)

    # The stage.

    def choose(self, stage: str) -> None:
        """Show a stage that the user picked."""
        self._choosing = False
        if stage != self.stage:
            self.show(stage)
            self.start_comparing()

    def show(self, stage: str) -> None:
        """Show a stage with the cursor at its last line, or on the first change."""
        texts, page = self._screen.texts, self.pair.page(stage, self.detail)
        if stage != self._shown:
            self._places[self._shown] = texts.place
            cursor = self._places.get(stage, _START)
            self._moved = False
        else:
            self._moved = self._moved or texts.place != self._placed_at
            cursor = texts.place if page.left.language and texts.row else _START
        self.stage = self._shown = stage
        unaligned = not texts.page.compared
        texts.show(page, self.pair.headings(), cursor)
        page = texts.page
        if cursor == _START and page.runs and page.runs[0][0]:
            texts.go_to_change(1)
        elif page.compared and unaligned and self._moved:
            texts.go_to_line(*cursor)  # unfolds the line that the user is reading
        self._placed_at = texts.place
        self._update_tabs()
        self._screen.page_changed()

    def choose_number(self, number: int) -> None:
        """Show the stage of a tab."""
        if number <= len(self.pair.stages):
            self.choose(self.pair.stages[number - 1])

    def choose_next_detail(self) -> None:
        """Change how much detail is shown; the cursor stays on its line."""
        self.detail = self.detail.next
        self.show(self.stage)

    def go_to_change(self, direction: int) -> None:
        """Goes to the next or previous change."""
        if not self._screen.texts.go_to_change(direction):
            self._screen.notify("No more changes below" if direction > 0 else "No more changes above")

    def start_comparing(self) -> None:
        """Compare the stages one by one, the current one first; the tabs fill in."""
        self._screen.run_exclusive(self._compare_stages, "compare")

    async def _compare_stages(self) -> None:
        pair, background = self.pair, self._screen.background
        for stage in pair.open_tasks(self.stage, in_order=self._may_switch()):
            try:
                await self._derive_texts(stage)
                diff = await background.run(pair.compare_stage, stage)
            except UserError as error:
                pair.notes[stage] = "!"
                self._screen.notify(str(error), severity="error", markup=False)
                self._update_tabs()
                continue
            pair.note(stage, diff)
            is_opening = self._may_switch() and pair.opens_with(diff)
            if is_opening or stage == self.stage:
                self._choosing = self._choosing and not is_opening
                self.show(stage)
            self._update_tabs()
            if diff is not None and len(diff.rows) > MANY_ROWS:
                keep_from_search()
        self._choosing = self._choosing and pair.growing
        if pair.single:
            return
        try:
            self._tell(*await background.run(pair.story))
            findings, main = await background.run(pair.findings)
        except UserError as error:  # a damaged stage
            self._screen.findings_view.set_findings((), note=str(error))
            return
        self._screen.findings_view.set_findings(
            findings, main, f"{len(findings)} so far" if pair.growing else ""
        )
        await background.run(pair.prepare_details, self.stage)

    def _tell(self, costs: str, divergence: str) -> None:
        """Show what B costs compared with A, and where the two diverge."""
        self._screen.costs.show(costs)
        self._screen.divergence.show(divergence)

    async def _derive_texts(self, stage: str) -> None:
        """Make the texts of a stage and show them: they can be read long before they are compared.

        Not in the background, which may be comparing big stages for seconds. Raises UserError.
        """
        pair = self.pair
        if not pair.is_available(stage):
            self._reader = self._reader or Background()
            await self._reader.run(pair.derive_texts, stage)
            if stage == self.stage and pair is self.pair:
                self.show(stage)

    def close(self) -> None:
        """End the thread that makes texts."""
        if self._reader is not None:
            self._reader.close()

    def _may_switch(self) -> bool:
        """Return True if another stage may be shown: until the user picks one, or moves the cursor."""
        moved = self._moved or self._screen.texts.place != self._placed_at
        self._choosing = self._choosing and not moved
        return self._choosing

    def _update_tabs(self) -> None:
        self._screen.tabs.set_stages(self.pair.stages, self.pair.notes, self.stage)


# The label and the changes take a while to read.
_SECONDS = 8.0


class TimelineController(Controller):
    """Makes the same variant of the next version B, and that of the version before it A."""

    def start(self) -> None:
        """With several captures, begins with the same variant in the first two."""
        if len(self._screen.workspace.contents.paths) > 1:
            self.step(0)

    def step(self, direction: int) -> None:
        """Compare the next or the previous two versions of B; 0: the first two of A."""
        self._screen.run_exclusive(partial(self._step, direction), "timeline")

    async def _step(self, direction: int) -> None:
        screen = self._screen
        a, b = screen.pair.a, screen.pair.b

        def step() -> TimelineStep | str | None:
            from irscope.workspace.timeline import Timeline  # the first paint does without it

            if not direction:
                return Timeline(screen.workspace, a).first()
            return Timeline(screen.workspace, b).step(a, b, direction)

        try:
            self._show(await screen.background.run(step))
        except UserError as error:  # a damaged stage
            screen.notify(str(error), severity="error", markup=False)

    def _show(self, found: TimelineStep | str | None) -> None:
        if isinstance(found, str):
            self._screen.notify(found, markup=False)
        elif found is not None:
            self._screen.table.go_to(found.b.id)
            self._screen.stages.compare(found.a, found.b)
            self._screen.notify(found.text, timeout=_SECONDS, markup=False)
