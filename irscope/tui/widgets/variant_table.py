"""The table of variants: configs and facts, with A and B marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events, work
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from irscope.analysis.kinds import kinds_for
from irscope.model import Variant
from irscope.tui import keys
from irscope.tui.background import Background
from irscope.tui.columns import Column, FactTable, columns, trouble
from irscope.tui.paint import fitted
from irscope.tui.session import Session
from irscope.tui.text import printable
from irscope.tui.widgets.line_view import HEADING, LineView

# A cell of more characters is cut: a failure's kind, a string constant, a config.
MAX_CELL = 40
# The marks of A and B and the number stay in sight when the columns scroll.
_FIXED = 1
_GAP = 2


class VariantTable(LineView):
    """A row a variant."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.TABLE]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"row--failed", "heading--column", "mark--a", "mark--b"}

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
        self._widths: list[int] = []
        self._order: list[Variant] = []
        self._pair: tuple[int, int] = (0, 0)
        self._column = 0
        self._sorted: tuple[int, bool] | None = None

    @property
    def order(self) -> Sequence[Variant]:
        """The variants as they stand."""
        return self._order

    @property
    def current(self) -> Variant | None:
        """The variant under the cursor."""
        return self._order[self.cursor] if self._order else None

    @property
    def trouble(self) -> str:
        """What is wrong with the variant under the cursor; "" for nothing."""
        wrong = trouble(self.current, self._facts) if self.current else ""
        return f"#{self.current.id} {wrong}" if self.current and wrong else ""

    @property
    def words(self) -> str:
        """The name of the fact or the option in the column under the cursor."""
        if not self._columns:
            return ""
        column = self._columns[self._column]
        return column.name or column.title

    def load(self, session: Session, background: Background) -> None:
        """Shows the variants with the facts that the capture holds, and measures the others."""
        for variant, facts in session.kept_facts().items():
            self._facts.add(variant, facts)
        backends = dict.fromkeys(variant.target.backend for variant in session.variants)
        kinds = dict.fromkeys(kind for backend in backends for kind in kinds_for(backend))
        self._order = list(session.variants)
        self._columns = columns(session.variants, list(kinds), self._facts)
        self._widths = [len(column.title) + 1 for column in self._columns]
        self._widen(session.variants)
        self.lines_changed()
        self._measure(session, background)

    @work(group="facts", exit_on_error=False)
    async def _measure(self, session: Session, background: Background) -> None:
        for variant in session.variants:
            if variant.id not in self._facts:
                self._facts.add(variant.id, await background.run(session.facts, variant))
                self._widen([variant])

    def _widen(self, variants: Sequence[Variant]) -> None:
        """Makes the columns wide enough for what these variants have in them now."""
        for variant in variants:
            for index, column in enumerate(self._columns):
                width = min(len(column.text(variant)), MAX_CELL)
                self._widths[index] = max(self._widths[index], width)
        self.refresh()

    def set_pair(self, a: int, b: int) -> None:
        """Marks the variants with these ids as A and B."""
        self._pair = (a, b)
        self.refresh()

    def go_to(self, variant: int) -> None:
        """The cursor to the variant with this id."""
        self.cursor = next((i for i, v in enumerate(self._order) if v.id == variant), self.cursor)

    # What the user does.

    def action_mark(self, letter: str) -> None:
        """The variant under the cursor becomes A or B."""
        if self.current is not None:
            self.post_message(self.Marked(self.current, letter))

    def action_column(self, step: int) -> None:
        """Another column; the table scrolls until it is in sight."""
        self._column = max(0, min(self._column + step, len(self._columns) - 1))
        self.refresh()

    def action_sort(self) -> None:
        """Sorts by the column; what is not known comes last either way."""
        if not self._order:
            return
        down = self._sorted == (self._column, False)
        self._sorted = (self._column, down)
        here = self._order[self.cursor].id
        key = self._columns[self._column].key
        known = [v for v in self._order if key(v)[0] < 2]
        unknown = [v for v in self._order if key(v)[0] == 2]
        self._order = sorted(known, key=key, reverse=down) + unknown
        self.set_reactive(VariantTable.cursor, next(i for i, v in enumerate(self._order) if v.id == here))
        self.reveal(self.cursor)
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click on a title sorts, one on a row goes there, a double click makes it B."""
        super().on_click(event)
        if event.y < HEADING:
            for index, start, end in self._in_sight(self.size.width):
                if start <= event.x < end:
                    self._column = index
                    self.action_sort()
        elif event.chain == 2:
            self.action_mark("b")

    # Drawing.

    def line_count(self) -> int:
        """A line a variant."""
        return len(self._order)

    def draw_heading(self, width: int) -> Strip:
        """The titles; the one to sort by is marked."""
        style = self.style("heading")
        segments = [Segment("    ", style)]
        for index, start, end in self._in_sight(width):
            arrow = ""
            if self._sorted and self._sorted[0] == index:
                arrow = "▼" if self._sorted[1] else "▲"
            column = self._columns[index]
            title = _cell(printable(column.title) + arrow, end - start - _GAP, column.numeric)
            chosen = self.style("heading--column") if index == self._column else style
            segments += [Segment(title, chosen), Segment(" " * _GAP, style)]
        return Strip(fitted(segments, width, style), width)

    def draw_line(self, index: int, width: int) -> Strip:
        """A variant."""
        variant = self._order[index]
        base = self.style("row--cursor") if index == self.cursor else self.base
        if variant.failure is not None:
            base += self.ink("row--failed")
        segments = self._marks(variant, base)
        for place, start, end in self._in_sight(width):
            column = self._columns[place]
            text = _cell(printable(column.text(variant)), end - start - _GAP, column.numeric)
            segments.append(Segment(text + " " * _GAP, base))
        return Strip(fitted(segments, width, base), width)

    def _marks(self, variant: Variant, base: Style) -> list[Segment]:
        a, b = (variant.id == marked for marked in self._pair)
        return [
            Segment(" ", base),
            Segment("A" if a else " ", base + self.ink("mark--a") if a else base),
            Segment("B" if b else " ", base + self.ink("mark--b") if b else base),
            Segment(" ", base),
        ]

    def _in_sight(self, width: int) -> list[tuple[int, int, int]]:
        """The columns on screen, as (index, start, end): the fixed ones, then as many as fit from a first.

        The first is chosen so that the column under the cursor is seen whole.
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
            end = start + self._widths[index] + _GAP
            spans.append((index, start, end))
            start = end
        return spans


def _end_of(spans: Sequence[tuple[int, int, int]], column: int) -> int:
    return next(end for index, _, end in spans if index == column)


def _cell(text: str, width: int, numeric: bool) -> str:
    text = text if len(text) <= width else f"{text[: width - 1]}…"
    return text.rjust(width) if numeric else text.ljust(width)
