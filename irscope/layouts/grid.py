"""Layouts as grids of cells, which the terminal, the SVG report and the app draw.

A cell is a run of neighbors that one thread holds in consecutive registers, or that are contiguous in memory.
So large tensors become small pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from functools import partial
from math import prod
from operator import attrgetter

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.banks import BANKS, WORD, Addresses, Wavefronts, bank
from irscope.layouts.linear import LinearLayout, Vector
from irscope.layouts.ownership import (
    MAX_ELEMENTS,
    Positions,
    longest_run,
    ownership_summary,
    repeating_part,
    thread_elements,
)
from irscope.model.records import frozen, frozen_with_dict

# The cells per line of a tensor with one dimension.
_LINE = 8
# The group of cells that are the same in A and B.
EQUAL = -1
_CHUNK = 16  # bytes: the widest access of a thread, which a swizzle keeps together


@frozen
class GridCell:
    """One cell.

    `group` determines its color (warp, bank, lane), `shade` (0 or 1) distinguishes neighbors. `value` is the
    number that the glyph of a map stands for.
    """

    label: str
    group: int
    shade: int = 0
    marked: bool = False
    value: int = 0


def _no_text(row: int, column: int) -> str:
    """Describe no cell."""
    return ""


@frozen_with_dict
class Grid:
    """Cells in rows (None for a gap), with labels for rows and columns.

    `legend` names each group; `notes` are sentences below the picture. `compact`: labels are single glyphs,
    drawn without gaps. `describe` returns a sentence about the cell in a row and a column (from 0).
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[GridCell | None, ...], ...]
    legend: tuple[tuple[int, str], ...] = ()
    notes: tuple[str, ...] = ()
    compact: bool = False
    describe: Callable[[int, int], str] = field(default=_no_text, compare=False, repr=False)

    def ruler(self, size: int = 1, part: slice = slice(None)) -> str:
        """Return the labels above columns of `size` characters: all, or every 2nd, 4th, ... if too wide.

        `part` selects the columns.
        """
        columns, step = self.columns[part], 1
        while max(map(len, columns), default=0) >= step * size and step < len(columns):
            step *= 2
        return "".join(name.ljust(step * size) for name in columns[::step])


@frozen
class Window:
    """The part to draw, as ranges (start, end) of elements; None for the part that repeats.

    `plane` selects one of the matrices of a tensor with three dimensions.
    """

    rows: tuple[int, int] | None = None
    columns: tuple[int, int] | None = None
    plane: int = 0


@frozen
class GridFrame:
    """A window in cells: the first elements of rows and columns, and the size of a cell.

    `plane` selects one of the matrices of a tensor with three dimensions.
    """

    shape: tuple[int, ...]
    plane: int
    starts: tuple[range, range]
    size: tuple[int, int]

    def element(self, row: int, column: int) -> Vector:
        """Return the element at a row and a column of the tensor; in one dimension, their sum."""
        if len(self.shape) == 1:
            return (row + column,)
        if len(self.shape) == 2:
            return (row, column)
        return (*(0 for _ in self.shape[3:]), self.plane, row, column)

    def elements(self, row: int, column: int) -> list[Vector]:
        """Return the elements of the cell that begins at a row and a column."""
        (down, across) = self.size
        return [self.element(row + r, column + c) for r in range(down) for c in range(across)]

    def describe(self, text: Callable[[Vector], str], row: int, column: int) -> str:
        """Say by `text` where the first element of the cell in a row and a column of the grid is."""
        element = self.element(self.starts[0][row], self.starts[1][column])
        return f"element ({', '.join(map(str, element))}): {text(element)}"


def with_equal_cells(grid: Grid, other: Grid) -> Grid:
    """Return the grid with the cells that `other` has, too, in the group EQUAL."""
    content = attrgetter("value" if grid.compact else "label")
    others = dict(zip(other.rows, other.cells, strict=True))
    # The cells and the rows of maps are few objects, each of them many times.
    equal: dict[int, GridCell] = {}
    lines: dict[tuple[int, int], tuple[GridCell | None, ...]] = {}

    def marked(cell: GridCell | None, counterpart: GridCell | None) -> GridCell | None:
        if cell is None or counterpart is None or content(cell) != content(counterpart):
            return cell
        if id(cell) not in equal:
            equal[id(cell)] = GridCell(cell.label, EQUAL, cell.shade, cell.marked, cell.value)
        return equal[id(cell)]

    rows = []
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        counterparts = others.get(name, ())
        key = id(cells), id(counterparts)
        if key not in lines:
            columns = dict(zip(other.columns, counterparts, strict=False))
            lines[key] = tuple(map(marked, cells, map(columns.get, grid.columns)))
        rows.append(lines[key])
    return replace(grid, cells=tuple(rows))


