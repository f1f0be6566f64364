"""Drawings of layouts on a terminal: grids of cells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.color import Color, ColorSystem
from rich.style import Style

from irscope.document.terminal.styles import Paint
from irscope.model.text import one_line
from irscope.workspace import Grid, GridCell

# Background colors (of 256) by group and shade; the text on them is black.
_BACKGROUNDS = (
    (153, 117),
    (223, 216),
    (157, 120),
    (225, 218),
    (229, 222),
    (159, 123),
    (189, 183),
    (254, 250),
)
_INK = Color.from_ansi(0)
_MOST_ROWS = 64


def layout_drawings(
    titles: Sequence[str],
    grids: Sequence[Grid],
    sentences: Sequence[Sequence[str]],
    width: int | None,
    paint: Paint,
) -> str:
    """Draw a grid per variant with a title above and sentences below.

    Two grids are side by side if they fit the width.
    """
    blocks = [
        [paint(one_line(title), "heading"), *grid_lines(grid, paint, width), *map(one_line, grid_sentences)]
        for title, grid, grid_sentences in zip(titles, grids, sentences, strict=True)
    ]
    if len(blocks) == 2 and width is not None:
        widths = [max(map(_visible, block)) for block in blocks]
        if sum(widths) + 3 <= width:
            return "\n".join(_side_by_side(blocks[0], blocks[1], widths[0])) + "\n"
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def grid_lines(grid: Grid, paint: Paint, width: int | None) -> list[str]:
    """Return the grid with its labels, legend and notes, in at most `width` columns.

    The last line says how many rows or columns do not fit.
    """
    if grid.compact:
        return _compact_lines(grid, paint)
    size = max((len(cell.label) + 2 * cell.marked for row in grid.cells for cell in row if cell), default=1)
    size = max(size, *(len(label) for label in grid.columns), 1)
    margin = max(map(len, grid.rows), default=0)
    fits = len(grid.columns) if width is None else max(1, (width - margin - 1) // (size + 1))
    lines = [paint(one_line(grid.title), "heading")]
    headings = grid.columns[:fits]
    lines.append(
        paint(" " * (margin + 1) + " ".join(label.ljust(size) for label in headings).rstrip(), "dim")
    )
    for label, row in list(zip(grid.rows, grid.cells, strict=True))[:_MOST_ROWS]:
        drawn = " ".join(_drawn(cell, size, paint) for cell in row[:fits])
        lines.append(f"{paint(label.rjust(margin), 'dim')} {drawn}".rstrip())
    if len(grid.rows) > _MOST_ROWS:
        lines.append(f"{len(grid.rows) - _MOST_ROWS} more rows of cells: select them with --rows.")
    if len(grid.columns) > fits:
        lines.append(
            f"{len(grid.columns) - fits} more columns of cells: select them with --cols, or write an SVG."
        )
    if paint.color and grid.legend:
        lines.append(" ".join(_filled(text, group, 0) for group, text in grid.legend[:32]))
    return [*lines, *map(one_line, grid.notes)]


def _compact_lines(grid: Grid, paint: Paint) -> list[str]:
    """Return a glyph per cell without gaps, colored; neighbors of one color are styled together."""
    margin = max(map(len, grid.rows), default=0)
    lines = [
        paint(one_line(grid.title), "heading"),
        paint(f"{' ' * margin} {grid.ruler()}".rstrip(), "dim"),
    ]
    for label, row in zip(grid.rows, grid.cells, strict=True):
        runs = groupby((cell for cell in row if cell), key=lambda cell: (cell.group, cell.shade))
        texts = (("".join(cell.label for cell in cells), color) for color, cells in runs)
        drawn = "".join(_filled(text, *color) if paint.color else text for text, color in texts)
        lines.append(f"{paint(label.rjust(margin), 'dim')} {drawn}")
    legend = [(f" {text} ", group) if paint.color else (text, group) for group, text in grid.legend]
    if legend:
        lines.append(" ".join(_filled(text, group, 0) if paint.color else text for text, group in legend))
    return lines


def _drawn(cell: GridCell | None, size: int, paint: Paint) -> str:
    if cell is None:
        return ("." if not paint.color else "").ljust(size)
    label = f"[{cell.label}]" if cell.marked else cell.label
    return _filled(label.ljust(size), cell.group, cell.shade) if paint.color else label.ljust(size)


def _filled(text: str, group: int, shade: int) -> str:
    number = _BACKGROUNDS[group % len(_BACKGROUNDS)][shade % 2]
    style = Style(color=_INK, bgcolor=Color.from_ansi(number))
    return style.render(text, color_system=ColorSystem.EIGHT_BIT)


def _side_by_side(left: Sequence[str], right: Sequence[str], width: int) -> list[str]:
    """Two blocks of lines next to each other; the left one is `width` columns wide."""
    lines = []
    for index in range(max(len(left), len(right))):
        a = left[index] if index < len(left) else ""
        b = right[index] if index < len(right) else ""
        lines.append(f"{a}{' ' * max(0, width - _visible(a))}   {b}".rstrip())
    return lines


def _visible(text: str) -> int:
    """Return the width of styled text: escape sequences have none."""
    count, inside = 0, False
    for char in text:
        if char == "\x1b":
            inside = True
        elif not inside:
            count += 1
        elif char == "m":
            inside = False
    return count
