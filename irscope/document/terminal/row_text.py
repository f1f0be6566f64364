"""The aligned rows of a stage as text: one below the other, or side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from rich.cells import cell_len

from irscope.document.terminal.styles import PLAIN, Paint, spans_to_pieces
from irscope.model.text import pluralize
from irscope.workspace import Change, OperandNotes, RowSide, StageDiff
from irscope.workspace.diff_rows import (
    Hunk,
    Span,
    count_changes,
    counts_text,
    hunk_range,
    hunks,
    reads_differently,
    row_sides,
    rows_in_place,
)

# Carets below a longer line do not help.
_MAX_CARETS = 400
_ELLIPSIS = "\u2026"
_EMPTY = RowSide(0, "", ())
# In half of a narrower terminal, a line of IR does not fit.
SIDE_BY_SIDE_WIDTH = 140


def rows_text(diff: StageDiff, width: int | None, context: int, paint: Paint) -> Iterator[str]:
    """Yield the rows side by side if `width` allows it, otherwise one below the other."""
    if width is not None and width >= SIDE_BY_SIDE_WIDTH:
        yield from side_by_side(diff, context, width, paint)
    else:
        yield from unified(diff, context, paint)


def unified(diff: StageDiff, context: int, paint: Paint = PLAIN, strict: bool = False) -> Iterator[str]:
    """Yield the lines of a unified diff: a changed pair is `-` and `+`; no line is cut.

    It is for reading, not for `patch`: rows that differ only in names or locations are equal and
    appear as on the left. `~` marks a row whose text is equal but whose layout changed, `>` a
    moved operation, at its old and its new position. Carets below a pair mark what changed if
    `paint` cannot, and a line names the constants that changed if the texts do not show them.
    `strict` omits all of these, for tools.
    """
    notes = OperandNotes(diff)
    for hunk in hunks(rows_in_place(diff), context, partial(reads_differently, diff)):
        if hunk.rows:
            ranges = f"-{hunk_range(hunk.rows, True)} +{hunk_range(hunk.rows, False)}"
            yield paint(f"@@ {ranges} @@ {counts_text(count_changes(hunk.rows))}", "dim")
        for row in hunk.rows:
            left, right = row_sides(diff, row)
            if row.change & Change.MOVED and not strict:
                yield f"{row.change.mark}{(left or right or _EMPTY).text}"
            elif reads_differently(diff, row):
                yield from _pair(left, right, paint, carets=not strict and not paint.attributes)
                if not strict and not _marks_something(left, right) and (note := notes.of_row(row)):
                    yield paint(f"?{_indentation(left)}{note}", "dim")
            else:
                mark = " " if strict else row.change.mark
                yield f"{mark}{(left or right or _EMPTY).text}"


def side_by_side(diff: StageDiff, context: int, width: int, paint: Paint = PLAIN) -> Iterator[str]:
    """Yield the lines of a view in two columns, `width` characters wide in total.

    A line that does not fit is cut so that its first change is visible.
    """
    notes = OperandNotes(diff)
    digits = len(str(max(len(diff.left.lines), len(diff.right.lines))))
    column = (width - 3) // 2
    room = column - digits - 3
    for hunk in hunks(rows_in_place(diff), context, partial(reads_differently, diff)):
        if hunk.folded:
            yield paint(_fold(hunk, width), "dim")
        for row in hunk.rows:
            left, right = row_sides(diff, row)
            differs = reads_differently(diff, row) and not row.change & Change.MOVED
            halves = (
                _cell(left, "-" if differs else row.change.mark, "removed", digits, room, paint),
                _cell(right, "+" if differs else row.change.mark, "added", digits, room, paint),
            )
            yield " \u2502 ".join(halves).rstrip()
            if differs and not _marks_something(left, right) and (note := notes.of_row(row)):
                yield paint(f"{' ' * (digits + 3)}{note}"[:width], "dim")


def _fold(hunk: Hunk, width: int) -> str:
    count = f" {pluralize(hunk.folded, 'more line')} "
    return count.center(width, "\u2500")


def _pair(left: RowSide | None, right: RowSide | None, paint: Paint, carets: bool) -> Iterator[str]:
    if left is not None:
        yield paint("-", "removed") + _painted(left, "removed", paint)
    if right is not None:
        yield paint("+", "added") + _painted(right, "added", paint)
        if carets and right.spans and len(right.text) <= _MAX_CARETS:
            yield f"?{_carets(right.spans)}"


def _marks_something(left: RowSide | None, right: RowSide | None) -> bool:
    return any(side.spans for side in (left, right) if side is not None)


def _indentation(side: RowSide | None) -> str:
    text = side.text if side else ""
    return text[: len(text) - len(text.lstrip())]


def _painted(side: RowSide, style: str, paint: Paint) -> str:
    return "".join(paint(text, style, piece) for text, piece in spans_to_pieces(side.text, side.spans))


def _carets(spans: Sequence[Span]) -> str:
    marks = [" "] * spans[-1][1]
    for start, end in spans:
        marks[start:end] = "^" * (end - start)
    return "".join(marks)


def _cell(side: RowSide | None, mark: str, style: str, digits: int, room: int, paint: Paint) -> str:
    """Return one column of a row: number, sign and text, exactly digits + 3 + room characters."""
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
    """Return the `room` characters of a side's text to show, and the spans in them.

    They are the beginning of the text, then, if the first change is further right, the text around
    that change.
    """
    text = side.text
    if len(text) <= room:
        return text, side.spans
    first = side.spans[0][0] if side.spans else 0
    head = room // 4
    # Characters left out after the head, so that the change is in the middle.
    skipped = 0 if first < room - 8 else min(first - room // 2, len(text) - room)
    end = min(room + skipped, len(text))
    tail = text[head + skipped : end]
    visible = text[:head] + (_ELLIPSIS + tail[1:] if skipped else tail)
    if end < len(text):
        visible = visible[:-1] + _ELLIPSIS
    moved = [(max(a - skipped, 0), min(b - skipped, room)) for a, b in side.spans]
    return visible, tuple((a, b) for a, b in moved if (head if skipped else -1) < a < b)
