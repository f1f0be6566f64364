"""The table of variants: configs and facts, with A and B marked."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events, work
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from irscope.model import Variant
from irscope.model.text import display_line, one_line, pluralize
from irscope.tui.background import Background
from irscope.tui.bindings import KeyGroup, key
from irscope.tui.columns import UNKNOWN, Column, Heatmap, columns
from irscope.tui.filtering import tests
from irscope.tui.paint import fitted
from irscope.tui.widgets.line_view import HEADING, LineView
from irscope.workspace import FactTable, InProgress, Workspace, kinds_for

# Longer cells are cut.
MAX_CELL = 40
# The number stays on screen when the columns scroll.
_FIXED = 1
_GAP = 2


class VariantTable(LineView):
    """A row per variant."""

    KEYS: ClassVar[KeyGroup] = KeyGroup(
        "In the table of variants",
        (
            key("a", "mark('a')", "Make this variant A", "is A"),
            key("b,enter", "mark('b')", "Make this variant B", "is B"),
            key("l,right", "column(1)", "Next column"),
            key("h,left", "column(-1)", "Previous column"),
            key("s", "sort", "Sort by the column; press again to reverse", "sort"),
            key("F,backslash", "screen.filter", "Filter: words in a row, or registers>128", "filter"),
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

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._columns: Sequence[Column] = ()
        self._facts = FactTable()
        self._in_progress = InProgress()
        self._widths: list[int] = []  # 0: hidden, because no cell is informative yet
        self._heatmaps: list[Heatmap] = []
        self._variants: list[Variant] = []
        self._order: list[Variant] = []
        self._query = ""
        self._pair: tuple[int, int] = (0, 0)
        self._column = 0
        self._sorted: tuple[int, bool] | None = None

    @property
    def order(self) -> Sequence[Variant]:
        """The variants in the order of the rows."""
        return self._order

    @property
    def current(self) -> Variant | None:
        """The variant under the cursor."""
        return self._order[self.cursor] if self._order else None

    @property
    def note(self) -> str:
        """Why the variant under the cursor failed or cannot be launched, else how many the filter shows.

        Else what its kernel computes, if a framework generated it.
        """
        problem = self._facts.problem(self.current) if self.current else ""
        if self.current and problem:
            return f"#{self.current.id} {problem}"
        if not self._query:
            origin = self.current.origin if self.current else None
            return one_line(origin.sentence) if origin else ""
        return f"{len(self._order):,} of {pluralize(len(self._variants), 'variant')} match {self._query}"

    @property
    def text_under_cursor(self) -> str:
        """The name of the fact or option in the column under the cursor."""
        if not self._columns:
            return ""
        column = self._columns[self._column]
        return column.name or column.title

    @property
    def facts(self) -> FactTable:
        """The facts of the variants measured so far."""
        return self._facts

    @property
    def sorting(self) -> tuple[str, bool]:
        """The title of the column that sorts the rows ("": none does), and whether it descends."""
        return (self._columns[self._sorted[0]].title, self._sorted[1]) if self._sorted else ("", False)

    def restore(self, title: str, descending: bool, query: str) -> None:
        """Sorts by the column with this title, if there is one, and filters; to be called after `load`."""
        titles = [column.title for column in self._columns]
        if title in titles:
            self._column = titles.index(title)
            self._sorted = (self._column, descending)
        self.filter(query)

    def load(self, workspace: Workspace) -> None:
        """Shows the variants with the facts that the capture stores; keeps the cursor, order and filter."""
        here, titles = self.current, [column.title for column in self._columns]
        self._in_progress = workspace.in_progress
        stored = workspace.stored_facts()
        for variant in workspace.variants:
            if variant.id in stored:
                self._facts.add(variant, stored[variant.id])
        backends = dict.fromkeys(variant.target.backend for variant in workspace.variants)
        kinds = dict.fromkeys(kind for backend in backends for kind in kinds_for(backend))
        self._order = self._variants = list(workspace.variants)
        self._columns = columns(
            workspace.variants, list(kinds), self._facts, workspace.in_progress, workspace.age
        )
        self._find_columns(titles)
        self._heatmaps = [Heatmap(column.fact.better if column.fact else "") for column in self._columns]
        known = [variant for variant in workspace.variants if variant.id in self._facts]
        self._add_to_heatmaps(known)
        self.fit()
        self._arrange()
        if here is not None:
            self.go_to(here.id)

    def update_variants(self, workspace: Workspace, ids: Collection[int]) -> None:
        """Updates the rows of variants that changed."""
        fresh = {variant.id: variant for variant in self._variants if variant.id in ids}
        for id_ in fresh:
            fresh[id_] = workspace.by_id(id_)
            self._facts.remove(id_)
        self._variants = [fresh.get(variant.id, variant) for variant in self._variants]
        self._widen(list(fresh.values()))
        self._arrange()

    def fit(self) -> None:
        """Makes the columns as wide as their current content."""
        self._widths = [0] * len(self._columns)
        self._widen(self._variants)

    @work(exclusive=True, group="facts", exit_on_error=False)
    async def measure(self, workspace: Workspace, background: Background) -> None:
        """Measures the compiled variants whose facts the capture does not store."""
        for variant in workspace.variants:
            if variant.id not in self._facts and variant.id not in workspace.in_progress:
                self._facts.add(variant, await background.run(workspace.facts, variant))
                self._add_to_heatmaps([variant])
                self._widen([variant])
                if self._passes(variant) != (variant in self._order):
                    self._arrange()
        self._arrange()

    def _passes(self, variant: Variant) -> bool:
        return all(test(variant) for test in tests(self._query, self._columns))

    def _find_columns(self, titles: Sequence[str]) -> None:
        """Finds the column under the cursor and the sorted one again by their titles."""
        now = [column.title for column in self._columns]

        def place(column: int) -> int | None:
            title = titles[column] if column < len(titles) else ""
            return now.index(title) if title in now else None

        self._column = place(self._column) or 0
        if self._sorted is not None:
            by = place(self._sorted[0])
            self._sorted = None if by is None else (by, self._sorted[1])

    def _add_to_heatmaps(self, variants: Sequence[Variant]) -> None:
        """Adds the facts of newly measured variants to the heatmaps."""
        for column, heatmap in zip(self._columns, self._heatmaps, strict=True):
            numbers = [column.number(variant) for variant in variants] if column.fact else []
            for number in numbers:
                if number is not None:
                    heatmap.add(number)

    def _widen(self, variants: Sequence[Variant]) -> None:
        """Makes the columns wide enough for the cells of these variants."""
        for index, column in enumerate(self._columns):
            if not self._widths[index] and not any(map(column.informative, variants)):
                continue
            widest = max(
                (len(column.text(variant)) for variant in self._distinct(column, variants)), default=0
            )
            self._widths[index] = max(self._widths[index], len(column.title) + 1, min(widest, MAX_CELL))
        self.refresh()

    def _distinct(self, column: Column, variants: Sequence[Variant]) -> Iterable[Variant]:
        """One variant per text in a column: a fact has few values among 1,000 variants."""
        if column.fact is None:
            return variants
        name = column.fact.name
        return {(self._facts.value(v.id, name), v.failure is None): v for v in variants}.values()

    def set_pair(self, a: int, b: int) -> None:
        """Marks A and B, given their ids."""
        self._pair = (a, b)
        self.refresh()

    def neighbor(self, variant: int, step: int, without: int) -> Variant | None:
        """The next shown variant below (1) or above (-1) the one with id `variant`, which may be hidden.

        Skips the one with id `without`. None if there is none.
        """
        place = [one.id for one in self._variants].index(variant)
        shown = {one.id for one in self._order} - {without}
        others = self._variants[place + 1 :] if step > 0 else self._variants[:place][::-1]
        return next((one for one in others if one.id in shown), None)

    def go_to(self, variant: int) -> None:
        """Moves the cursor to the variant with this id."""
        self.cursor = next((i for i, v in enumerate(self._order) if v.id == variant), self.cursor)

    def filter(self, query: str) -> None:
        """Shows the variants that match `query` (see `filtering.tests`)."""
        self._query = query
        self._arrange()

    def _arrange(self) -> None:
        """Sorts and filters by the facts known so far; the cursor stays on its variant."""
        here = self.current
        if self._sorted is not None:
            column, down = self._sorted
            sort_keys = {variant.id: self._columns[column].key(variant) for variant in self._variants}
            known = [v for v in self._variants if sort_keys[v.id][0] < UNKNOWN[0]]
            unknown = [v for v in self._variants if sort_keys[v.id][0] == UNKNOWN[0]]
            self._variants = sorted(known, key=lambda v: sort_keys[v.id], reverse=down) + unknown
        passed = tests(self._query, self._columns)
        self._order = [variant for variant in self._variants if all(test(variant) for test in passed)]
        self.lines_changed()
        if here is not None:
            self.go_to(here.id)

    # Actions.

    def action_mark(self, letter: str) -> None:
        """Makes the variant under the cursor A or B."""
        if self.current is not None:
            self.post_message(self.Marked(self.current, letter))

    def action_column(self, step: int) -> None:
        """Moves to another column and scrolls to it."""
        shown = [index for index, width in enumerate(self._widths) if width]
        if shown:
            place = bisect_left(shown, self._column) + step
            self._column = shown[max(0, min(place, len(shown) - 1))]
        self.refresh()

    def action_sort(self) -> None:
        """Sorts by the column, or reverses the order; unknown values come last."""
        if not self._columns:
            return
        down = self._sorted == (self._column, False)
        self._sorted = (self._column, down)
        self._arrange()
        self.reveal(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """A click on a title sorts, on a row moves the cursor; a double click makes the variant B."""
        super().on_click(event)
        if event.y < HEADING:
            for index, start, end in self._visible_columns(self.size.width):
                if start <= event.x < end:
                    self._column = index
                    self.action_sort()
        elif event.chain == 2:
            self.action_mark("b")

    # Drawing.

    def line_count(self) -> int:
        """The number of rows."""
        return len(self._order)

    def draw_heading(self, width: int) -> Strip:
        """Draws the titles; the sorted one has an arrow."""
        style = self.style("heading")
        segments = [Segment("    ", style)]
        for index, start, end in self._visible_columns(width):
            arrow = ""
            if self._sorted and self._sorted[0] == index:
                arrow = "▼" if self._sorted[1] else "▲"
            column = self._columns[index]
            title = _cell(display_line(column.title) + arrow, end - start - _GAP, column.numeric)
            chosen = self.style("heading--column") if index == self._column else style
            segments += [Segment(title, chosen), Segment(" " * _GAP, style)]
        return Strip(fitted(segments, width, style), width)

    def draw_line(self, index: int, width: int) -> Strip:
        """Draws a variant."""
        variant = self._order[index]
        base = self.style("row--cursor") if index == self.cursor else self.base
        if variant.failure is not None:
            base += self.ink("row--failed")
        if variant.id in self._in_progress:
            base += self.ink("row--in-progress")
        segments = self._marks(variant, base)
        for place, start, end in self._visible_columns(width):
            column = self._columns[place]
            text = _cell(display_line(column.text(variant)), end - start - _GAP, column.numeric)
            sign, style = self._heat(place, variant)
            segments.append(Segment(f"{text}{sign:{_GAP}}", base + self.ink(style) if style else base))
        return Strip(fitted(segments, width, base), width)

    def _heat(self, place: int, variant: Variant) -> tuple[str, str]:
        """The sign and style class of a highlighted value."""
        column = self._columns[place]
        number = column.number(variant) if column.fact and variant.id in self._facts else None
        return ("", "") if number is None else self._heatmaps[place].mark(number)

    def _marks(self, variant: Variant, base: Style) -> list[Segment]:
        a, b = (variant.id == marked for marked in self._pair)
        return [
            Segment(" ", base),
            Segment("A" if a else " ", base + self.ink("mark--a") if a else base),
            Segment("B" if b else " ", base + self.ink("mark--b") if b else base),
            Segment(" ", base),
        ]

    def _visible_columns(self, width: int) -> list[tuple[int, int, int]]:
        """The columns on screen, as (index, start, end): the fixed ones, then as many as fit.

        The column under the cursor is completely on screen.
        """
        spans = self._place(range(len(self._columns)))
        first = _FIXED
        while first < self._column and spans and _end_of(spans, self._column) > width:
            first += 1
            spans = self._place([*range(_FIXED), *range(first, len(self._columns))])
        return [span for span in spans if span[1] < width]

    def _place(self, indices: Sequence[int]) -> list[tuple[int, int, int]]:
        spans = []
        start = 4
        for index in indices:
            if not self._widths[index]:
                continue
            end = start + self._widths[index] + _GAP
            spans.append((index, start, end))
            start = end
        return spans


def _end_of(spans: Sequence[tuple[int, int, int]], column: int) -> int:
    return next(end for index, _, end in spans if index == column)


def _cell(text: str, width: int, numeric: bool) -> str:
    text = text if len(text) <= width else f"{text[: width - 1]}…"
    return text.rjust(width) if numeric else text.ljust(width)
