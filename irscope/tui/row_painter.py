"""Drawing the screen lines of a page: line number, mark and text of each side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style

from irscope.model.text import display_line
from irscope.tui.page import Kind, Page, PageSide, ScreenLine
from irscope.tui.paint import Span, Styles, code, fitted, occurrences
from irscope.workspace import Change, Row, changed_spans, line_without_location

_ABSENT = "\u2571"  # a light diagonal: this side has no line

STYLE_CLASSES = (
    "row--removed", "row--added", "row--changed-left", "row--changed-right",
    "row--fold", "row--absent", "span--left", "span--right", "match", "gutter",
    "number", "number--highlighted",
)  # fmt: skip


# Lines (from 0) of A and B that are highlighted.
Highlighted = tuple[frozenset[int], frozenset[int]]


@dataclass(frozen=True)
class _Half:
    """One side of a row: a line of its text, and its spans that differ from the other side."""

    side: PageSide
    line: int
    right: bool
    text: str
    spans: Sequence[Span]

    @property
    def number(self) -> str:
        return f" {self.side.number(self.line):>{self.side.number_width}}"


@dataclass(frozen=True)
class RowPainter:
    """Draws screen lines of `page`.

    `x` is the first character to show, `query` the search, `highlighted` the lines to highlight. `located`:
    source locations are shown, as always in raw text.
    """

    page: Page
    styles: Styles
    base: Style
    x: int = 0
    query: str = ""
    highlighted: Highlighted = (frozenset(), frozenset())
    located: bool = False

    def paint(self, line: ScreenLine, width: int, at_cursor: bool) -> list[Segment]:
        """Draws a screen line in exactly `width` cells."""
        if line.kind is Kind.FOLD:
            style = self.styles.style("row--cursor" if at_cursor else "row--fold")
            text = f"··· {line.folded:,} equal lines ···".center(width)
            return fitted([Segment(text, style)], width, style)
        row = self.page.rows[line.row]
        left, right = self._halves(row, width)
        if line.kind is not Kind.BOTH:
            return self._unified(row, left, right, line.kind is Kind.RIGHT, width, at_cursor)
        if self.page.right is None:
            return self._side(row, left, width, at_cursor)
        half = (width - 1) // 2
        rule = Segment("│", self.base + self.styles.ink("dim"))
        return [
            *self._side(row, left, half, at_cursor),
            rule,
            *self._side(row, right, width - 1 - half, at_cursor),
        ]

    def _halves(self, row: Row, width: int) -> tuple[_Half | None, _Half | None]:
        """Both sides of a row. Differences are found only up to the edge of the screen: lines can be long."""
        left, right = (self._shown(row, side) for side in (False, True))
        ours: Sequence[Span] = ()
        theirs: Sequence[Span] = ()
        if row.change and row.left is not None and row.right is not None:
            end = self.x + width
            ours, theirs = _changed_spans(left[:end], right[:end], self.page.raw)
        return (
            None if row.left is None else _Half(self.page.left, row.left, False, left, ours),
            None if row.right is None or self.page.right is None
            else _Half(self.page.right, row.right, True, right, theirs),
        )  # fmt: skip

    def _shown(self, row: Row, right: bool) -> str:
        """The line of one side of a row, as it is drawn."""
        text = self.page.text(row, right) or ""
        side = self.page.right if right else self.page.left
        if side is not None and side.language and not (self.located or self.page.raw):
            text = line_without_location(text, side.language)
        return display_line(text)

    def _side(self, row: Row, half: _Half | None, width: int, at_cursor: bool) -> list[Segment]:
        """Draws one of two columns."""
        if half is None:
            base = self.styles.style("row--cursor") if at_cursor else self.base
            return [Segment(_ABSENT * width, base + self.styles.ink("row--absent"))]
        return self._line(half, f"{half.number} ", f"{row.change.mark} ", row.change, width, at_cursor)

    def _unified(
        self, row: Row, left: _Half | None, right: _Half | None, at_right: bool, width: int, at_cursor: bool
    ) -> list[Segment]:
        """Draws the only column: both line numbers, the mark, and the line of one side."""
        shown = right if at_right else left
        if shown is None:
            return []
        numbers = ""
        for half, side in ((left, self.page.left), (right, self.page.right)):
            own = half is not None and (half is shown or not row.change)
            numbers += half.number if half and own else " " * (1 + (side.number_width if side else 0))
        return self._line(
            shown, f"{numbers} ", _unified_mark(row.change, at_right), row.change, width, at_cursor
        )

    def _line(
        self, half: _Half, numbers: str, mark: str, change: Change, width: int, at_cursor: bool
    ) -> list[Segment]:
        base = self.styles.style("row--cursor") if at_cursor else self._tinted(change, half.right)
        gutter = len(numbers) + len(mark)
        room = max(width - gutter, 0)
        marks = [
            (half.spans, "span--right" if half.right else "span--left"),
            (occurrences(half.text, self.query, self.x, room), "match"),
        ]
        highlighted = half.line in self.highlighted[half.right]
        ink = base + self.styles.ink("number--highlighted" if highlighted else "number")
        # A blank mark needs no style of its own: one escape sequence less to send for most lines.
        edge = [Segment(numbers, ink), Segment(mark, base + self.styles.ink("gutter"))]
        segments = [
            *(edge if change else [Segment(numbers + mark, ink)]),
            *code(half.text, half.side.language, self.x, room, base, self.styles, marks),
        ]
        return fitted(segments, width, base, gutter + room)

    def _tinted(self, change: Change, right: bool) -> Style:
        """The background of a row; real changes, which are few, are tinted."""
        if change & Change.ADDED:
            return self.styles.style("row--added")
        if change & Change.REMOVED:
            return self.styles.style("row--removed")
        if change.structural:
            return self.styles.style("row--changed-right" if right else "row--changed-left")
        return self.base


def _unified_mark(change: Change, right: bool) -> str:
    """`~A` and `~B` for the two lines of a changed row; else + - or a blank."""
    if change.mark != "~":
        return f"{change.mark}  "
    return "~B " if right else "~A "


@lru_cache(maxsize=512)
def _changed_spans(left: str, right: str, raw: bool) -> tuple[Sequence[Span], Sequence[Span]]:
    return _raw_spans(left, right) if raw else changed_spans(left, right)


def _raw_spans(left: str, right: str) -> tuple[Sequence[Span], Sequence[Span]]:
    """The parts between the common start and the common end of two lines."""
    head = _common(left, right)
    tail = _common(left[head:][::-1], right[head:][::-1])
    return ((head, len(left) - tail),), ((head, len(right) - tail),)


def _common(left: str, right: str) -> int:
    """The length of the common start."""
    unequal = (place for place, (a, b) in enumerate(zip(left, right, strict=False)) if a != b)
    return next(unequal, min(len(left), len(right)))