def register_grid(layout: LinearLayout, title: str, window: Window, mark: int | None = None) -> Grid:
    """Draw the thread that holds each element: `T12:0-7` is thread 12 of the block, registers 0 to 7.

    `mark` is the thread to mark. Raises UnknownLayoutError.
    """
    if prod(map(layout.size, layout.bases)) > MAX_ELEMENTS:
        raise UnknownLayoutError(f"more than {MAX_ELEMENTS:,} registers")
    positions, copies, lanes = Positions(layout), ownership_summary(layout).owners - 1, layout.size("lane")
    dimension, run = longest_run(layout)
    frame = _frame(layout, window, dimension, run, repeating_part(layout))
    marked = set() if mark is None else set(thread_elements(layout, *divmod(mark, lanes)))
    rows = [
        tuple(
            _register_cell(positions, frame.elements(row, column), copies, lanes, marked)
            for column in frame.starts[1]
        )
        for row in frame.starts[0]
    ]
    warps = sorted({cell.group for row in rows for cell in row})
    return Grid(
        title,
        tuple(str(row) for row in frame.starts[0]),
        tuple(str(column) for column in frame.starts[1]),
        tuple(rows),
        tuple((warp, f"warp {warp}") for warp in warps),
        tuple(_part_notes(frame, layout)),
        describe=partial(frame.describe, positions.text),
    )


def drawn_elements(layout: LinearLayout, window: Window) -> tuple[range, range]:
    """Return the rows and columns of elements that a grid draws. Raises UnknownLayoutError."""
    dimension, run = longest_run(layout) if layout.in_registers else (len(layout.shape) - 1, 1)
    part = repeating_part(layout) if layout.in_registers else _initial_part(layout.shape)
    down, across = _frame(layout, window, dimension, run, part).starts
    step = down.step if len(layout.shape) == 1 else 1
    return range(down.start, down.stop, step), range(across.start, across.stop)


def window_around(layouts: Sequence[LinearLayout], element: Vector) -> Window:
    """Return the window with an element which is as large as what is drawn by default of all `layouts`."""
    drawn = [drawn_elements(layout, Window()) for layout in layouts]
    ranges = []
    for index, parts in zip(element[-2:], list(zip(*drawn, strict=True))[: len(element)], strict=True):
        size = max(part.stop for part in parts)
        ranges.append((index - index % size, index - index % size + size))
    return Window(ranges[0] if len(element) > 1 else None, ranges[-1], (0, 0, *element)[-3])


def _register_cell(
    positions: Positions, elements: Sequence[Vector], copies: int, lanes: int, marked: AbstractSet[Vector]
) -> GridCell:
    first, last = elements[0], elements[-1]
    warp, lane = positions.value("warp", first), positions.value("lane", first)
    registers = str(positions.value("register", first))
    if len(elements) > 1:
        registers += f"-{positions.value('register', last)}"
    label = f"T{warp * lanes + lane}:{registers}" + (f"+{copies}" if copies else "")
    return GridCell(label, warp, lane % 2, first in marked)


