"""The comparison table, before any format and as CSV, and the matrix of configs and devices."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import chain

from irscope.document.blocks import Block, Column, Line, Table, title
from irscope.model.text import microseconds_text, one_line, pluralize
from irscope.workspace import FactColumn, FactKind, FactTable, FactValue, TableSection
from irscope.workspace.device_matrix import DeviceCell, DeviceColumn, DeviceMatrix
from irscope.workspace.table import SHOWN_TOGETHER, Cell, setting_columns

# A value that a variant cannot have.
NONE = "-"
_DEVICE_LEGEND = (
    "us by estimate, or occupancy where there is none; s: spills, -: cannot launch, ?: not compiled"
)


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


def device_content(matrices: Sequence[DeviceMatrix]) -> Iterator[Block]:
    """Yield each matrix: a config per row, a device per column, then what to use on each device."""
    for matrix in matrices:
        yield title(f"{matrix.kernel}  {matrix.problem}".rstrip())
        yield Table(list(device_columns(matrix)), ruled=True)
        yield Line(_DEVICE_LEGEND, gap=True)
        rows = [
            (column.device, column.rates.target, _fit_text(column), _best_text(matrix, column))
            for column in matrix.columns
        ]
        yield Table.from_rows(rows, ["device", "target", "can launch", "first by estimate"], "<<><", gap=True)
        yield from _device_problems(matrix)


def device_columns(matrix: DeviceMatrix) -> Iterator[Column]:
    """Yield the columns of a matrix: the number and the settings of each config, then the devices."""
    yield Column("#", [f"#{variant.id}" for variant in matrix.rows], right=True)
    settings = setting_columns({variant.id: variant.settings for variant in matrix.rows})
    for setting in TableSection(matrix.rows, FactTable(), settings).configs:
        cells = [one_line(setting.write(value)) or NONE for value in setting.values(matrix.rows)]
        yield Column(one_line(setting.name).replace("_", "_\n"), cells, right=True)
    for column in matrix.columns:
        best = frozenset() if column.best is None else frozenset([column.best])
        heading = column.device.replace(" ", "\n")
        cells = list(map(_device_cell, column.cells))
        yield Column(heading, cells, right=True, best=best, optional=column.device)


def _device_cell(cell: DeviceCell | None) -> str:
    if cell is None:
        return "?"
    if cell.problem:
        return NONE
    if cell.estimate is not None:
        text = microseconds_text(cell.estimate.microseconds)
    else:
        text = "?" if cell.occupancy is None else f"{cell.occupancy:.0%}"
    return f"{text} s" if cell.spills else text


def _fit_text(column: DeviceColumn) -> str:
    compiled = sum(cell is not None for cell in column.cells)
    return f"{len(column.fitting)} of {compiled}"


def _best_text(matrix: DeviceMatrix, column: DeviceColumn) -> str:
    if column.best is None:
        return "not estimated"
    cell = column.cells[column.best]
    estimate = cell.estimate if cell else None
    time = microseconds_text(estimate.microseconds) if estimate else "?"
    bound = f", bound by {estimate.bound}" if estimate else ""
    row = matrix.rows[column.best]
    return f"#{row.id} {time} us{bound}"


def _device_problems(matrix: DeviceMatrix) -> Iterator[Line]:
    """Yield why there is no estimate, and why configs cannot be launched: each reason once, with configs."""
    troubles: dict[str, list[str]] = {}
    for column in matrix.columns:
        if column.trouble and column.best is None:
            troubles.setdefault(one_line(column.trouble), []).append(column.device)
    for trouble, devices in troubles.items():
        yield Line(f"{', '.join(devices)}: not estimated: {trouble}", fit="wrapped")
    for column in matrix.columns:
        reasons: dict[str, list[str]] = {}
        for variant, cell in zip(matrix.rows, column.cells, strict=True):
            if cell is not None and cell.problem:
                reasons.setdefault(cell.problem, []).append(f"#{variant.id}")
        for reason, names in reasons.items():
            yield Line(f"{column.device}: {', '.join(names)}: {reason}", fit="wrapped")
