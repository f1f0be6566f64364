"""Layouts on a terminal: grids of cells, the list of a kernel's tensors, accesses and conversions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.color import Color, ColorSystem
from rich.style import Style

from irscope.layouts.describe import turns_text, ways_text
from irscope.layouts.grid import Grid, GridCell
from irscope.layouts.shared_accesses import Conversion, Counted
from irscope.layouts.tensors import Tensor
from irscope.model.text import one_line
from irscope.report.terminal.paint import Paint

# Backgrounds by group and shade, as 256-colour numbers; the text on them is black.
_GROUNDS = ((153, 117), (223, 216), (157, 120), (225, 218), (229, 222), (159, 123), (189, 183), (254, 250))
_INK = Color.from_ansi(0)
_MOST_ROWS = 64


def grid_lines(grid: Grid, paint: Paint, width: int | None = None) -> list[str]:
    """The grid with its labels, legend and notes, in at most `width` columns.

    What does not fit is left out and said to be.
    """
    size = max((len(cell.label) + 2 * cell.marked for row in grid.cells for cell in row if cell), default=1)
    size = max(size, *(len(label) for label in grid.columns), 1)
    margin = max(map(len, grid.rows), default=0)
    fits = len(grid.columns) if width is None else max(1, (width - margin - 1) // (size + 1))
    lines = [paint(one_line(grid.title), "heading")]
    shown = grid.columns[:fits]
    lines.append(paint(" " * (margin + 1) + " ".join(label.ljust(size) for label in shown).rstrip(), "dim"))
    for label, row in list(zip(grid.rows, grid.cells, strict=True))[:_MOST_ROWS]:
        drawn = " ".join(_drawn(cell, size, paint) for cell in row[:fits])
        lines.append(f"{paint(label.rjust(margin), 'dim')} {drawn}".rstrip())
    if len(grid.rows) > _MOST_ROWS:
        lines.append(f"{len(grid.rows) - _MOST_ROWS} more rows of cells: choose with --rows.")
    if len(grid.columns) > fits:
        lines.append(f"{len(grid.columns) - fits} more columns of cells: choose with --cols, or see an SVG.")
    if paint.colour and grid.legend:
        lines.append(" ".join(_ground(text, group, 0) for group, text in grid.legend[:32]))
    return [*lines, *map(one_line, grid.notes)]


def _drawn(cell: GridCell | None, size: int, paint: Paint) -> str:
    if cell is None:
        return ("." if not paint.colour else "").ljust(size)
    label = f"[{cell.label}]" if cell.marked else cell.label
    return _ground(label.ljust(size), cell.group, cell.shade) if paint.colour else label.ljust(size)


def _ground(text: str, group: int, shade: int) -> str:
    number = _GROUNDS[group % len(_GROUNDS)][shade % 2]
    style = Style(color=_INK, bgcolor=Color.from_ansi(number))
    return style.render(text, color_system=ColorSystem.EIGHT_BIT)


def beside(left: Sequence[str], right: Sequence[str], widths: tuple[int, int]) -> list[str]:
    """Two pictures side by side: `widths` are the columns that they take."""
    lines = []
    for index in range(max(len(left), len(right))):
        one = left[index] if index < len(left) else ""
        other = right[index] if index < len(right) else ""
        lines.append(f"{one}{' ' * max(0, widths[0] - visible(one))}   {other}".rstrip())
    return lines


def visible(text: str) -> int:
    """The columns that text with styles takes: escape sequences take none."""
    count, inside = 0, False
    for char in text:
        if char == "\x1b":
            inside = True
        elif not inside:
            count += 1
        elif char == "m":
            inside = False
    return count


def tensor_rows(groups: Sequence[Sequence[Tensor]]) -> Iterator[str]:
    """The tensors of a kernel, those that are alike in one line."""
    rows = [("value", "variable", "lines", "type")]
    for group in groups:
        first, more = group[0], len(group) - 1
        lines = dict.fromkeys(str(tensor.line) for tensor in group if tensor.line)
        name = one_line(first.name) + (f" +{more}" if more else "")
        rows.append((name, one_line(first.python), ", ".join(lines), one_line(first.type)))
    yield from table(rows)


def access_rows(accesses: Sequence[Counted]) -> Iterator[str]:
    """The accesses to shared memory, with the turns that they take and would take unswizzled."""
    rows = [("", "operation", "line", "buffer", "turns", "without the swizzle")]
    for number, one in enumerate(accesses, 1):
        access = one.access
        real = turns_text(one.conflicts) if one.conflicts else one.why_not
        plain = ways_text(one.plain) if one.plain else ""
        line = str(access.line) if access.line else ""
        name = access.opcode + (f" x{one.times}" if one.times > 1 else "")
        rows.append((str(number), name, line, one_line(access.buffer.type), real, plain))
    yield from table(rows)


def conversion_rows(conversions: Sequence[Conversion]) -> Iterator[str]:
    """The layout conversions and what each moves."""
    for one in conversions:
        how = one.move.value if one.move else one.why_not
        line = f"line {one.line}: " if one.line else ""
        yield f"  {line}{one_line(one.source.alias)} -> {one_line(one.target.alias)}: {how}"


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of text in columns, each as wide as its longest."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        yield ("  " + "  ".join(cells)).rstrip()
