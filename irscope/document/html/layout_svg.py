"""Layouts as SVG: grids of cells side by side, with titles, legends and notes.

Cells have black text on pale colors. A picture in a file of its own is black on white, as on paper; a picture
that is part of a page, which may be dark, has the page's background and color of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from irscope.model.records import frozen
from irscope.model.text import one_line
from irscope.workspace import Grid

# Pale backgrounds by group and shade.
BACKGROUNDS = (
    ("#cfe3fa", "#a9cdf4"),
    ("#fde0c2", "#f9c793"),
    ("#d3efd0", "#b0dfab"),
    ("#f8d6e6", "#efb3d0"),
    ("#fbf0b9", "#f3e07f"),
    ("#cdf0f0", "#a0e0e0"),
    ("#e2d8f4", "#c9b6ea"),
    ("#e6e6e6", "#cfcfcf"),
)
_LETTER = 6.1  # pixels, of the 10-pixel monospace font
_HEIGHT = 18
_GAP = 28
_MAX_CELLS = 8192


@frozen
class Paper:
    """The colors outside of cells: the background ("" for the page's), text, labels, and empty cells."""

    background: str
    ink: str
    quiet: str
    empty: str


WHITE = Paper("#ffffff", "#000000", "#666666", "#e4e4e4")
OF_PAGE = Paper("", "currentColor", "currentColor", "#767c85")


def layout_svg(
    grids: Sequence[Grid], title: str, sentences: Sequence[Sequence[str]] = (), *, in_page: bool = False
) -> str:
    """Draw the grids side by side under `title`, with `sentences` below each.

    `in_page` is true for a picture that is part of a page, which may be dark.
    """
    paper = OF_PAGE if in_page else WHITE
    parts: list[str] = []
    x, y, height = _GAP, 64 if title else _HEIGHT, 0.0
    for index, grid in enumerate(grids):
        grid_sentences = sentences[index] if index < len(sentences) else ()
        drawn, width, tall = _grid(grid, x, y, grid_sentences, paper)
        parts += drawn
        x += int(width) + _GAP
        height = max(height, tall)
    width = max(x, int(text_width(title) * 1.5) + 2 * _GAP)
    heading = svg_text(_GAP, 26, title, paper.ink, size=15, weight="bold")
    return svg_picture([heading, *parts], width, int(y + height + _GAP), paper)


def svg_picture(parts: Sequence[str], width: int, height: int, paper: Paper) -> str:
    """Return a picture of `width` x `height` pixels with these elements on its paper."""
    background = f'<rect width="{width}" height="{height}" fill="{paper.background}"/>'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="ui-monospace, Menlo, Consolas, monospace" '
            'font-size="10">',
            *([background] if paper.background else ()),
            *parts,
            "</svg>",
            "",
        ]
    )


def _grid(
    grid: Grid, x: float, y: float, sentences: Sequence[str], paper: Paper
) -> tuple[list[str], float, float]:
    """Return the elements of one grid at (`x`, `y`), its width and its height."""
    labels = [cell.label for row in grid.cells for cell in row if cell]
    cell = max([text_width(label) for label in [*labels, *grid.columns]] or [0]) + 8
    margin = max(map(text_width, grid.rows), default=0) + 8
    rows = grid.cells[: max(1, _MAX_CELLS // max(1, len(grid.columns)))]
    parts = [svg_text(x, y - 10, grid.title, paper.ink, size=12, weight="bold")]
    top = y + _HEIGHT
    for column, label in enumerate(grid.columns):
        parts.append(
            svg_text(x + margin + column * cell + cell / 2, top - 5, label, paper.quiet, anchor="middle")
        )
    for index in range(len(rows)):
        row_top = top + index * _HEIGHT
        parts.append(svg_text(x + margin - 5, row_top + 12.5, grid.rows[index], paper.quiet, anchor="end"))
        parts += _row(grid, index, x + margin, row_top, cell, paper)
    below = top + len(rows) * _HEIGHT + 8
    parts += _legend(grid, x + margin, below, paper)
    lines = [*sentences, *grid.notes]
    if len(rows) < len(grid.cells):
        lines.append(f"{len(grid.cells) - len(rows)} more rows are not drawn.")
    below += _HEIGHT if grid.legend else 4
    for line in lines:
        below += 14
        parts.append(svg_text(x, below, line, paper.ink))
    width = max(
        margin + cell * len(grid.columns),
        text_width(grid.title) * 1.25,
        *map(text_width, lines),
        margin + _legend_width(grid),
    )
    return parts, width, below - y


def _row(grid: Grid, index: int, x: float, y: float, width: float, paper: Paper) -> Iterator[str]:
    """Yield the boxes of a row with their descriptions, then the labels, which the pointer ignores."""
    row = grid.cells[index]
    yield '<g stroke="#ffffff">'
    for column, cell in enumerate(row):
        left = x + column * width
        if cell is None:
            yield _cell(left, y, width, f'{paper.background or "none"}" stroke="{paper.empty}')
            continue
        fill = BACKGROUNDS[cell.group % len(BACKGROUNDS)][cell.shade % 2]
        edge = '" stroke="#c00000" stroke-width="2' if cell.marked else ""
        title = escape(one_line(grid.describe(index, column)))
        yield _cell(left, y, width, fill + edge, f"<title>{title}</title>")
    yield '</g><g text-anchor="middle" pointer-events="none" fill="#000000">'
    for column, cell in enumerate(row):
        if cell is not None:
            left = x + column * width + width / 2
            yield f'<text x="{left:.1f}" y="{y + 12.5:g}">{escape(one_line(cell.label))}</text>'
    yield "</g>"


def _cell(x: float, y: float, width: float, fill: str, title: str = "") -> str:
    return f'<rect x="{x:.1f}" y="{y:g}" width="{width:g}" height="{_HEIGHT}" fill="{fill}">{title}</rect>'


def _legend(grid: Grid, x: float, y: float, paper: Paper) -> Iterator[str]:
    for group, text in grid.legend:
        yield _box(x, y, 12, BACKGROUNDS[group % len(BACKGROUNDS)][1], paper.background or "none", height=12)
        yield svg_text(x + 16, y + 10, text, paper.ink)
        x += 28 + text_width(text)


def _legend_width(grid: Grid) -> float:
    return sum(28 + text_width(text) for _, text in grid.legend)


def _box(x: float, y: float, width: float, fill: str, edge: str, height: float) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" '
        f'fill="{fill}" stroke="{edge}" stroke-width="1"/>'
    )


def svg_text(
    x: float, y: float, text: str, color: str, size: int = 0, weight: str = "", anchor: str = ""
) -> str:
    """Return a text that begins at (`x`, `y`), or is there in the middle or ends there, by its `anchor`."""
    more = "".join(
        f" {name}={quoteattr(str(value))}"
        for name, value in (("font-size", size), ("font-weight", weight), ("text-anchor", anchor))
        if value
    )
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}"{more}>{escape(one_line(text))}</text>'


def text_width(text: str) -> float:
    """Return the width in pixels of a text of 10 pixels."""
    return len(text) * _LETTER
