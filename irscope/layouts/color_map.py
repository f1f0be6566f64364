"""A whole tensor or buffer as a map: one glyph and color per cell of equally many elements.

    000011112222333300001111   a 16 x 24 tensor by warp: dimension 1 is split over four warps
    000011112222333300001111

A glyph (0-9, a-v) is a warp, a thread of the warp, a register, or the bank of a buffer's byte; the color only
repeats it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.banks import BANKS, Addresses, bank
from irscope.layouts.grid import Grid, GridCell
from irscope.layouts.linear import LinearLayout, Vector
from irscope.layouts.ownership import MAX_ELEMENTS, Positions
from irscope.model.records import FrozenValue

GLYPHS = "0123456789abcdefghijklmnopqrstuv"
_GROUPS = 8
# The cells per line of a tensor with one dimension.
_LINE = 32

Cell = tuple[int, int]


class ColorBy(enum.Enum):
    """The meaning of a glyph; the value is its name for a user."""

    WARP = "warp"
    THREAD = "thread"
    REGISTER = "register"
    BANK = "bank"
    ROW = "tensor memory lane"
    COLUMN = "tensor memory column"


_INPUTS = {
    ColorBy.WARP: "warp",
    ColorBy.THREAD: "lane",
    ColorBy.REGISTER: "register",
    ColorBy.ROW: "row",
    ColorBy.COLUMN: "col",
}


@dataclass(frozen=True, eq=False, repr=False)
class _Colors(FrozenValue):
    """The value of an element, how many values there are, and how a value and a glyph are described."""

    value: Callable[[Vector], int]
    count: int
    describe: Callable[[Vector], str]
    noun: str
    mixed: bool

    @property
    def step(self) -> int:
        """Number of consecutive values that share a glyph."""
        return max(1, -(-self.count // len(GLYPHS)))


def color_choices(layout: LinearLayout) -> Sequence[ColorBy]:
    """Return the meanings that glyphs can have in a map of this layout, the default first."""
    if layout.in_registers:
        return (ColorBy.WARP, ColorBy.THREAD, ColorBy.REGISTER)
    return (ColorBy.BANK,) if "offset" in layout.bases else (ColorBy.ROW, ColorBy.COLUMN)


def cell_size(shapes: Sequence[Vector], rows: int, columns: int) -> Cell:
    """Return the fewest elements per cell with which maps of all `shapes` fit these rows and columns."""
    down = max(_rows(shape) for shape in shapes)
    across = max(min(shape[-1], _LINE) if len(shape) == 1 else shape[-1] for shape in shapes)
    lines = max((shape[0] // _LINE for shape in shapes if len(shape) == 1), default=0)
    cell = _fitting(down, rows), _fitting(across, columns)
    return (1, max(cell[1], _fitting(lines, rows))) if lines else cell


def _rows(shape: Vector) -> int:
    return shape[-2] if len(shape) > 1 else 1


def _fitting(size: int, most: int) -> int:
    """Return the smallest power of two of elements per cell so that `size` elements fit `most` cells."""
    step = 1
    while size > step * max(1, most):
        step *= 2
    return step


def color_map(
    layout: LinearLayout,
    title: str,
    by: ColorBy,
    cell: Cell,
    addresses: Addresses | None = None,
    plane: int = 0,
    part: tuple[range, range] | None = None,
    described: bool = True,
) -> Grid:
    """Draw the map of a layout with `cell` elements per cell; `addresses` are those of a buffer.

    `plane` selects one of the matrices of a tensor with three dimensions. `part` are the rows and columns to
    draw, None for all. Unless `described`, cells have no descriptions; `KernelLayouts.element_text` makes
    those, too. Raises UnknownLayoutError.
    """
    shape = layout.shape
    if prod(shape[-2:]) // prod(cell) > MAX_ELEMENTS:
        raise UnknownLayoutError(f"more than {MAX_ELEMENTS:,} cells")
    colors = _bank_colors(addresses) if addresses is not None else _owner_colors(layout, by, cell)
    starts = part or _starts(shape, cell)
    elements = [[_element(shape, plane, row, column) for column in starts[1]] for row in starts[0]]
    values = [list(map(colors.value, line)) for line in elements]
    if part is not None:  # the registers of one period are few: each gets its own glyph
        colors = replace(colors, count=max(map(max, values)) + 1)
    describe = colors.describe if described else _not_described
    rows = []
    for line, line_values in zip(elements, values, strict=True):
        rows.append(tuple(map(partial(_cell, colors.step, describe), line, line_values)))
    return Grid(
        title,
        tuple(map(str, starts[0])),
        tuple(map(str, starts[1])),
        tuple(rows),
        _legend(colors),
        _notes(colors, shape, cell, plane),
        compact=True,
    )


def _starts(shape: Vector, cell: Cell) -> tuple[range, range]:
    """Return the first elements of rows and columns of cells."""
    if len(shape) == 1:
        line = min(shape[0], _LINE * cell[1])
        return range(0, shape[0], line), range(0, line, min(cell[1], line))
    return range(0, shape[-2], cell[0]), range(0, shape[-1], cell[1])


def _element(shape: Vector, plane: int, row: int, column: int) -> Vector:
    if len(shape) == 1:
        return (row + column,)
    outer = (0,) * (len(shape) - 3) + (plane,) * (len(shape) > 2)
    return (*outer, row, column)


def _cell(step: int, describe: Callable[[Vector], str], element: Vector, value: int) -> GridCell:
    glyph, text = value // step, describe(element)
    description = f"element ({', '.join(map(str, element))}): {text}" if text else ""
    label, shade = GLYPHS[glyph % len(GLYPHS)], glyph // _GROUPS % 2
    return GridCell(label, glyph % _GROUPS, shade, False, description, value)


def _not_described(element: Vector) -> str:
    """Leave out the description of an element."""
    return ""


def _owner_colors(layout: LinearLayout, by: ColorBy, cell: Cell) -> _Colors:
    """Color an element by the warp, thread or register that holds it; of several copies, the first."""
    positions, name = Positions(layout), _INPUTS[by]
    mixed = any(positions.value(name, element) for element in _steps(layout.shape, cell))
    noun = "thread of its warp" if by is ColorBy.THREAD else by.value
    return _Colors(partial(positions.value, name), layout.size(name), positions.text, noun, mixed)


def _steps(shape: Vector, cell: Cell) -> list[Vector]:
    """Return the elements of a cell that are one bit away from its first element."""
    sizes = (1,) * (len(shape) - 2) + cell if len(shape) > 1 else (cell[1],)
    bits = [
        (dimension, 1 << bit)
        for dimension, size in enumerate(sizes)
        for bit in range(min(size, shape[dimension]).bit_length() - 1)
    ]
    return [tuple(step if d == dimension else 0 for d in range(len(shape))) for dimension, step in bits]


def _bank_colors(addresses: Addresses) -> _Colors:
    """Color an element by the bank of its first byte."""
    return _Colors(lambda e: bank(addresses.byte(e)), BANKS, addresses.text, "bank of its first byte", False)


def _legend(colors: _Colors) -> tuple[tuple[int, str], ...]:
    """Return the meaning of each glyph, or one entry for all if there are many."""
    glyphs = -(-colors.count // colors.step)
    noun = colors.noun.split()[0]
    if glyphs <= _GROUPS:
        return tuple((glyph, f"{GLYPHS[glyph]} {noun} {glyph}") for glyph in range(glyphs))
    per = f", {colors.step} per glyph" if colors.step > 1 else ""
    return ((0, f"{GLYPHS[0]}-{GLYPHS[glyphs - 1]} {noun}s 0-{colors.count - 1}{per}"),)


def _notes(colors: _Colors, shape: Vector, cell: Cell, plane: int) -> tuple[str, ...]:
    """Describe the size of a cell, what its glyph means, and which plane is drawn."""
    size = f"{cell[0]}x{cell[1]} elements" if len(shape) > 1 else f"{cell[1]} elements"
    of = f"a cell is {size}, by the {colors.noun}" if prod(cell) > 1 else f"each element by the {colors.noun}"
    first = " that holds its first element (z shows each element)"
    notes = [f"{of}{first if colors.mixed else ''}."]
    if len(shape) > 2:
        notes.append(f"Plane {plane} of {shape[-3]} along dimension {len(shape) - 3}.")
    return tuple(note[0].upper() + note[1:] for note in notes)
