"""Documents on a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from irscope.document.document import Code, Column, DiffRows, Document, Line, Table, VariantName
from irscope.document.terminal.row_text import rows_text
from irscope.document.terminal.styles import PLAIN, Paint
from irscope.model.text import clipped, one_line

GAP = "  "
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
                name = f"{block.name}{GAP}{block.kernel}{GAP}{block.target}"
                yield (paint(block.letter, "heading") + GAP if block.letter else "") + one_line(name)
            case Table():
                yield from table_lines(block, width, paint)
            case Code():
                yield from map(one_line, block.lines)
            case DiffRows():
                yield from rows_text(block.diff, width, block.context, paint)


def _line(line: Line, width: int | None, paint: Paint) -> Iterator[str]:
    lead = _INDENT * line.level + ("" if line.number is None else f"{line.number}. ")
    pieces = line.pieces
    if line.fit == "wrapped":
        text = one_line("".join(piece for piece, _ in pieces))
        yield from textwrap.wrap(text, min(width or _MAX_WRAPPED, _MAX_WRAPPED))
    elif line.fit == "cut" and width is not None:
        text = one_line(lead + "".join(piece for piece, _ in pieces))
        yield paint(clipped(text, width), pieces[0][1])
    else:
        yield lead + "".join(paint(one_line(piece), role) for piece, role in pieces)


def table_lines(table: Table, width: int | None, paint: Paint) -> Iterator[str]:
    """Yield the headings, aligned at the bottom, and a line per row."""
    lead = _INDENT * table.level
    columns = list(table.columns)
    if table.ruled and width is not None and table_width(columns) > width:
        columns.pop()
    height = max(len(column.headings) for column in columns) if any(c.heading for c in columns) else 0
    for line in range(height):
        texts = [
            column.padded(["", *column.headings][max(0, 1 + line - height + len(column.headings))])
            for column in columns
        ]
        heading = (lead + GAP.join(texts)).rstrip()
        yield heading if table.ruled else paint(_cut(heading, width), "heading")
    if table.ruled:
        yield "\u2500" * min(table_width(columns), width or table_width(columns))
    for row in range(len(columns[0].cells)):
        role = table.roles[row] if row < len(table.roles) else ""
        if any(column.best for column in columns):
            yield GAP.join(_marked(column, row, role, paint) for column in columns).rstrip()
        else:
            text = (lead + GAP.join(column.texts[column.cells[row]] for column in columns)).rstrip()
            yield paint(text if table.ruled else _cut(text, width), role)


def table_width(columns: Sequence[Column]) -> int:
    """Return the width of a table with these columns."""
    return sum(column.width + len(GAP) for column in columns) - len(GAP)


def _marked(column: Column, row: int, role: str, paint: Paint) -> str:
    return paint(column.texts[column.cells[row]], "best" if row in column.best else role)


def _cut(text: str, width: int | None) -> str:
    return text if width is None else clipped(text, width).rstrip()
