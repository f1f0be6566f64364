"""A panel that shows a document, as the terminal and the other formats do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

from irscope.document.blocks import Line, Table
from irscope.model.text import display_line
from irscope.tui.widgets.line_view import ItemView, Piece
from irscope.workspace import StageLine

_INDENT = 2
# The style class of each role of a text.
_STYLES = {"heading": "line--title"}


class TextRow(NamedTuple):
    """A screen line of a document; `line` is the one that begins here, None where one goes on."""

    pieces: Sequence[Piece]
    line: Line | None = None


class DocumentView(ItemView[TextRow]):
    """Lines of a document, wrapped; those about a line of a stage have an arrow."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"line--title", "line--mark"}

    def __init__(self, heading: str, document: Iterable[Line | Table] = ()) -> None:
        super().__init__(heading)
        self._document = list(document)

    def show_document(self, document: Iterable[Line | Table]) -> None:
        """Show another document."""
        self._document = list(document)
        self._wrap()

    def on_resize(self) -> None:
        """Wrap the lines again."""
        self._wrap()
        super().on_resize()

    def _wrap(self) -> None:
        width = self.scrollable_content_region.width
        rows: list[TextRow] = []
        for block in self._document:
            if block.gap and rows:
                rows.append(TextRow(()))
            rows += self.wrapped(block, width) if isinstance(block, Line) else _table_rows(block, width)
        self.show(rows)

    def wrapped(self, line: Line, width: int) -> Iterator[TextRow]:
        """Yield a line of the document in rows of `width` cells."""
        ((text, role), *_) = line.pieces
        indent = " " if role == "heading" else " " * (max(_INDENT * line.level, 1) + _INDENT)
        start = f"{indent[:-_INDENT]}→ " if line.target else indent
        room = max(width - len(indent) - 1, 20)
        parts = textwrap.wrap(display_line(text), room, break_on_hyphens=False)
        for number, part in enumerate(parts or [""]):
            pieces = [(indent if number else start, "line--mark"), (part, _STYLES.get(role, role))]
            yield TextRow(pieces, None if number else line)

    @property
    def target(self) -> StageLine | None:
        """Return the line of a stage that the line under the cursor is about."""
        above = (row.line for row in self.items[self.cursor :: -1] if row.line)
        line = next(above, None)
        return line.target if line else None

    def landmarks(self) -> Sequence[int]:
        """Return the lines with an arrow; without any, the titles."""
        firsts = [(index, row.line) for index, row in enumerate(self.items) if row.line]
        targets = [index for index, line in firsts if line.target]
        return targets or [index for index, line in firsts if line.gap]

    def pieces(self, item: TextRow, index: int, width: int) -> Sequence[Piece]:
        """Return the text of a row."""
        return item.pieces


def _table_rows(table: Table, width: int) -> Iterator[TextRow]:
    """Yield the rows of a table in `width` cells; the first ones have the headings."""
    from irscope.document.terminal.document_text import text_lines  # most documents have no table

    height = max(len(column.headings) for column in table.columns)
    for number, text in enumerate(text_lines([replace(table, gap=False)], width - _INDENT)):
        yield TextRow([(" " * _INDENT + text, "" if number >= height else "line--title")])
