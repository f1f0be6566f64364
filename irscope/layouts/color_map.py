"""A whole tensor or buffer as a map: one glyph and color per cell of equally many elements.

    000011112222333300001111   a 16 x 24 tensor by warp: dimension 1 is split over four warps
    000011112222333300001111

A glyph (0-9, a-v) is a warp, a thread of the warp, a register, or the bank of a buffer's byte; the color only
repeats it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from math import prod

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.banks import BANKS, Addresses, bank
from irscope.layouts.grid import Grid, GridCell, GridFrame
from irscope.layouts.linear import LinearLayout, Vector
from irscope.layouts.ownership import MAX_ELEMENTS, Positions
from irscope.model.records import frozen_with_dict

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


@frozen_with_dict
class _Colors:
    """The value of an element, how many values there are, and how a value and a glyph are described.

    `position` is linear: that of an element is the exclusive or of those of its row and its column.
    """

    position: Callable[[Vector], int]
    value: Callable[[int], int]
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
    where: Addresses | Positions | None = None,
    plane: int = 0,
    part: tuple[range, range] | None = None,
) -> Grid:
    """Draw the map of a layout with `cell` elements per cell; `where` says where elements are.

    `plane` selects one of the matrices of a tensor with three dimensions. `part` are the rows and columns to
    draw, None for all. Raises UnknownLayoutError.
    """
    shape = layout.shape
    if prod(shape[-2:]) // prod(cell) > MAX_ELEMENTS:
        raise UnknownLayoutError(f"more than {MAX_ELEMENTS:,} cells")
    colors = _bank_colors(where) if isinstance(where, Addresses) else _owner_colors(layout, where, by, cell)
    frame = GridFrame(shape, plane, part or _starts(shape, cell), cell)
    starts, origin = frame.starts, colors.position(frame.element(0, 0))
    rows = [colors.position(frame.element(row, 0)) for row in starts[0]]
    columns = [colors.position(frame.element(0, column)) ^ origin for column in starts[1]]
    # Rows at one position are one object: there are few.
    values = {row: [colors.value(row ^ column) for column in columns] for row in dict.fromkeys(rows)}
    if part is not None:  # the registers of one period are few: each gets its own glyph
        colors = replace(colors, count=max(map(max, values.values())) + 1)
    cells = {value: _cell(colors.step, value) for value in set(chain(*values.values()))}
    lines = {row: tuple([cells[value] for value in line]) for row, line in values.items()}
    return Grid(
        title,
        tuple(map(str, starts[0])),
        tuple(map(str, starts[1])),
        tuple([lines[row] for row in rows]),
        _legend(colors),
        _notes(colors, shape, cell, plane),
        compact=True,
        describe=partial(frame.describe, colors.describe),
    )


def _starts(shape: Vector, cell: Cell) -> tuple[range, range]:
    """Return the first elements of rows and columns of cells."""
    if len(shape) == 1:
        line = min(shape[0], _LINE * cell[1])
        return range(0, shape[0], line), range(0, line, min(cell[1], line))
    return range(0, shape[-2], cell[0]), range(0, shape[-1], cell[1])


def _cell(step: int, value: int) -> GridCell:
    glyph = value // step
    return GridCell(GLYPHS[glyph % len(GLYPHS)], glyph % _GROUPS, glyph // _GROUPS % 2, value=value)


def _owner_colors(layout: LinearLayout, where: Positions | None, by: ColorBy, cell: Cell) -> _Colors:
    """Color an element by the warp, thread or register that holds it; of several copies, the first."""
    positions, name = where or Positions(layout), _INPUTS[by]
    mixed = any(positions.value(name, element) for element in _steps(layout.shape, cell))
    noun = "thread of its warp" if by is ColorBy.THREAD else by.value
    position = partial(positions.value, name)
    return _Colors(position, _itself, layout.size(name), positions.text, noun, mixed)


def _itself(position: int) -> int:
    return position


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

    def value(offset: int) -> int:
        return bank(addresses.byte_at(offset))

    return _Colors(addresses.offset, value, BANKS, addresses.text, "bank of its first byte", False)


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
