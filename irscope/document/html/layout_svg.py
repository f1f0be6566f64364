"""Layouts as SVG: grids of cells side by side, with titles, legends and notes.

Cells have black text on pale colors. A picture in a file of its own is black on white, as on paper; a picture
that is part of a page, which may be dark, has the page's background and color of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from irscope.model.text import one_line
from irscope.workspace import Grid, GridCell

# Pale backgrounds by group and shade.
_BACKGROUNDS = (
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


@dataclass(frozen=True, slots=True)
class _Paper:
    """The colors outside of cells: the background ("" for the page's), text, labels, and empty cells."""

    background: str
    ink: str
    quiet: str
    empty: str


_WHITE = _Paper("#ffffff", "#000000", "#666666", "#e4e4e4")
_OF_PAGE = _Paper("", "currentColor", "currentColor", "#767c85")


def layout_svg(
    grids: Sequence[Grid], title: str, sentences: Sequence[Sequence[str]] = (), *, in_page: bool = False
) -> str:
    """Draw the grids side by side under `title`, with `sentences` below each.

    `in_page` is true for a picture that is part of a page, which may be dark.
    """
    paper = _OF_PAGE if in_page else _WHITE
    parts: list[str] = []
    x, y, height = _GAP, 64 if title else _HEIGHT, 0.0
    for index, grid in enumerate(grids):
        grid_sentences = sentences[index] if index < len(sentences) else ()
        drawn, width, tall = _grid(grid, x, y, grid_sentences, paper)
        parts += drawn
        x += int(width) + _GAP
        height = max(height, tall)
    width = max(x, int(_length(title) * 1.5) + 2 * _GAP)
    tall = int(y + height + _GAP)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{tall}" '
            f'viewBox="0 0 {width} {tall}" font-family="ui-monospace, Menlo, Consolas, monospace" '
            'font-size="10">',
            *(
                [f'<rect width="{width}" height="{tall}" fill="{paper.background}"/>']
                if paper.background
                else ()
            ),
            _text(_GAP, 26, title, paper.ink, size=15, weight="bold"),
            *parts,
            "</svg>",
            "",
        ]
    )


def _grid(
    grid: Grid, x: float, y: float, sentences: Sequence[str], paper: _Paper
) -> tuple[list[str], float, float]:
    """Return the elements of one grid at (`x`, `y`), its width and its height."""
    labels = [cell.label for row in grid.cells for cell in row if cell]
    cell = max([_length(label) for label in [*labels, *grid.columns]] or [0]) + 8
    margin = max(map(_length, grid.rows), default=0) + 8
    rows = grid.cells[: max(1, _MAX_CELLS // max(1, len(grid.columns)))]
    parts = [_text(x, y - 10, grid.title, paper.ink, size=12, weight="bold")]
    top = y + _HEIGHT
    for column, label in enumerate(grid.columns):
        parts.append(
            _text(x + margin + column * cell + cell / 2, top - 5, label, paper.quiet, anchor="middle")
        )
    for index, row in enumerate(rows):
        row_top = top + index * _HEIGHT
        parts.append(_text(x + margin - 5, row_top + 12.5, grid.rows[index], paper.quiet, anchor="end"))
        parts += _row(row, x + margin, row_top, cell, paper)
    below = top + len(rows) * _HEIGHT + 8
    parts += _legend(grid, x + margin, below, paper)
    lines = [*sentences, *grid.notes]
    if len(rows) < len(grid.cells):
        lines.append(f"{len(grid.cells) - len(rows)} more rows are not drawn.")
    below += _HEIGHT if grid.legend else 4
    for line in lines:
        below += 14
        parts.append(_text(x, below, line, paper.ink))
    width = max(
        margin + cell * len(grid.columns),
        _length(grid.title) * 1.25,
        *map(_length, lines),
        margin + _legend_width(grid),
    )
    return parts, width, below - y


def _row(row: Sequence[GridCell | None], x: float, y: float, width: float, paper: _Paper) -> Iterator[str]:
    """Yield the boxes of a row with their descriptions, then the labels, which the pointer ignores."""
    yield '<g stroke="#ffffff">'
    for column, cell in enumerate(row):
        left = x + column * width
        if cell is None:
            yield _cell(left, y, width, f'{paper.background or "none"}" stroke="{paper.empty}')
            continue
        fill = _BACKGROUNDS[cell.group % len(_BACKGROUNDS)][cell.shade % 2]
        edge = '" stroke="#c00000" stroke-width="2' if cell.marked else ""
        yield _cell(left, y, width, fill + edge, f"<title>{escape(one_line(cell.description))}</title>")
    yield '</g><g text-anchor="middle" pointer-events="none" fill="#000000">'
    for column, cell in enumerate(row):
        if cell is not None:
            left = x + column * width + width / 2
            yield f'<text x="{left:.1f}" y="{y + 12.5:g}">{escape(one_line(cell.label))}</text>'
    yield "</g>"


def _cell(x: float, y: float, width: float, fill: str, title: str = "") -> str:
    return f'<rect x="{x:.1f}" y="{y:g}" width="{width:g}" height="{_HEIGHT}" fill="{fill}">{title}</rect>'


def _legend(grid: Grid, x: float, y: float, paper: _Paper) -> Iterator[str]:
    for group, text in grid.legend:
        yield _box(
            x, y, 12, _BACKGROUNDS[group % len(_BACKGROUNDS)][1], paper.background or "none", height=12
        )
        yield _text(x + 16, y + 10, text, paper.ink)
        x += 28 + _length(text)


def _legend_width(grid: Grid) -> float:
    return sum(28 + _length(text) for _, text in grid.legend)


def _box(x: float, y: float, width: float, fill: str, edge: str, height: float = _HEIGHT) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" '
        f'fill="{fill}" stroke="{edge}" stroke-width="1"/>'
    )


def _text(
    x: float, y: float, text: str, color: str, size: int = 0, weight: str = "", anchor: str = ""
) -> str:
    more = "".join(
        f" {name}={quoteattr(str(value))}"
        for name, value in (("font-size", size), ("font-weight", weight), ("text-anchor", anchor))
        if value
    )
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}"{more}>{escape(one_line(text))}</text>'


def _length(text: str) -> float:
    return len(text) * _LETTER
