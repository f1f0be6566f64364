"""The comparison table, before any format and as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import chain

from irscope.document.blocks import Block, Column, Line, Table, title
from irscope.model.text import one_line, pluralize
from irscope.workspace import FactColumn, FactKind, FactValue, TableSection
from irscope.workspace.table import SHOWN_TOGETHER, Cell

# A value that a variant cannot have.
NONE = "-"


def table_content(section: TableSection) -> Iterator[Block]:
    """Yield a section: the variants with their configs and facts, the problems, and the duplicates."""
    yield title(section.title)
    if section.origin:
        yield Line([(section.origin, "dim")], fit="cut")
    columns = [*_lead_columns(section), *(_fact_column(section, column) for column in section.fact_columns)]
    notes = list(map(section.note, section.variants))
    if any(notes):
        columns.append(Column("note", notes))
    problems = list(map(section.facts.problem, section.variants))
    roles = ["dim" if problem else "" for problem in problems]
    lines = (f"#{v.id} {problem}" for v, problem in zip(section.variants, problems, strict=True) if problem)
    yield Table(columns, ruled=True, roles=roles, notes=chain(lines, _duplicates(section)))


def _lead_columns(section: TableSection) -> Iterator[Column]:
    yield Column("#", [f"#{variant.id}" for variant in section.variants], right=True)
    if not section.identified:
        yield Column("variant", [one_line(section.names[variant.id]) for variant in section.variants])
        return
    for column in section.configs:
        heading = one_line(column.name).replace("_", "_\n")
        yield Column(heading, _texts(section.cells(column)), right=True)


def _fact_column(section: TableSection, column: FactColumn) -> Column:
    cells = section.cells(column)
    return Column(
        column.kind.title.replace(" ", "\n"),
        _texts(cells),
        column.numeric,
        best=frozenset(index for index, cell in enumerate(cells) if cell.best),
        optional=column.name,
        together=column.name in SHOWN_TOGETHER,
    )


def _texts(cells: Sequence[Cell]) -> list[str]:
    """Return the cells as text; equal ones share theirs."""
    shared: dict[str, str] = {}
    return [shared.setdefault(cell.text, one_line(cell.text) or NONE) for cell in cells]


def _duplicates(section: TableSection) -> Iterator[str]:
    """Yield the number of redundant variants, and the time saved by compiling equal TTGIR only once."""
    if not section.duplicates:
        return
    variants = pluralize(len(section.variants), "variant")
    yield f"= identical machine code: benchmarking {section.duplicates} of {variants} is redundant"
    reuse = section.stage_reuse
    if reuse.variants:
        saved = "" if reuse.seconds is None else f", which saved about {reuse.seconds:.2g} s"
        yield f"{len(reuse.variants)} of them reused the stages of a variant with equal TTGIR{saved}"


def table_csv(sections: Sequence[TableSection], kinds: Sequence[FactKind]) -> Iterator[str]:
    """Yield a line per variant under one heading; an unknown fact is empty."""
    configs = list(dict.fromkeys(column.name for section in sections for column in section.other_columns))
    writer = csv.writer(_LineFile(), lineterminator="\n")
    facts = [kind.name for kind in kinds]
    heading = ["id", "kernel", "target", "variant", *configs, *facts, "problem", "same_code_as"]
    yield writer.writerow(map(_csv_cell, heading))
    for section in sections:
        texts = {column.name: section.cells(column) for column in section.other_columns}
        for index, variant in enumerate(section.variants):
            row: list[FactValue] = [variant.id, section.kernel, section.target, section.names[variant.id]]
            row += [texts[name][index].text or None if name in texts else None for name in configs]
            row += section.facts.values(variant.id, facts)
            problem, duplicate = section.facts.problem(variant), section.facts.duplicate_of(variant)
            yield writer.writerow(map(_csv_cell, [*row, problem, duplicate]))


class _LineFile:
    """A file whose `write` returns the line, which `writerow` then returns."""

    def write(self, line: str) -> str:
        """Return the line."""
        return line


def _csv_cell(value: FactValue) -> FactValue:
    """`value` so that a spreadsheet treats it as text and not as a formula."""
    if not isinstance(value, str):
        return value
    text = one_line(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
