"""The matrix of configs and devices, before any format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.document.blocks import Block, Column, Line, Table, title
from irscope.document.table_content import NONE
from irscope.model.text import one_line
from irscope.workspace import FactTable, TableSection
from irscope.workspace.device_matrix import DeviceCell, DeviceColumn, DeviceMatrix
from irscope.workspace.table import setting_columns

_LEGEND = "us by estimate, or occupancy where there is none; s: spills, -: cannot launch, ?: not compiled"


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
