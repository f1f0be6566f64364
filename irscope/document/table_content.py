"""The comparison table, before any format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from irscope.document.blocks import Block, Column, Line, Table, title
from irscope.model.text import one_line, pluralize
from irscope.workspace import FactColumn, TableCell, TableView

# A value that a variant cannot have.
NONE = "-"


def table_content(view: TableView) -> Iterator[Block]:
    """Yield a section: the variants with their configs and facts, the problems, and the duplicates."""
    section = view.section
    yield title(section.title)
    if section.origin:
        yield Line([(section.origin, "dim")], fit="cut")
    columns = [*_lead_columns(view), *map(_fact_column, view.facts)]
    if any(entry.note for entry in view.entries):
        columns.append(Column("note", [entry.note for entry in view.entries]))
    roles = ["dim" if entry.problem else "" for entry in view.entries]
    yield Table(columns, ruled=True, roles=roles, notes=chain(_problems(view), _duplicates(view)))


def _lead_columns(view: TableView) -> Iterator[Column]:
    yield Column("#", [f"#{entry.variant.id}" for entry in view.entries], right=True)
    if not view.identified:
        yield Column("variant", [one_line(entry.name) for entry in view.entries])
        return
    for column in view.configs:
        yield Column(one_line(column.name).replace("_", "_\n"), _texts(column.cells), right=True)


def _fact_column(column: FactColumn) -> Column:
    return Column(
        column.kind.title.replace(" ", "\n"),
        _texts(column.cells),
        column.numeric,
        best=frozenset(index for index, cell in enumerate(column.cells) if cell.best),
        optional=column.kind.name,
        together=column.shown_together,
    )


def _texts(cells: Sequence[TableCell]) -> list[str]:
    """Return the cells as text; equal ones share theirs."""
    shared: dict[str, str] = {}
    return [shared.setdefault(cell.text, one_line(cell.text) or NONE) for cell in cells]


def _problems(view: TableView) -> Iterator[str]:
    return (f"#{entry.variant.id} {entry.problem}" for entry in view.entries if entry.problem)


def _duplicates(view: TableView) -> Iterator[str]:
    """Yield the number of redundant variants, and the time saved by compiling equal TTGIR only once."""
    if not view.duplicates:
        return
    variants = pluralize(len(view.entries), "variant")
    yield f"= identical machine code: benchmarking {view.duplicates} of {variants} is redundant"
    reuse = view.stage_reuse
    if reuse.variants:
        saved = "" if reuse.seconds is None else f", which saved about {reuse.seconds:.2g} s"
        yield f"{len(reuse.variants)} of them reused the stages of a variant with equal TTGIR{saved}"
