"""The table of variants: configs and facts, with A and B marked."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual import events, work
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from irscope.model import Variant
from irscope.model.text import display_line, one_line, pluralize
from irscope.tui.background import Background
from irscope.tui.bindings import KeyGroup, key
from irscope.tui.paint import cell, fitted
from irscope.tui.table_model import BITS, Folding, TableModel, TableRow
from irscope.tui.widgets.line_view import HEADING, LineView
from irscope.tui.widgets.search_bar import TypedNumber
from irscope.workspace import (
    FactColumn,
    FactTable,
    Scope,
    Workspace,
)
from irscope.workspace.first_difference import equal_text
from irscope.workspace.kernel_scopes import scope_of
from irscope.workspace.table import DIFFERS

_GAP = 2
# The number stays on screen when the columns scroll.
_FIXED = 1
# Cursor, A, B, the sign of a problem or of a group, a blank.
_GUTTER = 5
# The fewest cells in which a column of text is shown at the edge of the screen, cut.
_LEAST_CUT = 8
_NUMBER_HELP = "Go to a variant: type its number, like 12"
_SIGNS = {"best": "▲", "worst": "▼"}
_STYLES = {"best": "heat--good", "worst": "heat--bad"}
# The seconds between two updates of the columns while facts are measured.
_REFRESH_SECONDS = 0.25


class ColumnSpan(NamedTuple):
    """A column on screen: its place in the model, and the cells of its text."""

    place: int
    start: int
    end: int


class VariantTable(LineView):
    """A row per variant, or per group of variants with equal machine code."""

    KEYS: ClassVar[KeyGroup] = KeyGroup(
        "In the table of variants",
        (
            key("a", "mark('a')", "Make this variant A", "is A"),
            key("b,enter", "mark('b')", "Make this variant B", "is B"),
            key("l,right", "column(1)", "Next column"),
            key("h,left", "column(-1)", "Previous column"),
            key("s", "sort", "Sort by the column, best first; press again for worst first", "sort"),
            key("F,backslash", "screen.filter", "Filter: words in a row, or registers>128", "filter"),
            replace(
                key("number_sign", f"app.notify({_NUMBER_HELP!r})", _NUMBER_HELP, "go to", name="number"),
                key_display="12",
            ),
            key("equals_sign", "expand", "Show the variants that equal this one, or fold them"),
            key("D", "fold", "Fold variants with equal machine code, or show all", "fold equal"),
            key("X", "constants", "Show the columns that are equal in all rows, or hide them", "all columns"),
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS.bindings]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "row--failed", "row--in-progress", "heading--column", "mark--a", "mark--b",
        "heat--good", "heat--bad",
    }  # fmt: skip

    class Marked(Message):
        """The user wants `variant` as A ("a") or B ("b")."""

        def __init__(self, variant: Variant, letter: str) -> None:
            super().__init__()
            self.variant = variant
            self.letter = letter

    class Arranged(Message):
        """The rows or the columns changed."""

    class Filled(Message):
        """The table has the facts and estimates that it shows."""

    NUMBERED: ClassVar[str] = "variant number"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self.model = TableModel()
        self._workspace: Workspace | None = None
        self._pair: tuple[int, int] = (0, 0)
        # Where to estimate when another kernel is chosen; None before the facts are measured.
        self._estimating: tuple[Workspace, Background] | None = None
        self._column = 0
        self._typed = TypedNumber()

    @property
    def order(self) -> Sequence[Variant]:
        """Return the first variant of each row."""
        return [row.variant for row in self.model.rows]

    @property
    def matching(self) -> Sequence[Variant]:
        """Return the variants of all rows, folded ones included."""
        return self.model.matching

    @property
    def row(self) -> TableRow | None:
        """Return the row under the cursor."""
        return self.model.rows[self.cursor] if self.model.rows else None

    @property
    def current(self) -> Variant | None:
        """Return the variant under the cursor, the first one of a group."""
        return self.row.variant if self.row else None

    @property
    def note(self) -> str:
        """Return the number that is typed, or the part of the row that is cut: a problem, a cell, a group.

        Otherwise, return what the filter shows, or else what the variant's kernel computes, if a
        framework generated it.
        """
        row, model = self.row, self.model
        typed = self._typed.text
        if typed or row is None:
            missing = typed and self.line_numbered(int(typed)) is None
            return f"go to #{typed}{': no such row' if missing else ''}" if typed else model.count_text
        variant = row.variant
        if problem := model.problem(variant):
            return f"#{variant.id} {problem}"
        if self._column in model.shown and (note := self._cell_note(row)):
            return note
        if row.equal:
            return f"#{variant.id} {equal_text(row.equal)}; = shows them"
        if model.query:
            return f"{len(model.matching):,} of {pluralize(len(model.all), 'variant')} match {model.query}"
        return one_line(variant.origin.sentence) if variant.origin else ""

    def _cell_note(self, row: TableRow) -> str:
        """Return what the class of equal bits says, or the text of another cell if it is cut; else ""."""
        column = self.model.columns[self._column]
        if column.name == BITS:
            return self.model.bits.get(row.variant.id, ("", self.model.without_bits))[1]
        text = self.model.cell(row, column).text
        spans = self._column_spans(self.scrollable_content_region.width)
        space = max((s.end - s.start for s in spans if s.place == self._column), default=0)
        is_cut = len(display_line(text)) > space
        return f"#{row.variant.id} {column.title}: {one_line(text)}" if is_cut else ""

    @property
    def text_under_cursor(self) -> str:
        """Return the name of the fact or option in the column under the cursor."""
        return self.model.columns[self._column].name if self.model.columns else ""

    @property
    def explained_text(self) -> str:
        """Return the name and the title of the column under the cursor."""
        if not self.model.columns:
            return "variant"
        column = self.model.columns[self._column]
        return f"{column.name} {column.title}{'' if isinstance(column, FactColumn) else ' config'}"

    @property
    def facts(self) -> FactTable:
        """Return the facts of the variants measured so far."""
        return self.model.facts

    @property
    def sorting(self) -> tuple[str, bool]:
        """Return the column that sorts the rows ("": none does), and whether the worst is first."""
        return self.model.sort or ("", False)

    def restore(self, name: str, worst_first: bool, query: str) -> None:
        """Sorts by the column with this name, if there is one, and filters; to be called after `load`."""
        with self._cursor_kept():
            if self.model.place_of(name) is not None:
                self.model.sort = (name, worst_first)
            self.model.query = query
            self.model.arrange()
        if self.model.sort:
            self.go_to_column(name)

    def load(self, workspace: Workspace) -> None:
        """Show the variants with the facts that the capture stores; keeps the cursor, order and filter."""
        self._workspace = workspace
        with self._cursor_kept():
            self.model.load(workspace, workspace.contents.facts(workspace.variants))

    def opened(self, a: Variant, b: Variant) -> None:
        """Mark the pair that the app opens with; of several kernels and targets, shows only theirs."""
        if a.id != b.id and len({(v.kernel.name, v.target) for v in self.model.all}) > 1:
            self.model.scope = scope_of(a, b)
            self.model.refresh()
        self.set_pair(a, b)
        self.lines_changed()
        self.go_to(b.id)
        self.go_to(a.id)
        self.post_message(self.Arranged())

    def update_variants(self, workspace: Workspace, ids: Collection[int]) -> None:
        """Update the rows of variants that changed."""
        with self._cursor_kept():
            self.model.replace(workspace, ids)

    def fit(self) -> None:
        """Make the columns as wide as their current content."""
        with self._cursor_kept():
            self.model.refresh()

    def choose(self, scope: Scope) -> None:
        """Show the variants of a kernel and a target."""
        with self._cursor_kept():
            self.model.scope = scope
            self.model.refresh()
        if self._estimating is not None:
            self.estimate(*self._estimating)

    @work(exclusive=True, group="facts", exit_on_error=False)
    async def measure(self, workspace: Workspace, background: Background) -> None:
        """Measures the compiled variants whose facts the capture does not store."""
        drawn, waiting = time.monotonic(), False
        for variant in workspace.variants:
            if variant.id in self.facts or variant.id in workspace.in_progress:
                continue
            self.facts.add(variant, await background.run(workspace.facts, variant))
            waiting = True
            if time.monotonic() - drawn > _REFRESH_SECONDS:
                self.fit()
                drawn, waiting = time.monotonic(), False
        if waiting:
            self.fit()
        self.estimate(workspace, background)

    @work(exclusive=True, group="estimates", exit_on_error=False)
    async def estimate(self, workspace: Workspace, background: Background) -> None:
        """Estimates the launches of the variants that the table shows, unless they are too many."""
        self._estimating = (workspace, background)
        variants = [v for v in self.model.all if v in self.model.scope and v.launches and not v.failure]
        missing = [v for v in variants if v.id in self.facts and not self.facts.has_estimate(v.id)]
        if len(variants) <= workspace.most_estimated and missing:
            await self._estimate_all(missing, workspace, background)
        self.post_message(self.Filled())

    async def _estimate_all(
        self, missing: Sequence[Variant], workspace: Workspace, background: Background
    ) -> None:
        drawn = time.monotonic()
        self.model.estimated = True
        for variant in missing:
            estimated = await background.run(workspace.estimates.facts, variant)
            if variant.id in self.facts:  # its facts were not dropped meanwhile
                self.facts.add(variant, {**self.facts.known[variant.id], **estimated})
            if time.monotonic() - drawn > _REFRESH_SECONDS:
                self.fit()
                drawn = time.monotonic()
        self.fit()
        background.later(workspace.estimates.save)

    def set_pair(self, a: Variant, b: Variant) -> None:
        """Mark A and B."""
        self._pair = (a.id, b.id)
        self.model.a = a
        if self.model.sort and self.model.sort[0] == "differs":
            with self._cursor_kept():
                self.model.arrange()
        self.refresh()

    def neighbor(self, variant: int, step: int, without: int) -> Variant | None:
        """Return the next shown variant below (1) or above (-1) the one with id `variant`.

        That one may be hidden. Skips the one with id `without`. Returns None if there is none.
        """
        every = self.model.all
        index = [candidate.id for candidate in every].index(variant)
        shown_ids = {candidate.id for candidate in self.order} - {without}
        candidates = every[index + 1 :] if step > 0 else every[:index][::-1]
        return next((candidate for candidate in candidates if candidate.id in shown_ids), None)

    def go_to(self, variant: int) -> None:
        """Move the cursor to the variant with this id."""
        index = self.model.index_of(variant)
        self.cursor = self.cursor if index is None else index

    def go_to_column(self, name: str) -> bool:
        """Move to the column with this name and show it if it is hidden; whether there is one."""
        place = self.model.place_of(name)
        if place is None:
            return False
        if place not in self.model.shown:
            self.action_constants()
        self._column = place if place in self.model.shown else self._column
        self.refresh()
        return place in self.model.shown

    def filter(self, query: str) -> None:
        """Show the variants that match `query`."""
        with self._cursor_kept():
            self.model.query = query
            self.model.arrange()

    @contextmanager
    def _cursor_kept(self) -> Iterator[None]:
        """Keep the cursor on its variant and its column while the rows or columns change."""
        variant, name = self.current, self.text_under_cursor
        yield
        place = self.model.place_of(name)
        self._column = 0 if place is None or place not in self.model.shown else place
        self.lines_changed()
        if variant is not None:
            self.go_to(variant.id)
        self.post_message(self.Arranged())

    # Actions.

    def action_mark(self, letter: str) -> None:
        """Make the variant under the cursor A or B."""
        if self.current is not None:
            self.post_message(self.Marked(self.current, letter))

    def action_column(self, step: int) -> None:
        """Move to another column and scrolls to it."""
        column_indices = self.model.shown
        if column_indices:
            index = column_indices.index(self._column) if self._column in column_indices else 0
            self._column = column_indices[max(0, min(index + step, len(column_indices) - 1))]
        self.refresh()
        self.post_message(self.CursorMoved(self))

    def action_sort(self) -> None:
        """Sort by the column, or reverse the order, and go to the first row; unknown values come last."""
        if not self.model.columns:
            return
        name = self.model.columns[self._column].name
        with self._cursor_kept():
            self.model.sort = (name, self.model.sort == (name, False))
            self.model.arrange()
        self.cursor = 0
        self.reveal(0)

    def on_key(self, event: events.Key) -> None:
        """Go to the variant whose number is typed."""
        if self._typed.take(event):
            self.go_to_number(self._typed.text)
            self.post_message(self.CursorMoved(self))

    def action_fold(self) -> None:
        """Folds all variants with equal machine code, or shows them."""
        with self._cursor_kept():
            self.model.folding = Folding(not self.model.folding.folded)
            self.model.arrange()

    def action_expand(self) -> None:
        """Show the variants that equal the one under the cursor, or folds them."""
        if self.current is None:
            return
        first = self.facts.duplicate_of(self.current)
        with self._cursor_kept():
            self.model.folding = self.model.folding.toggled(self.current.id if first is None else first)
            self.model.arrange()

    def action_constants(self) -> None:
        """Show the columns that are equal in all rows, or hides them."""
        with self._cursor_kept():
            self.model.constants = not self.model.constants
            self.model.arrange()

    def on_click(self, event: events.Click) -> None:
        """Sort by the title that is clicked, or move the cursor to the row.

        A double click makes the variant B.
        """
        super().on_click(event)
        if event.y < HEADING:
            for span in self._column_spans(self.size.width):
                if span.start <= event.x < span.end + _GAP:
                    self._column = span.place
                    self.action_sort()
                    return
        elif event.chain == 2:
            self.action_mark("b")

    # Drawing.

    def line_count(self) -> int:
        """Return the number of rows."""
        return len(self.model.rows)

    def line_numbered(self, number: int) -> int | None:
        """Return the row of the variant with this number."""
        return self.model.index_of(number)

    def _column_spans(self, width: int) -> list[ColumnSpan]:
        """Return the columns on screen: the number, then as many as fit.

        The one under the cursor is among them.
        """
        shown = self.model.shown
        fixed = shown[:_FIXED]
        first, last = len(fixed), shown.index(self._column) if self._column in shown else 0
        while True:
            spans = list(self._spans_from([*fixed, *shown[first:]], width))
            if first >= last or any(span.place == self._column for span in spans):
                return spans
            first += 1

    def _spans_from(self, places: Sequence[int], width: int) -> Iterator[ColumnSpan]:
        start = _GUTTER
        for place in places:
            end = start + self.model.width(place)
            if end > width:
                if not self.model.columns[place].numeric and width - start >= _LEAST_CUT:
                    yield ColumnSpan(place, start, width - 1)
                return
            yield ColumnSpan(place, start, end)
            start = end + _GAP

    def draw_heading(self, width: int) -> Strip:
        """Draw the titles.

        The sorted one has an arrow; at the edges, signs say that there are more columns.
        """
        model, style, spans = self.model, self.style("heading"), self._column_spans(width)
        skipped = len(spans) > 1 and model.shown.index(spans[_FIXED].place) > _FIXED
        segments = [Segment(" " * (_GUTTER - 1) + ("<" if skipped else " "), style)]
        for span in spans:
            column = model.columns[span.place]
            title = cell(display_line(column.title), span.end - span.start, column.numeric)
            arrow = " "
            if model.sort and model.sort[0] == column.name:
                best_is_high = isinstance(column, FactColumn) and column.kind.better == "high"
                arrow = "↓" if model.sort[1] != best_is_high else "↑"
            segments.append(
                Segment(title, self.style("heading--column") if span.place == self._column else style)
            )
            segments.append(Segment(f"{arrow:{_GAP}}"[: width - 1 - span.end], style))
        line = fitted(segments, width, style)
        if spans and spans[-1].place != model.shown[-1]:
            line = [*fitted(segments, width - 1, style), Segment(">", style)]
        return Strip(line, width)

    def draw_line(self, index: int, width: int) -> Strip:
        """Draw a row.

        From the first fact on, a variant that has a problem has it instead of the cells.
        """
        model, cursor = self.model, index == self.cursor
        row = model.rows[index]
        problem = model.problem(row.variant)
        base = self.style("row--cursor") if cursor else self.base
        if self._compiles(row.variant):
            base += self.ink("row--in-progress")
        elif problem:
            base += self.ink("row--failed")
        gutter = f"{'>' if cursor else ' '}{self._letters(row)}{self._sign(row)} "
        segments = [
            Segment(sign, base + self.ink(f"mark--{sign.lower()}") if sign in "AB" else base)
            for sign in gutter
        ]
        for span in self._column_spans(width):
            column = model.columns[span.place]
            if problem and (isinstance(column, FactColumn) or column.name == DIFFERS):
                segments.append(Segment(cell(display_line(problem), width - span.start, right=False), base))
                break
            value = model.cell(row, column)
            text = cell(display_line(value.text), span.end - span.start, column.numeric)
            ink = base + self.ink(_STYLES[value.mark]) if value.mark else base
            segments.append(Segment(f"{text}{_SIGNS.get(value.mark, ''):{_GAP}}"[: width - span.start], ink))
        return Strip(fitted(segments, width, base), width)

    def _letters(self, row: TableRow) -> str:
        ids = {variant.id for variant in row.variants}
        return "".join(letter if id_ in ids else " " for letter, id_ in zip("AB", self._pair, strict=True))

    def _sign(self, row: TableRow) -> str:
        """Return the sign of a problem, of a compilation that is not done, or of equal machine code."""
        if self._compiles(row.variant):
            return "…"
        if self.model.problem(row.variant):
            return "!"
        return "=" if row.equal or row.expanded else " "

    def _compiles(self, variant: Variant) -> bool:
        return self._workspace is not None and variant.id in self._workspace.in_progress
