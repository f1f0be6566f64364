"""The matrix of configs and devices, before any format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.document.blocks import Block, Column, Line, Table, title
from irscope.document.table_content import NONE
from irscope.model.records import grouped
from irscope.model.text import one_line
from irscope.workspace import FactTable, TableSection
from irscope.workspace.device_matrix import DeviceCell, DeviceColumn, DeviceMatrix
from irscope.workspace.table import setting_columns

_LEGEND = "us by estimate, or occupancy where there is none; s: spills, -: cannot launch, ?: not compiled"

_ASSUMED = "no AMD GPU was measured; compare the configs of one device rather than times"


def device_content(matrices: Sequence[DeviceMatrix]) -> Iterator[Block]:
    """Yield each matrix: a config per row, a device per column, then what to use on each device."""
    for matrix in matrices:
        yield title(f"{matrix.kernel}  {matrix.problem}".rstrip())
        yield Table(list(_columns(matrix)), ruled=True)
        yield Line(_LEGEND, gap=True)
        rows = [
            (column.device, column.rates.target, _fit_text(column), _best_text(matrix, column))
            for column in matrix.columns
        ]
        yield Table.from_rows(rows, ["device", "target", "can launch", "first by estimate"], "<<><", gap=True)
        yield from _device_problems(matrix)


def _columns(matrix: DeviceMatrix) -> Iterator[Column]:
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
        text = cell.estimate.text
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
    time = estimate.text if estimate else "?"
    bound = f", bound by {estimate.bound}" if estimate else ""
    row = matrix.rows[column.best]
    return f"#{row.id} {time} us{bound}"


def _device_problems(matrix: DeviceMatrix) -> Iterator[Line]:
    """Yield what to know about devices, each text once with its devices."""
    devices: dict[str, list[str]] = {}
    for column in matrix.columns:
        for text in _column_problems(matrix, column):
            devices.setdefault(text, []).append(column.device)
    for text, names in devices.items():
        yield Line(f"{', '.join(names)}: {text}", fit="wrapped")


def _column_problems(matrix: DeviceMatrix, column: DeviceColumn) -> Iterator[str]:
    """Yield why there is no estimate, why configs cannot be launched, and that nothing was measured."""
    if column.trouble and column.best is None:
        yield f"not estimated: {one_line(column.trouble)}"
    cells = [item for item in zip(matrix.rows, column.cells, strict=True) if item[1] and item[1].problem]
    for reason, members in grouped(cells, lambda item: item[1] and item[1].problem).items():
        yield f"{', '.join(f'#{variant.id}' for variant, _ in members)}: {reason}"
    if column.rates.fit.startswith("amd"):
        yield _ASSUMED
