"""The Python beside the stage: each follows the cursor of the other."""

from __future__ import annotations

from textual import on, work

from irscope.analysis.source_map import Place, place_of
from irscope.languages.document import Location
from irscope.tui.controllers.base import ComparisonScreen
from irscope.tui.origins import Python, python_of
from irscope.tui.tracing import LineOutcome, Traces, trace, work_in
from irscope.tui.widgets.line_view import LineView
from irscope.tui.widgets.source_view import SourceView
from irscope.tui.widgets.work_view import WorkView
from irscope.workspace import PYTHON


class SourceActions(ComparisonScreen):
    """Shows the source, and keeps it and the texts in step."""

    def action_toggle_source(self) -> None:
        """Shows or hides the Python and what became of its line."""
        shown = self.query("#source").first()
        shown.display = not shown.display
        if shown.display:
            self._follow()
        else:
            self._texts.light(frozenset(), frozenset())
            self._texts.focus()

    @on(LineView.Moved)
    def _follow(self) -> None:
        """The cursor moved: in the source, or else in the texts, which the source then follows."""
        if self.query("#source").first().display and not isinstance(self.focused, WorkView):
            self._trace(isinstance(self.focused, SourceView))

    @on(SourceView.Chosen)
    def _go_to_next(self) -> None:
        """To the next operation that came from the line of Python; around the end."""
        texts = self._texts
        lit = texts.lit_rows()
        if not lit:
            self.notify(f"Nothing in {self._stage} came from this line")
            return
        texts.go_to_row(next((row for row in lit if row > texts.row), lit[0]))

    @on(WorkView.Chosen)
    def _go_to_work(self, message: WorkView.Chosen) -> None:
        self.query_one(SourceView).focus()
        self._choose(message.work.stage)
        self._follow()

    @work(exclusive=True, group="source", exit_on_error=False)
    async def _trace(self, from_source: bool) -> None:
        """Marks in the source what the texts' line came from, or in the texts what came from the source's."""
        comparison, stage = self._comparison, self._stage
        traces = await self._background.run(trace, comparison, stage)
        source = self.query_one(SourceView)
        python = python_of(comparison.b)
        source.show(python, stage, _counts(python, traces))
        if from_source:
            place = source.place
            source.light((), source.cursor)
            self._light_texts(place, traces)
        else:
            place = self._light_source(python, traces)
            self._texts.light(*(traces.lines(place) if place else (frozenset(), frozenset())))
        await self._list_work(place)

    def _light_texts(self, place: Place | None, traces: Traces) -> None:
        texts = self._texts
        texts.light(*(traces.lines(place) if place else (frozenset(), frozenset())))
        lit = texts.lit_rows()
        if lit and texts.row not in lit:
            texts.go_to_row(lit[0])

    def _light_source(self, python: Python, traces: Traces) -> Place | None:
        """Marks the lines that the texts' line came from; the place of that in the kernel itself.

        Where no line of the kernel's file is among them, the place of the innermost.
        """
        source = self.query_one(SourceView)
        found = [
            line for place in self._came_from(python, traces) if (line := python.line_of(place)) is not None
        ]
        if not found:
            source.light((), source.cursor)
            return None
        own, _ = place_of(Location(self._comparison.b.kernel.source.file, 0))
        files = {line: place[0] for line in found if (place := python.places[line])}
        chosen = next((line for line in reversed(found) if files[line] == own), found[0])
        source.light(found, chosen)
        return python.places[chosen]

    def _came_from(self, python: Python, traces: Traces) -> tuple[Place, ...]:
        """Where the line under the cursor of the texts came from: B's line, or A's."""
        texts = self._texts
        for right in (True, False):
            line = texts.line_of(right)
            if line is None:
                continue
            if self._stage == PYTHON:
                place = python.places[line] if line < len(python.places) else None
                return (place,) if place else ()
            if found := traces.of(line, right):
                return found
        return ()

    async def _list_work(self, place: Place | None) -> None:
        """Lists what a line became, stage by stage, as each is known."""
        view = self.query_one(WorkView)
        if place is None:
            view.show("No line of this source", ())
            return
        comparison = self._comparison
        found: list[LineOutcome] = []
        title = f"Line {place[1]} of {place[0]} became, in A and in B"
        for stage in comparison.stages:
            if stage != PYTHON:
                found += await self._background.run(work_in, comparison, stage, place)
        view.show(title if found else f"Nothing came from line {place[1]} of {place[0]}", found)


def _counts(python: Python, traces: Traces) -> dict[int, tuple[int, int]]:
    """How many operations came from each line of the source, in A and in B."""
    return {line: traces.counts(place) for line, place in enumerate(python.places) if place is not None}
