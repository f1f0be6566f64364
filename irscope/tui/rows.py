"""Drawing the screen lines of a page: line number, mark and code of each side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style

from irscope.diff.rows import Change, Row
from irscope.diff.tokens import changed_spans
from irscope.tui.page import Kind, Page, ScreenLine, Side
from irscope.tui.paint import Span, Styles, code, fitted, occurrences
from irscope.tui.text import printable

# Changes of these kinds alone are marked but leave the row without a tint: a block size makes many.
QUIET = Change.SHAPE | Change.CONSTANT | Change.TEXT
_ABSENT = "\u2571"  # a light diagonal: nothing here on this side

STYLE_CLASSES = (
    "row--removed", "row--added", "row--changed-left", "row--changed-right",
    "row--fold", "row--absent", "span--left", "span--right", "match", "number", "gutter",
)  # fmt: skip


@dataclass(frozen=True)
class RowPainter:
    """Draws screen lines of `page`; `x` is the first character shown, `query` what is searched for."""

    page: Page
    styles: Styles
    base: Style
    x: int = 0
    query: str = ""

    def paint(self, line: ScreenLine, width: int, at_cursor: bool) -> list[Segment]:
        """One screen line in exactly `width` cells."""
        base = self.styles.style("row--cursor") if at_cursor else self.base
        if line.kind is Kind.FOLD:
            style = base if at_cursor else self.styles.style("row--fold")
            return fitted(
                [Segment(f"··· {line.folded:,} equal lines ···".center(width), style)], width, style
            )
        row = self.page.rows[line.row]
        left, right = (printable(self.page.text(line.row, side) or "") for side in (False, True))
        spans = _spans(left, right) if row.change and None not in (row.left, row.right) else ((), ())
        if line.kind is not Kind.BOTH:
            return self._unified(row, line.kind is Kind.RIGHT, (left, right), spans, width, base, at_cursor)
        if self.page.right is None:
            return self._side(row, False, left, (), width, base, at_cursor)
        half = (width - 1) // 2
        return [
            *self._side(row, False, left, spans[0], half, base, at_cursor),
            Segment("│", base + self.styles.ink("dim")),
            *self._side(row, True, right, spans[1], width - 1 - half, base, at_cursor),
        ]

    def _side(
        self,
        row: Row,
        right: bool,
        text: str,
        spans: Sequence[Span],
        width: int,
        base: Style,
        at_cursor: bool,
    ) -> list[Segment]:
        side = self.page.right if right else self.page.left
        line = row.right if right else row.left
        if side is None or line is None:
            return [Segment(_ABSENT * width, base + self.styles.ink("row--absent"))]
        base = base if at_cursor else self._tinted(row.change, right)
        gutter = f" {side.number(line):>{side.number_width}} "
        return fitted(
            [
                Segment(gutter, base + self.styles.ink("number")),
                Segment(f"{row.change.mark} ", base + self.styles.ink("gutter")),
                *self._code(side, text, right, spans, width - len(gutter) - 2, base),
            ],
            width,
            base,
        )

    def _unified(
        self,
        row: Row,
        right: bool,
        texts: tuple[str, str],
        spans: tuple[Sequence[Span], Sequence[Span]],
        width: int,
        base: Style,
        at_cursor: bool,
    ) -> list[Segment]:
        """A line of one column: numbers of both sides, the mark, and the code of the side it is of."""
        page = self.page
        side = page.right if right and page.right else page.left
        base = base if at_cursor else self._tinted(row.change, right)
        numbers = ""
        for owner, line in ((page.left, row.left), (page.right, row.right)):
            if owner:
                mine = line is not None and (owner is side or not row.change)
                number = owner.number(line) if line is not None and mine else ""
                numbers += f" {number:>{owner.number_width}}"
        mark = _unified_mark(row.change, right)
        return fitted(
            [
                Segment(f"{numbers} ", base + self.styles.ink("number")),
                Segment(f"{mark} ", base + self.styles.ink("gutter")),
                *self._code(
                    side, texts[right], right, spans[right], width - len(numbers) - len(mark) - 2, base
                ),
            ],
            width,
            base,
        )

    def _code(
        self, side: Side, text: str, right: bool, spans: Sequence[Span], width: int, base: Style
    ) -> list[Segment]:
        marks = [
            (spans, "span--right" if right else "span--left"),
            (occurrences(text, self.query, self.x, width), "match"),
        ]
        return code(text, side.language, self.x, max(width, 0), base, self.styles, marks)

    def _tinted(self, change: Change, right: bool) -> Style:
        if change & Change.ADDED:
            return self.styles.style("row--added")
        if change & Change.REMOVED:
            return self.styles.style("row--removed")
        if change & ~QUIET:
            return self.styles.style("row--changed-right" if right else "row--changed-left")
        return self.base


def _unified_mark(change: Change, right: bool) -> str:
    """`~A` over `~B` for the two lines of a changed row; else + - or a blank."""
    if change.mark != "~":
        return f"{change.mark} "
    return "~B" if right else "~A"


@lru_cache(maxsize=512)
def _spans(left: str, right: str) -> tuple[Sequence[Span], Sequence[Span]]:
    return changed_spans(left, right)
