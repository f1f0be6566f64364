"""What a subject says, before any format: lines with roles, tables, folded lists, and diffs of stages.

A subject yields blocks; `terminal.document_text`, `markdown.document_markdown` and `html.document_html`
lay every document out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from irscope.model import Variant
from irscope.model.records import frozen
from irscope.model.text import one_line, pluralize

if TYPE_CHECKING:
    from irscope.workspace import StageDiff, StageLine

# "heading", "dim", "warning", "best": what a text is, which each format shows in its own way. "": a text.
Role = str
Text = str | Sequence[tuple[str, Role]]


@frozen
class Line:
    """A title, or a sentence of a list.

    `level` is its indentation: 0 for titles and paragraphs. `gap`: it begins a part. A line that is longer
    than the page goes on as it is, or is "cut" or "wrapped". `target` is the line of a stage that
    it is about.
    """

    text: Text
    level: int = 0
    number: int | None = None
    gap: bool = False
    fit: Literal["", "cut", "wrapped"] = ""
    target: StageLine | None = None

    @property
    def pieces(self) -> Sequence[tuple[str, Role]]:
        """Return the text in pieces, each with its role."""
        return [(self.text, "")] if isinstance(self.text, str) else self.text


@frozen
class VariantName:
    """The name of a variant, kernel and target that a document is about; `letter` is A or B in a pair."""

    name: str
    kernel: str
    target: str
    letter: str = ""
    gap: bool = False


@dataclass(frozen=True)
class Column:
    """A column: its heading, which may have several lines, and a cell per row.

    `best` has the rows whose cell is the best. A column that is `optional`, which is its name in full, may be
    left out for lack of width; those shown `together` are left out together.
    """

    heading: str
    cells: Sequence[str]
    right: bool = False
    least: int = 0
    best: frozenset[int] = frozenset()
    optional: str = ""
    together: bool = False

    @cached_property
    def headings(self) -> list[str]:
        """Return the lines of the heading."""
        return self.heading.split("\n")

    @cached_property
    def width(self) -> int:
        """Return the width in columns of a terminal, with room for the mark of the best."""
        from rich.cells import cell_len  # most documents have no table

        cells = max((cell_len(one_line(cell)) for cell in set(self.cells)), default=0)
        return max(self.least, cells + bool(self.best), *map(cell_len, self.headings))

    @cached_property
    def texts(self) -> dict[str, str]:
        """Return the padded text of each distinct cell that is not the best."""
        # Room for the mark after every number, so that the digits are aligned.
        room = " " if self.best else ""
        return {cell: self.padded(one_line(cell) + room) for cell in set(self.cells)}

    def padded(self, text: str) -> str:
        """Pad a text to the width of the column."""
        from rich.cells import cell_len

        blanks = " " * (self.width - cell_len(text))
        return blanks + text if self.right else text + blanks


@dataclass(frozen=True)
class Table:
    """Columns of equal length; `roles` are those of the first rows, "" for none.

    `ruled`: a line is below the headings. `notes` are lines below the table.
    """

    columns: Sequence[Column]
    level: int = 0
    ruled: bool = False
    roles: Sequence[Role] = ()
    gap: bool = False
    notes: Iterable[str] = ()

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[Sequence[str]],
        headings: Sequence[str],
        align: str,
        least: Sequence[int] = (),
        level: int = 0,
        roles: Sequence[Role] = (),
        gap: bool = False,
    ) -> Table:
        """Return a table with these rows.

        `align` has a letter per column, "<" or ">"; `least` are the least widths of the first columns.
        """
        columns = []
        for index, side in enumerate(align):
            heading = headings[index] if headings else ""
            width = least[index] if index < len(least) else 0
            columns.append(Column(heading, [row[index] for row in rows], side == ">", width))
        return cls(columns, level, roles=roles, gap=gap)


@frozen
class Code:
    """Lines of Python, to paste."""

    lines: Sequence[str]
    gap: bool = True


@frozen
class Folded:
    """Numbered sentences, of which only the first `shown` are shown; `option` of the command shows all."""

    texts: Sequence[str]
    shown: int
    noun: str
    option: str
    gap: bool = False

    @property
    def more(self) -> str:
        """Return how many are not shown; "" if all are."""
        number = len(self.texts) - self.shown
        return pluralize(number, f"more {self.noun}") if number > 0 else ""


@frozen
class StageDiffs:
    """The changed rows of stages, with `context` equal rows around each change.

    `most` is how many rows are shown; None for all. `headed`: each stage has a heading, with how many
    instructions its source lines became.
    """

    diffs: Sequence[StageDiff]
    context: int
    most: int | None = None
    headed: bool = True
    gap: bool = False


Block = Line | VariantName | Table | Code | Folded | StageDiffs
Document = Iterable[Block]


def title(text: str, rest: str = "") -> Line:
    """Return the line that begins a part; `rest` follows the title."""
    return Line([(text, "heading"), *([(f"  {rest}", "")] if rest else [])], gap=True)


def variant_name(variant: Variant, name: str, letter: str = "") -> VariantName:
    """Return the name of a variant for the top of a document."""
    return VariantName(
        f"#{variant.id} {name}", variant.kernel.name, str(variant.target), letter, gap=not letter
    )
