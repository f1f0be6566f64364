"""A tile in shared memory as a lesson draws it: the bank of each 16 bytes, and the wavefronts of a read."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.model import UserError, Variant
from irscope.workspace import DrawingOptions, Grid, VariantLayouts, Window, Workspace

# As many as ldmatrix reads at once.
_ROWS = (0, 8)


def tile_text(capture: Workspace, variant: Variant, swizzle: bool) -> str:
    """The first rows of the first tile that `ttg.local_load` reads, and the banks of that access.

    With its swizzle, or as if it had none. Raises UserError if the variant reads no tile.
    """
    layouts = VariantLayouts(capture, variant)
    read = next((one for one in layouts.accesses if one.access.opcode == "ttg.local_load"), None)
    if read is None:
        raise UserError(f"#{variant.id} reads no tile from shared memory")
    tile = layouts.draw(read.access.buffer, DrawingOptions(Window(_ROWS), swizzle=swizzle)).grid
    banks = layouts.draw_access(read, swizzle).grid
    return "".join(f"{line}\n" for line in (*_lines(tile), "", *_lines(banks)))


def _lines(grid: Grid) -> Iterator[str]:
    """The cells with the labels of rows and columns."""
    width = max(len(cell.label) for row in grid.cells for cell in row if cell)
    width = max(width, *map(len, grid.columns))
    margin = max(map(len, grid.rows))
    yield f"{'':{margin}} {' '.join(f'{label:{width}}' for label in grid.columns)}".rstrip()
    for name, row in zip(grid.rows, grid.cells, strict=True):
        cells = " ".join(f"{cell.label if cell else '.':{width}}" for cell in row)
        yield f"{name:>{margin}} {cells}".rstrip()