def memory_grid(layout: LinearLayout, addresses: Addresses, bits: int, title: str, window: Window) -> Grid:
    """Draw the address of each element: `464 b20` starts at byte 464, in bank 20.

    Raises UnknownLayoutError.
    """
    limit = max(1, _CHUNK * 8 // bits)
    last = max(range(len(layout.shape)), key=lambda d: _memory_run(addresses, layout.shape, d))
    run = min(limit, _memory_run(addresses, layout.shape, last))
    frame = _frame(layout, window, last, run, _initial_part(layout.shape))
    cells = [
        tuple(_memory_cell(addresses, frame.element(row, column)) for column in frame.starts[1])
        for row in frame.starts[0]
    ]
    return Grid(
        title,
        tuple(str(row) for row in frame.starts[0]),
        tuple(str(column) for column in frame.starts[1]),
        tuple(cells),
        notes=(
            "Each cell: its first byte and bank. Each color is four banks.",
            *_part_notes(frame, layout),
        ),
        describe=partial(frame.describe, addresses.text),
    )


def _memory_cell(addresses: Addresses, element: Vector) -> GridCell:
    byte = addresses.byte(element)
    number = bank(byte)
    return GridCell(f"{byte} b{number}", number // 4, number // 2 % 2)


def tensor_memory_grid(layout: LinearLayout, title: str, window: Window) -> Grid:
    """Draw the position of each element in tensor memory: `r3 c16` is lane 3, column 16.

    Raises UnknownLayoutError.
    """
    if layout.size("row") * layout.size("col") > MAX_ELEMENTS:
        raise UnknownLayoutError(f"more than {MAX_ELEMENTS:,} elements")
    positions = Positions(layout)
    run = max(1, next((r for r in (16, 8, 4, 2) if _column_run(layout, r)), 1))
    frame = _frame(layout, window, len(layout.shape) - 1, run, _initial_part(layout.shape))
    cells = []
    for row in frame.starts[0]:
        line = []
        for column in frame.starts[1]:
            element = frame.element(row, column)
            lane, first = positions.value("row", element), positions.value("col", element)
            label = f"r{lane} c{first}" + (f"-{first + run - 1}" if run > 1 else "")
            line.append(GridCell(label, lane // 16, first // run % 2))
        cells.append(tuple(line))
    groups = sorted({cell.group for row in cells for cell in row})
    return Grid(
        title,
        tuple(map(str, frame.starts[0])),
        tuple(map(str, frame.starts[1])),
        tuple(cells),
        tuple((group, f"lanes {16 * group}-{16 * group + 15}") for group in groups),
        tuple(_part_notes(frame, layout)),
        describe=partial(frame.describe, positions.text),
    )


def _column_run(layout: LinearLayout, run: int) -> bool:
    """Check whether `run` neighbors along the last dimension are in consecutive columns."""
    steps = layout.bases.get("col", ())[: run.bit_length() - 1]
    return len(steps) == run.bit_length() - 1 and all(
        not any(vector[:-1]) and vector[-1] == 1 << bit for bit, vector in enumerate(steps)
    )


def wavefront_grid(wavefronts: Wavefronts, title: str, who: str) -> Grid:
    """Draw one pass of a warp: a row per wavefront with the lanes that each bank serves."""
    served = {
        number: [(word, _lanes_of_word(wavefronts, word)) for word in sorted(words)]
        for number, words in wavefronts.words.items()
    }
    step = max(1, wavefronts.width // WORD)
    rows = []
    for index in range(wavefronts.count):
        row: list[GridCell | None] = []
        for first in range(0, BANKS, step):
            words = served.get(first, [])
            row.append(_bank_cell(words[index][1], index, who) if index < len(words) else None)
        rows.append(tuple(row))

    def describe(index: int, column: int) -> str:
        first, words = column * step, served.get(column * step, [])
        if index >= len(words):
            return ""
        banks = f"bank {first} serves" if step == 1 else f"banks {first}-{first + step - 1} serve"
        word, lanes = words[index]
        return f"wavefront {index + 1}: {banks} {who} {', '.join(map(str, lanes))} from byte {word * WORD}"

    columns = tuple(f"b{first}" for first in range(0, BANKS, step))
    names = tuple(f"wavefront {index + 1}" for index in range(wavefronts.count))
    return Grid(title, names, columns, tuple(rows), describe=describe)


def _lanes_of_word(wavefronts: Wavefronts, word: int) -> list[int]:
    return [
        lane
        for lane, address in zip(wavefronts.lanes, wavefronts.addresses, strict=True)
        if address // WORD <= word <= (address + wavefronts.width - 1) // WORD
    ]


def _bank_cell(lanes: Sequence[int], index: int, who: str) -> GridCell:
    label = f"{who[0].upper()}{lanes[0]}" + (f"+{len(lanes) - 1}" if len(lanes) > 1 else "")
    return GridCell(label, lanes[0] // 4 % 8, lanes[0] % 2, index > 0)


def _frame(
    layout: LinearLayout, window: Window, dimension: int, run: int, repeating: Sequence[int]
) -> GridFrame:
    """Return the window in cells; the part that repeats if no window is given."""
    shape = layout.shape
    if len(shape) == 1:
        part = max(repeating[0], run)
        low, high = _range(window.columns, shape[0], part)
        line = min(part, run * _LINE)
        return GridFrame(shape, 0, (range(low - low % line, high, line), range(0, line, run)), (1, run))
    rows, columns = shape[-2:]
    down, across = repeating[-2:]
    size = (run, 1) if dimension == len(shape) - 2 else (1, run if dimension == len(shape) - 1 else 1)
    if len(shape) > 2 and not 0 <= window.plane < shape[-3]:
        raise UnknownLayoutError(f"no plane {window.plane}: there are {shape[-3]}")
    ranges = []
    for chosen, length, part, step in (
        (window.rows, rows, down, size[0]),
        (window.columns, columns, across, size[1]),
    ):
        low, high = _range(chosen, length, max(part, step))
        ranges.append(range(low - low % step, high, step))
    return GridFrame(shape, window.plane, (ranges[0], ranges[1]), size)


def _range(chosen: tuple[int, int] | None, length: int, part: int) -> tuple[int, int]:
    low, high = chosen or (0, part)
    high = min(high, length)
    if not 0 <= low < high:
        raise UnknownLayoutError(f"nothing from {low} to {high}: the tensor ends at {length}")
    return low, high


def _part_notes(frame: GridFrame, layout: LinearLayout) -> list[str]:
    shape, (down, across) = layout.shape, frame.starts
    if len(shape) == 1:
        return _line_notes(frame, layout)
    rows = (down.start, down.start + len(down) * frame.size[0])
    columns = (across.start, across.start + len(across) * frame.size[1])
    whole = rows == (0, shape[-2]) and columns == (0, shape[-1])
    notes = []
    if not whole:
        notes.append(
            f"Rows {rows[0]} to {rows[1] - 1} and columns {columns[0]} to {columns[1] - 1} of "
            f"{' x '.join(map(str, shape[-2:]))}."
        )
    if layout.in_registers and not whole:
        part = repeating_part(layout)[-2:]
        times = [size // part_size for size, part_size in zip(shape[-2:], part, strict=True)]
        if max(times) > 1:
            notes.append(
                f"The part of {part[0]} x {part[1]} repeats {times[0]} x {times[1]} times "
                "in further registers of the same threads."
            )
    if len(shape) > 2:
        notes.append(f"Plane {frame.plane} of {shape[-3]} along dimension {len(shape) - 3}.")
    return notes


def _line_notes(frame: GridFrame, layout: LinearLayout) -> list[str]:
    """Say which part of a tensor with one dimension is drawn, and how often it repeats."""
    (size,), (down, across) = frame.shape, frame.starts
    last = min(size, down[-1] + across[-1] + frame.size[1]) - 1
    if (down.start, last) == (0, size - 1):
        return []
    notes = [f"Elements {down.start} to {last} of {size}."]
    (part,) = repeating_part(layout)
    if layout.in_registers and part < size:
        notes.append(
            f"The part of {part} repeats {size // part} times in further registers of the same threads."
        )
    return notes


def _memory_run(addresses: Addresses, shape: Sequence[int], dimension: int) -> int:
    """Count the neighbors along a dimension that are contiguous in memory, everywhere in the buffer."""
    steps = []
    for axis, size in enumerate(shape):
        for bit in range(size.bit_length() - 1):
            element = [1 << bit if d == axis else 0 for d in range(len(shape))]
            steps.append((axis, 1 << bit, addresses.offset(element)))
    run = 1
    while (dimension, run, run) in steps:
        # All other bases must leave the offsets within the run unchanged.
        other_offsets = [offset for d, step, offset in steps if d != dimension or step > run]
        if any(offset % (2 * run) for offset in other_offsets):
            break
        run *= 2
    return run


def _initial_part(shape: Sequence[int]) -> list[int]:
    """Return the part of a buffer to draw by default: swizzles repeat after 16 rows."""
    return [min(size, 64 if d == len(shape) - 1 else 16) for d, size in enumerate(shape)]
