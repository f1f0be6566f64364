"""The comparison table as Markdown: every column, regardless of width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.model.text import code, markdown_escaped
from irscope.workspace import FactColumn, TableCell, TableEntry, TableView


def table_markdown(view: TableView) -> Iterator[str]:
    """The lines of a section as a GitHub table with bold best values."""
    heading = ["#", *(code(column.name) for column in view.configs)]
    heading += [*(column.kind.title for column in view.facts), "note"]
    yield from (
        f"### {code(view.section.kernel)} {view.section.target}",
        "",
        *([markdown_escaped(view.section.origin), ""] if view.section.origin else ()),
        _row(heading),
        _row(["---"] * len(heading)),
    )
    for index, entry in enumerate(view.entries):
        cells = [code(f"#{entry.variant.id}")]  # GitHub would link a bare #1 to an issue
        cells += [code(cell.text) if cell.text else "" for cell in (c.cells[index] for c in view.configs)]
        cells += [_fact(column, column.cells[index]) for column in view.facts]
        yield _row([*cells, _note(entry)])


def _fact(column: FactColumn, cell: TableCell) -> str:
    text = code(cell.text) if cell.text and cell.value is not None and not column.numeric else cell.text
    return f"**{text}**" if cell.best else text


def _note(entry: TableEntry) -> str:
    if entry.problem:
        return code(entry.problem)
    return f"code of {code(f'#{entry.duplicate_of}')}" if entry.duplicate_of is not None else ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
