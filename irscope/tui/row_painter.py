"""Drawing the screen lines of a page: line number, mark and text of each side.

The detail lines under the texts: the change under the cursor in full, whatever the columns cut off.

`threadsPerWarp: [4, 8] → [2, 16]   64x64xf32 → 64x128xf32`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from irscope.model.text import display_line, pluralize
from irscope.tui import minimap
from irscope.tui.minimap import is_hot
from irscope.tui.page import LineKind, Page, PageSide, ScreenLine
from irscope.tui.paint import CONTINUED, Span, Styles, code, elided, fitted, occurrences, wrap_starts
from irscope.workspace import Change, Language, LineMarks, Row
from irscope.workspace.line_differences import (
    LineChange,
    content_span,
    elided_layouts,
    first_change,
    line_changes,
    line_spans,
)
from irscope.workspace.stage_marks import NO_MARKS, Pressure

_ABSENT = "\u2571"  # a light diagonal: this side has no line
# The cells for a share and for how often a line runs.
SHARES = 12
_HOT = "\u2503"  # a heavy vertical line: in the hot loop

_TINTS = {"+": "row--added", "-": "row--removed"}

STYLE_CLASSES = (
    "row--removed", "row--added", "row--changed-left", "row--changed-right",
    "row--fold", "row--absent", "span--left", "span--right", "match", "gutter",
    "number", "number--highlighted", "hot", *minimap.STYLE_CLASSES,
)  # fmt: skip


# Lines (from 0) of A and B that are highlighted.
Highlighted = tuple[frozenset[int], frozenset[int]]


@dataclass(frozen=True)
class _Half:
    """One side of a row: a line of its text, and its spans that differ from the other side.

    `start` is the first character on screen.
    """

    side: PageSide
    line: int
    right: bool
    text: str
    spans: Sequence[Span]
    start: int

    @property
    def number(self) -> str:
        return f" {self.side.number(self.line):>{self.side.number_width}}"


@dataclass(frozen=True)
class Columns:
    """How the cells of a screen line are divided: one column, or two with a rule between them.

    `gauge` is the width of the gauge at the right edge of a column, `python` that of the lines of Python;
    with `shares`, these have their shares and how often they run.
    """

    page: Page
    width: int
    two: bool
    gauge: int = 0
    python: int = 0
    shares: bool = False

    def width_of(self, right: bool) -> int:
        """Return the width of a side's column."""
        if not self.two:
            return self.width
        half = (self.width - 1) // 2
        return self.width - 1 - half if right else half

    def room(self, right: bool) -> int:
        """Return the cells for the text of a side."""
        sides = [side for side in (self.page.left, self.page.right) if side]
        if self.page.compared and not self.two:
            gutter = sum(1 + side.number_width for side in sides) + 4
        else:
            gutter = sides[-1 if right else 0].number_width + 4
        return max(self.width_of(right) - gutter - self.gauge - self.python, 1)


