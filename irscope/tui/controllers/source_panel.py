"""The Python source next to the stage: each follows the cursor of the other.

Marks the lines of the stage on screen: the hot loop, matrix instructions, spills, register pressure.

A lesson next to the texts: each page shows the lines that it is about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.widget import Widget

from irscope.model import UserError, Variant
from irscope.model.process import keep_from_search
from irscope.tui.controllers import Controller
from irscope.tui.controllers.stages import MANY_ROWS
from irscope.tui.widgets.source_view import LineOutcomesView, counts_text
from irscope.workspace import LineMarks, PythonSource, SourcePlace
from irscope.workspace.source_lines import LineOutcome, SourceMaps, line_outcomes, source_maps
from irscope.workspace.stage_marks import NO_MARKS, line_marks
from irscope.workspace.variant_texts import PYTHON

if TYPE_CHECKING:
    from irscope.learn.render import LessonPage, LessonPages
    from irscope.tui.screens.compare import CompareScreen
    from irscope.tui.widgets.lesson_view import LessonView


class SourcePanelController(Controller):
    """Shows the source, and keeps it and the texts in step."""

    def __init__(self, screen: CompareScreen) -> None:
        super().__init__(screen)
        self._maps: dict[str, SourceMaps] = {}

    def toggle(self) -> None:
        """Show or hides the Python source and what its line became."""
        self._screen.source.display = not self._screen.source.display
        if self._screen.source.display:
            self.follow()
        else:
            self._screen.texts.highlight(frozenset(), frozenset())
            self._screen.texts.focus()

    def follow(self, moved: Widget | None = None) -> None:
        """Update the panels after the cursor of `moved` moved, or after anything else changed.

        The source follows the texts, or the texts follow the source if that has the focus.
        """
        screen = self._screen
        if not screen.source.display or isinstance(screen.focused, LineOutcomesView):
            return
        if moved is None:
            self._maps = {}
            screen.run_exclusive(self._read_maps, "source")
        elif moved is (screen.source_view if self._source_leads else screen.texts):
            self._trace()  # now, so that both panels are drawn together

    @property
    def _source_leads(self) -> bool:
        return self._screen.focused is self._screen.source_view

    def go_to_next(self) -> None:
        """Goes to the next operation that came from the line of Python; wraps around."""
        texts = self._screen.texts
        first, below = texts.highlighted_row(), texts.highlighted_row(texts.row)
        if first is None:
            self._screen.notify(f"Nothing in {self._screen.stage} came from this line")
            return
        texts.go_to_row(first if below is None else below)

    def go_to_outcome(self) -> None:
        """Goes to the stage of the outcome under the cursor."""
        if (outcome := self._screen.outcomes_view.current) is not None:
            self._screen.set_focus(self._screen.source_view)  # now: the texts are to follow it
            self._screen.stages.choose(outcome.stage)
            self.follow()

    async def _read_maps(self) -> None:
        """Read the source maps of all stages, that of the stage on screen first, and show the source."""
        screen = self._screen
        for stage in dict.fromkeys((screen.stage, *screen.pair.stages)):
            maps = self._maps[stage] = await screen.background.run(source_maps, screen.pair.comparison, stage)
            if stage == screen.stage:
                python = PythonSource.of_variant(screen.pair.b)
                screen.source_view.show_source(python, stage, _counts(python, maps))
                if len(screen.texts.page.rows) > MANY_ROWS:
                    keep_from_search()
            self._trace()

    def _trace(self) -> None:
        """Highlights the operations from the source's line, or the source of the texts' line."""
        screen, from_source = self._screen, self._source_leads
        maps = self._maps.get(screen.stage)
        if maps is None:  # it is being read
            return
        view, python = screen.source_view, screen.source_view.python
        places = () if from_source else self._places(python, maps)
        # The place in the kernel itself; the innermost if none of them is in the kernel's file.
        kernel_line = python.kernel_line(places)
        lines = [line for place in places if (line := python.line_of(place)) is not None]
        view.highlight(lines, view.cursor if kernel_line is None else kernel_line)
        source_place = view.place if from_source or kernel_line is not None else None
        screen.texts.highlight(*(maps.lines(source_place) if source_place else (frozenset(), frozenset())))
        if from_source:
            first, row = screen.texts.highlighted_row(), screen.texts.row
            if first is not None and screen.texts.highlighted_row(row - 1) != row:
                screen.texts.go_to_row(first)
        self._list_outcomes(source_place)

    def _places(self, python: PythonSource, maps: SourceMaps) -> tuple[SourcePlace, ...]:
        """Return the places that the line under the texts' cursor came from: B's line, or A's."""
        for right in (True, False):
            line = self._screen.texts.line_of(right)
            if line is None:
                continue
            if self._screen.stage == PYTHON:
                source_place = python.places[line] if line < len(python.places) else None
                return (source_place,) if source_place else ()
            if source_places := maps.of(line, right):
                return source_places
        return ()

    def _list_outcomes(self, place: SourcePlace | None) -> None:
        """List what a line became in each stage whose source map is known."""
        screen, heading = self._screen, "No line of this source"
        outcomes: list[LineOutcome] = []
        if place is not None:
            maps = {stage: self._maps[stage] for stage in screen.pair.stages if stage in self._maps}
            outcomes = line_outcomes(maps, place)
            heading = f"Nothing came from line {place.line} of {place.file_name}"
            if outcomes:
                heading = f"py{place.line}: {_totals(outcomes)}  (of {place.file_name})"
        screen.outcomes_view.heading = heading
        screen.outcomes_view.show(outcomes)


