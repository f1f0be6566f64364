"""Documents on a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from irscope.document.blocks import Code, Column, Document, Folded, Line, StageDiffs, Table, VariantName
from irscope.document.terminal.styles import PLAIN, Paint
from irscope.model.text import clipped, one_line

_GAP = "  "
_BEST = "*"
_INDENT = "  "
# Longer lines are tiring to read, even if the terminal is wider.
_MAX_WRAPPED = 100


def text_lines(document: Document, width: int | None = None, paint: Paint = PLAIN) -> Iterator[str]:
    """Yield the lines of a document, `width` columns wide (None: a pipe, nothing is cut)."""
    for index, block in enumerate(document):
        if block.gap and index:
            yield ""
        match block:
            case Line():
                yield from _line(block, width, paint)
            case VariantName():
                name = f"{block.name}{_GAP}{block.kernel}{_GAP}{block.target}"
                yield (paint(block.letter, "heading") + _GAP if block.letter else "") + one_line(name)
            case Table():
                yield from _table(block, width, paint)
            case Code():
                yield from map(one_line, block.lines)
            case Folded():
                for number, text in enumerate(block.texts[: block.shown], 1):
                    yield one_line(f"{number:>3}. {text}")
                if block.more:
                    yield paint(f"     {block.more}: {block.option}", "dim")
            case StageDiffs():
                from irscope.document.terminal.stage_text import stages_text  # most documents have none

                yield from stages_text(block, width, paint)


def _line(line: Line, width: int | None, paint: Paint) -> Iterator[str]:
    lead = _INDENT * line.level + ("" if line.number is None else f"{line.number}. ")
    pieces = line.pieces
    if line.fit == "wrapped":
        text = one_line("".join(piece for piece, _ in pieces))
        later = " " * len(lead) + _INDENT * bool(lead)
        yield from textwrap.wrap(
            text, min(width or _MAX_WRAPPED, _MAX_WRAPPED), initial_indent=lead, subsequent_indent=later
        )
    elif line.fit == "cut" and width is not None:
        text = one_line(lead + "".join(piece for piece, _ in pieces))
        yield paint(clipped(text, width), pieces[0][1])
    else:
        yield lead + "".join(paint(one_line(piece), role) for piece, role in pieces)


def _table(table: Table, width: int | None, paint: Paint) -> Iterator[str]:
    """Yield the headings, aligned at the bottom, a line per row, and the notes."""
    lead = _INDENT * table.level
    columns = list(table.columns) if width is None else _fitting(table.columns, width)
    height = max(len(column.headings) for column in columns) if any(c.heading for c in columns) else 0
    for line in range(height):
        texts = [
            column.padded(["", *column.headings][max(0, 1 + line - height + len(column.headings))])
            for column in columns
        ]
        heading = (lead + _GAP.join(texts)).rstrip()
        yield heading if table.ruled else paint(_cut(heading, width), "heading")
    if table.ruled:
        yield "\u2500" * min(_total(columns), width or _total(columns))
    marked = any(column.best for column in table.columns)
    for row in range(len(columns[0].cells)):
        role = table.roles[row] if row < len(table.roles) else ""
        if marked:
            yield _GAP.join(_cell(column, row, role, paint) for column in columns).rstrip()
        else:
            text = (lead + _GAP.join(column.texts[column.cells[row]] for column in columns)).rstrip()
            yield paint(text if table.ruled else _cut(text, width), role)
    if any(column.best for column in columns):
        yield f"{_BEST} best among the variants that can launch"
    yield from map(one_line, table.notes)
    if omitted := [column.optional for column in table.columns if column.optional and column not in columns]:
        some = ", ".join(omitted[:3]) + (f" and {len(omitted) - 3} more" if len(omitted) > 3 else "")
        yield f"omitted to fit the width: {some}"
        yield "(use a wider terminal, a pipe or --columns)"


def _cell(column: Column, row: int, role: str, paint: Paint) -> str:
    cell = column.cells[row]
    if row in column.best:
        return paint(column.padded(f"{one_line(cell)}{_BEST}"), "best")
    return paint(column.texts[cell], role)


def _fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """Return the columns that fit, in order.

    Optional columns that do not vary are omitted first, then the last ones.
    """
    fitting = list(columns)
    while _total(fitting) > width and (optional := [c for c in fitting if c.optional]):
        constant = [c for c in optional if len(set(c.cells)) == 1 and not c.together]
        omitted = (constant or optional)[-1]
        fitting = [c for c in fitting if c is not omitted and not (omitted.together and c.together)]
    return fitting


def _total(columns: Sequence[Column]) -> int:
    return sum(column.width + len(_GAP) for column in columns) - len(_GAP)


def _cut(text: str, width: int | None) -> str:
    return text if width is None else clipped(text, width).rstrip()