@dataclass(frozen=True)
class RowPainter:
    """Draws screen lines of `page`.

    `x` is the first character to show, `query` the search, `highlighted` the lines to highlight. `located`:
    source locations are shown, as always in raw text. `full`: nothing in the middle of a line is left out.
    `wrapped`: long lines take several screen lines, but at most `tallest`.
    """

    page: Page
    styles: Styles
    base: Style
    columns: Columns
    x: int = 0
    query: str = ""
    highlighted: Highlighted = (frozenset(), frozenset())
    located: bool = False
    full: bool = False
    wrapped: bool = False
    tallest: int = 1
    marks: tuple[LineMarks, LineMarks] = (NO_MARKS, NO_MARKS)

    def height(self, line: ScreenLine) -> int:
        """Return the number of screen lines that a line takes."""
        if not self.wrapped or line.kind is LineKind.FOLD:
            return 1
        row = self.page.rows[line.row]
        sides = (False, True) if line.kind is LineKind.BOTH else (line.kind is LineKind.RIGHT,)
        parts = [len(wrap_starts(self.text(row, side), self.columns.room(side))) for side in sides]
        return min(max(parts), self.tallest)

    def paint(self, line: ScreenLine, at_cursor: bool, part: int = 0) -> list[Segment]:
        """Draws a part of a screen line."""
        width = self.columns.width
        if line.kind is LineKind.FOLD:
            style = self.styles.style("row--cursor" if at_cursor else "row--fold")
            text = f"··· {pluralize(line.folded, 'equal line')} ···".center(width)
            return fitted([Segment(text, style)], width, style)
        row = self.page.rows[line.row]
        left, right = self._halves(row)
        if line.kind is not LineKind.BOTH:
            return self._unified(row, left, right, line.kind is LineKind.RIGHT, at_cursor, part)
        if self.page.right is None:
            return self._side(row, left, False, at_cursor, part)
        rule = Segment("│", self.base + self.styles.ink("dim"))
        return [
            *self._side(row, left, False, at_cursor, part),
            rule,
            *self._side(row, right, True, at_cursor, part),
        ]

    def texts(self, row: Row) -> tuple[str, str]:
        """Return the lines of both sides of a row, as they are drawn; "" for a side that has none.

        Of lines that do not fit, the head and the first match or change are drawn; of two layouts, only the
        fields that differ.
        """
        left, right = self.text(row, False), self.text(row, True)
        rooms = self.columns.room(False), self.columns.room(True)
        if self.full or self.wrapped or (len(left) <= rooms[0] and len(right) <= rooms[1]):
            return left, right
        is_changed = bool(row.change) and row.left is not None and row.right is not None
        if is_changed and not self.page.raw:
            left, right = elided_layouts(left, right)
        spans: Sequence[Span | None] = (None, None)
        if self.query:
            spans = [next(iter(occurrences(text, self.query, 0, len(text))), None) for text in (left, right)]
        if is_changed and not any(spans):
            spans = first_change(left, right, self.page.raw) or spans
        left, right = (
            elided(text, span, room) if span else text
            for text, span, room in zip((left, right), spans, rooms, strict=True)
        )
        return left, right

    def text(self, row: Row, right: bool) -> str:
        """Return the line of one side of a row."""
        text = self.page.text(row, right) or ""
        side = self.page.right if right else self.page.left
        if side is not None and side.language and not (self.located or self.page.raw):
            language = Language.named(side.language)
            text = language.strip_location(text)
            if language.registers is not None:  # machine code: instructions are not nested
                start = content_span(text)[0]
                text = " " * bool(start) + text[start:]
        return display_line(text)

    def _halves(self, row: Row) -> tuple[_Half | None, _Half | None]:
        """Both sides of a row. Differences are found only up to the edge of the screen: lines can be long."""
        left, right = self.texts(row)
        start = 0 if self.wrapped else self.x
        ours: Sequence[Span] = ()
        theirs: Sequence[Span] = ()
        if row.change and row.left is not None and row.right is not None:
            end = start + self.columns.width * (self.tallest if self.wrapped else 1)
            ours, theirs = line_spans(left[:end], right[:end], self.page.raw)
        return (
            None if row.left is None else _Half(self.page.left, row.left, False, left, ours, start),
            None if row.right is None or self.page.right is None
            else _Half(self.page.right, row.right, True, right, theirs, start),
        )  # fmt: skip

    def _side(self, row: Row, half: _Half | None, right: bool, at_cursor: bool, part: int) -> list[Segment]:
        """Draws one of two columns."""
        if half is None:
            base = self.styles.style("row--cursor") if at_cursor else self.base
            return [Segment(_ABSENT * self.columns.width_of(right), base + self.styles.ink("row--absent"))]
        return self._line(half, half.number, f"{row.change.mark} ", row.change, at_cursor, part)

    def _unified(
        self, row: Row, left: _Half | None, right: _Half | None, at_right: bool, at_cursor: bool, part: int
    ) -> list[Segment]:
        """Draws the only column: both line numbers, the mark, and the line of one side."""
        drawn_half = (right or left) if at_right else left  # a label that only A has counts as equal
        if drawn_half is None:
            return []
        numbers = ""
        for half, side in ((left, self.page.left), (right, self.page.right)):
            has_number = half is not None and (half is drawn_half or not row.change)
            numbers += half.number if half and has_number else " " * (1 + (side.number_width if side else 0))
        return self._line(
            drawn_half, numbers, _unified_mark(row.change, at_right), row.change, at_cursor, part
        )

    def _line(
        self, half: _Half, numbers: str, mark: str, change: Change, at_cursor: bool, part: int
    ) -> list[Segment]:
        base = self.styles.style("row--cursor") if at_cursor else self._tinted(change, half.right)
        room, width = self.columns.room(half.right), self.columns.width_of(half.right)
        span = self._part(half, room, part)
        if span is None:
            return fitted([], width, base)
        start, text = span[0], half.text[: span[1]] if self.wrapped else half.text
        marks = [
            (half.spans, "span--right" if half.right else "span--left"),
            (occurrences(text, self.query, start, room), "match"),
        ]
        segments = [
            *self._gutter(half, numbers, mark, base, part),
            *self._python(half, base, part),
            *code(text, half.side.language, start, room, base, self.styles, marks, self.wrapped),
        ]
        if self.columns.gauge:
            pressure = self.marks[half.right].pressure
            segments += minimap.segments(pressure, half.line, at_cursor, base, self.styles, part)
        # The parts take the whole width, unless there is no room for the text.
        return segments if room > 1 else fitted(segments, width, base)

    def _gutter(self, half: _Half, numbers: str, mark: str, base: Style, part: int) -> list[Segment]:
        """Draw the line number, whether the line is in the hot loop, and the mark."""
        highlighted = half.line in self.highlighted[half.right]
        ink = base + self.styles.ink("number--highlighted" if highlighted else "number")
        if part:
            numbers, mark = " " * len(numbers), f"{CONTINUED:<{len(mark)}}"
        hot = is_hot(self.marks[half.right], half.line)
        gutter = base + self.styles.ink("gutter")
        if hot:
            return [
                Segment(numbers, ink),
                Segment(_HOT, base + self.styles.ink("hot")),
                Segment(mark, gutter),
            ]
        # A blank mark needs no style of its own: one escape sequence less to send for most lines.
        if mark.isspace():
            return [Segment(f"{numbers} {mark}", ink)]
        return [Segment(f"{numbers} ", ink), Segment(mark, gutter)]

    def _python(self, half: _Half, base: Style, part: int) -> list[Segment]:
        """Draw the line of Python that a line comes from, its share, and how often the line runs.

        `py90 48% x64`
        """
        if not self.columns.python:
            return []
        marks = self.marks[half.right]
        line = None if part else marks.python.get(half.line)
        text = f"py{line}" if line else ""
        if line and self.columns.shares:
            share, runs = marks.shares.get(line), marks.runs.get(half.line)
            text = f"{text:<{self.columns.python - SHARES}}"
            text += f"{share:>4.0%}" if share else "    "
            text += f" x{runs:<5,}" if runs else " loop  " if runs == 0 else ""
        return [Segment(f"{text:<{self.columns.python}}", base + self.styles.ink("number"))]

    def _part(self, half: _Half, room: int, part: int) -> Span | None:
        """Return the first character of a part of a line and the one after the last.

        Return None if the line has fewer parts.
        """
        if not self.wrapped:
            return half.start, len(half.text)
        starts = wrap_starts(half.text, room)
        # A line that is taller than the panel scrolls with `x`.
        part += min(self.x // room, max(len(starts) - self.tallest, 0))
        if part >= len(starts):
            return None
        return starts[part], starts[part + 1] if part + 1 < len(starts) else len(half.text)

    def _tinted(self, change: Change, right: bool) -> Style:
        """Return the background of a row; real changes, which are few, are tinted."""
        if change.mark in _TINTS:
            return self.styles.style(_TINTS[change.mark])
        if change.structural:
            return self.styles.style("row--changed-right" if right else "row--changed-left")
        return self.base


def _unified_mark(change: Change, right: bool) -> str:
    """Return `~A` and `~B` for the two lines of a changed row; else + - or a blank."""
    if change.mark != "~":
        return f"{change.mark}  "
    return "~B " if right else "~A "


DETAIL_STYLES = ("detail", "detail--label")
# A hostile line can have thousands of changes; more do not fit any screen.
_MOST = 200

# A piece of text and the style class that is added to the detail line's own; "" for none.
Piece = tuple[str, str]
# Between two changes.
GAP: Piece = ("   ", "")


def pieces(page: Page, row: Row, left: str, right: str) -> Iterator[Piece]:
    """Yield the change of a row, whose lines are `left` and `right`; nothing for equal lines."""
    change = row.change
    if not page.compared or not change:
        return
    if change & Change.MOVED:
        side = "B" if row.left is None else "A"
        yield f"moved: this is its place in {side}  ", "detail--label"
        yield _content(right or left), "span--right" if row.left is None else "span--left"
    elif row.right is None:
        yield "- only in A  ", "detail--label"
        yield _content(left), "span--left"
    elif row.left is None:
        yield "+ only in B  ", "detail--label"
        yield _content(right), "span--right"
    else:
        yield from _changed(page, row, left, right)


def _content(text: str) -> str:
    """Return a line without its indentation and address, and with single blanks."""
    return " ".join(text[slice(*content_span(text))].split())


def _changed(page: Page, row: Row, left: str, right: str) -> Iterator[Piece]:
    changes = line_changes(left, right, page.raw)[:_MOST]
    if changes:
        yield from _each(changes)
    elif row.change & Change.LAYOUT and (layouts := _layouts(page, left, right)):
        yield "same text, other layout  ", "detail--label"
        yield from _each(layouts)
    elif page.operands and (operands := page.operands.of_row(row)):
        yield "same text, other constant  ", "detail--label"
        yield operands, "span--right"
    elif row.change & Change.OPERANDS:
        yield "same text, but an operand is the result of another operation", "detail--label"
    else:
        yield "only names or locations differ", "detail--label"


def _each(changes: Iterable[LineChange]) -> Iterator[Piece]:
    for number, change in enumerate(changes):
        if number:
            yield GAP
        if change.label:
            yield f"{change.label}: ", "detail--label"
        yield change.before or "nothing", "span--left" if change.before else ""
        yield " → ", ""
        yield change.after or "nothing", "span--right" if change.after else ""


def _layouts(page: Page, left: str, right: str) -> Sequence[LineChange]:
    """Return the fields that differ of the layouts in two lines."""
    return [
        LineChange(f"{layout.left.alias} {name}", before, after)
        for layout in page.layouts
        if layout.left and layout.right and layout.left.alias in left and layout.right.alias in right
        for name, before, after in layout.fields
    ]


def notes(marks: tuple[LineMarks, LineMarks], row: Row, compared: bool) -> Iterator[Piece]:
    """Yield the registers that are occupied at the lines of a row."""
    sides = zip("AB" if compared else ("", ""), marks, (row.left, row.right), strict=True)
    counts = [
        f"{letter} {_count(side_marks.pressure, line)}".strip()
        for letter, side_marks, line in sides
        if line is not None and side_marks.pressure and line in side_marks.pressure.by_line
    ]
    if counts:
        yield f"live registers: {', '.join(counts)}", "detail--label"


def _count(pressure: Pressure, line: int) -> str:
    """`112 of 120 (most 118, line 724)`; the registers of PTX are virtual."""
    most = pressure.by_line.get(pressure.peak_line, 0)
    allocated = (
        f" of {pressure.allocated}" if pressure.allocated is not None and not pressure.estimate else ""
    )
    where = "the most" if line == pressure.peak_line else f"most {most:.0f}, line {pressure.peak_line + 1}"
    return f"{pressure.by_line[line]:.0f}{allocated} ({where})"


def rows(found: Iterable[Piece], width: int, base: Style, styles: Styles) -> list[list[Segment]]:
    """Lay the pieces out on screen lines of at most `width` cells; split a piece that is longer."""
    lines: list[list[Segment]] = [[]]
    free = width
    for text, name in found:
        style = base + styles.ink(name) if name else base
        if cell_len(text) > free < width and cell_len(text) <= width:
            lines.append([])
            free = width
            text = text.lstrip()  # noqa: PLW2901  a gap is not needed at the start of a line
        while text:
            starts = wrap_starts(text, free) if free else (0, 0)
            end = starts[1] if len(starts) > 1 else len(text)
            if end:
                lines[-1].append(Segment(text[:end], style))
                free -= cell_len(text[:end])
            text = text[end:]  # noqa: PLW2901
            if text:
                lines.append([])
                free = width
    return lines
