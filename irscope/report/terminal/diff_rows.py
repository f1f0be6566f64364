"""The aligned rows of a stage as text: one below the other, or side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from rich.cells import cell_len

from irscope.diff.rows import Change, Row, StageDiff
from irscope.diff.tokens import changed_spans
from irscope.languages.document import Document
from irscope.languages.registry import line_without_location
from irscope.model.text import one_line
from irscope.report.hunks import Hunk, Span, counted_kinds, hunks, place
from irscope.report.terminal.paint import PLAIN, Paint, spans_to_pieces

# Under a longer line a row of carets is no help.
_MAX_CARETS = 400
TAB = "    "
CUT = "\u2026"


@dataclass(frozen=True, slots=True)
class RowSide:
    """One side of a row as it is shown: its number from 1, its text made printable, what changed in it."""

    number: int
    text: str
    spans: tuple[Span, ...]


def unified(diff: StageDiff, context: int, paint: Paint = PLAIN, strict: bool = False) -> Iterator[str]:
    """The lines of a unified view: a pair that changed is `-` and `+`, whole lines, nothing cut.

    It is to be read, not applied: rows that differ only in names or locations are equal, and show as
    the left side has them. `~` leads a row that reads the same but carries a changed layout, and carets
    below a pair mark what changed in it where `paint` cannot; `strict` leaves both out, for tools.
    """
    for hunk in hunks(diff.rows, context, partial(reads_differently, diff)):
        if hunk.rows:
            kinds = counted_kinds(hunk.rows)
            yield paint(f"@@ -{place(hunk.rows, True)} +{place(hunk.rows, False)} @@ {kinds}", "dim")
        for row in hunk.rows:
            left, right = sides(diff, row)
            if reads_differently(diff, row):
                yield from _pair(left, right, paint, carets=not strict and not paint.attributes)
            else:
                mark = " " if strict else row.change.mark
                yield f"{mark}{(left or right or _NOTHING).text}"


def reads_differently(diff: StageDiff, row: Row) -> bool:
    """Whether a row is one to look at: not equal, and not only through what a layout's name stands for."""
    if row.change is not Change.LAYOUT or row.left is None or row.right is None:
        return bool(row.change)
    left, right = changed_spans(diff.left.lines[row.left], diff.right.lines[row.right])
    return bool(left or right)


def side_by_side(diff: StageDiff, context: int, width: int, paint: Paint = PLAIN) -> Iterator[str]:
    """The lines of a view in two columns, `width` characters wide in all.

    A line that does not fit is cut, with what changed in it in view.
    """
    digits = len(str(max(len(diff.left.lines), len(diff.right.lines))))
    column = (width - 3) // 2
    room = column - digits - 3
    for hunk in hunks(diff.rows, context, partial(reads_differently, diff)):
        if hunk.folded:
            yield paint(_fold(hunk, width), "dim")
        for row in hunk.rows:
            left, right = sides(diff, row)
            loud = reads_differently(diff, row)
            halves = (
                _cell(left, "-" if loud else row.change.mark, "removed", digits, room, paint),
                _cell(right, "+" if loud else row.change.mark, "added", digits, room, paint),
            )
            yield " \u2502 ".join(halves).rstrip()


def sides(diff: StageDiff, row: Row) -> tuple[RowSide | None, RowSide | None]:
    """The two sides of a row; a changed pair with the spans in which its texts differ."""
    left = None if row.left is None else _shown(diff.left, row.left)
    right = None if row.right is None else _shown(diff.right, row.right)
    spans: tuple[Sequence[Span], Sequence[Span]] = ((), ())
    if left is not None and right is not None and row.change is not Change.EQUAL:
        spans = changed_spans(left, right)
    return (
        None if row.left is None or left is None else RowSide(row.left + 1, left, tuple(spans[0])),
        None if row.right is None or right is None else RowSide(row.right + 1, right, tuple(spans[1])),
    )


_NOTHING = RowSide(0, "", ())


def _shown(document: Document, line: int) -> str:
    # Locations carry no meaning here, and are half of what some lines say.
    text = line_without_location(document.lines[line], document.language)
    return one_line(text.expandtabs(len(TAB)))


def _fold(hunk: Hunk, width: int) -> str:
    count = f" {hunk.folded} more line{'s' if hunk.folded != 1 else ''} "
    return count.center(width, "\u2500")


def _pair(left: RowSide | None, right: RowSide | None, paint: Paint, carets: bool) -> Iterator[str]:
    if left is not None:
        yield paint("-", "removed") + _painted(left, "removed", paint)
    if right is not None:
        yield paint("+", "added") + _painted(right, "added", paint)
        if carets and right.spans and len(right.text) <= _MAX_CARETS:
            yield f"?{_carets(right.spans)}"


def _painted(side: RowSide, style: str, paint: Paint) -> str:
    return "".join(paint(text, style, piece) for text, piece in spans_to_pieces(side.text, side.spans))


def _carets(spans: Sequence[Span]) -> str:
    marks = [" "] * spans[-1][1]
    for start, end in spans:
        marks[start:end] = "^" * (end - start)
    return "".join(marks)


def _cell(side: RowSide | None, mark: str, style: str, digits: int, room: int, paint: Paint) -> str:
    """One column of a row: number, sign, text; exactly digits + 3 + room characters."""
    if side is None:
        return " " * (digits + 3 + room)
    text, spans = _window(side, room)
    changed = mark in "+-"
    if changed and not paint.attributes:
        spans = ()
    body = "".join(
        paint(piece, style if changed else "", kind) for piece, kind in spans_to_pieces(text, spans)
    )
    number = paint(f"{side.number:>{digits}}", "dim")
    sign = paint(mark, style) if changed else mark
    return f"{number} {sign} {body}{' ' * max(0, room - cell_len(text))}"


def _window(side: RowSide, room: int) -> tuple[str, tuple[Span, ...]]:
    """The `room` characters of a side's text to show, and the spans in them.

    Its beginning, which says what the line is about, and where the first change is not in that, a
    stretch from shortly before it.
    """
    text = side.text
    if len(text) <= room:
        return text, side.spans
    first = side.spans[0][0] if side.spans else 0
    head = room // 4
    # Characters left out behind the head, so that the change stands in the middle of what is shown.
    skipped = 0 if first < room - 8 else min(first - room // 2, len(text) - room)
    end = min(room + skipped, len(text))
    tail = text[head + skipped : end]
    shown = text[:head] + (CUT + tail[1:] if skipped else tail)
    if end < len(text):
        shown = shown[:-1] + CUT
    moved = [(max(a - skipped, 0), min(b - skipped, room)) for a, b in side.spans]
    return shown, tuple((a, b) for a, b in moved if (head if skipped else -1) < a < b)