def _totals(outcomes: Sequence[LineOutcome]) -> str:
    """Return `ptx 25→26 ttgir 3`: the operations of each stage in A and B, the last stage first."""
    left, right = Counter[str](), Counter[str]()
    for outcome in outcomes:
        numbers = [number for number in (outcome.left, outcome.right) if number is not None]
        left[outcome.stage] += numbers[0]
        right[outcome.stage] += numbers[-1]
    return " ".join(f"{stage} {counts_text(left[stage], right[stage])}" for stage in reversed(left))


def _counts(python: PythonSource, maps: SourceMaps) -> dict[int, tuple[int, int]]:
    """Count the operations from each line of the source, in A and B."""
    return {
        line: maps.counts(source_place)
        for line, source_place in enumerate(python.places)
        if source_place is not None
    }


# The marks of a stage with 50,000 lines take a few MB.
_KEPT = 16


class LineMarksController(Controller):
    """Computes the marks in the background, after the texts are on screen."""

    def __init__(self, screen: CompareScreen) -> None:
        super().__init__(screen)
        self._known: dict[tuple[int, str, str], LineMarks] = {}

    def update(self) -> None:
        """Mark the lines of the stage on screen, now if the marks are known."""
        self._show()
        if any(self._key(side) not in self._known for side in self._sides()):
            self._screen.run_exclusive(self._measure, "marks")

    def _show(self) -> None:
        marks = [self._known.get(self._key(side), NO_MARKS) for side in self._sides()]
        self._screen.texts.set_marks(*marks)

    async def _measure(self) -> None:
        stage = self._screen.stage
        for variant in self._sides():
            key = self._key(variant)
            if key in self._known:
                continue
            try:
                marks = await self._screen.background.run(line_marks, self._screen.workspace, variant, stage)
            except UserError:  # comparing the stages reports damage
                marks = NO_MARKS
            self._known[key] = marks
            while len(self._known) > _KEPT:
                del self._known[next(iter(self._known))]
        self._show()

    def _sides(self) -> tuple[Variant, Variant]:
        """Return the variants whose texts are on screen: A's or B's twice if there is only one."""
        pair = self._screen.pair
        only = pair.only_variant(self._screen.stage)
        return (only, only) if only else (pair.a, pair.b)

    def _key(self, variant: Variant) -> tuple[int, str, str]:
        workspace, stage = self._screen.workspace, self._screen.stage
        content_key = (
            workspace.contents.key(variant, stage) if workspace.contents.available(variant, stage) else ""
        )
        return variant.id, stage, content_key or ""


class LessonController(Controller):
    """Turns the pages of a lesson and shows the stage that each is about."""

    def __init__(self, screen: CompareScreen, pages: LessonPages, view: LessonView) -> None:
        super().__init__(screen)
        self._pages = pages
        self._view = view

    def turn(self, direction: int) -> None:
        """Goes to the next or previous page; first scrolls to the end of this one."""
        self._screen.run_exclusive(partial(self._turn, direction), "lesson")

    async def _turn(self, direction: int) -> None:
        view = self._view
        if direction > 0 and view.scroll_on():
            return
        page = await self._screen.background.run(self._pages.turn, direction)
        if page is None:
            last = "This is the last page; q ends the lesson"
            self._screen.notify(last if direction > 0 else "This is the first page")
            return
        await view.show(page.heading, page.text)
        self._show_lines(page)

    def _show_lines(self, page: LessonPage) -> None:
        pair = self._screen.pair
        if [page.a.id, page.b.id] != [pair.a.id, pair.b.id]:
            self._screen.stages.compare(page.a, page.b)
        if page.stage in self._screen.pair.stages:
            self._screen.stages.choose(page.stage)
        if page.line is not None:
            self._screen.texts.go_to_line(page.line, page.right)
