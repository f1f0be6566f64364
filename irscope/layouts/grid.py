"""Layouts as grids of cells, which the terminal, SVG and the app draw alike.

A cell stands for neighbours that one thread holds in registers next to each other, or that stay together
in memory, so that large tensors become small pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.banks import BANKS, Addresses, Wavefronts, bank
from irscope.layouts.linear import LinearLayout, Vector
from irscope.layouts.ownership import MOST_ELEMENTS, Place, holders, longest_run, tile

# A tensor of one dimension is drawn in lines of so many cells.
_LINE = 8
_CHUNK = 16  # bytes: what a thread moves at most, and a swizzle keeps together


@dataclass(frozen=True, slots=True)
class GridCell:
    """One cell: its label, `group` for its colour (warp, bank, lane), `shade` (0 or 1) to tell neighbours
    apart, whether it is `marked`, and `words`, a sentence about it.
    """

    label: str
    group: int
    shade: int = 0
    marked: bool = False
    words: str = ""


@dataclass(frozen=True)
class Grid:
    """Cells in rows (None where there is none), with labels for rows and columns.

    `legend` says what each group is; `notes` are sentences below the picture.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[GridCell | None, ...], ...]
    legend: tuple[tuple[int, str], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """Which part to draw, in elements: rows and columns from, to; None for the part that repeats.

    `plane` chooses among the matrices of a tensor of three dimensions.
    """

    rows: tuple[int, int] | None = None
    columns: tuple[int, int] | None = None
    plane: int = 0


@dataclass(frozen=True, slots=True)
class _Frame:
    """A window in cells: the elements at which rows and columns begin, and how many a cell has."""

    shape: tuple[int, ...]
    plane: int
    starts: tuple[range, range]
    size: tuple[int, int]

    def element(self, row: int, column: int) -> Vector:
        if len(self.shape) == 1:
            return (row + column,)
        if len(self.shape) == 2:
            return (row, column)
        return (*(0 for _ in self.shape[3:]), self.plane, row, column)

    def name(self, element: Vector) -> str:
        return f"({', '.join(map(str, element))})"


def register_grid(layout: LinearLayout, title: str, window: Window, mark: int | None = None) -> Grid:
    """Which thread holds each element: `T12:0-7` is thread 12 of the block, registers 0 to 7.

    `mark` is the thread to mark. Raises UnknownLayoutError.
    """
    places = holders(layout)
    dimension, run = longest_run(layout)
    frame = _frame(layout, window, dimension, run, tile(layout))
    lanes = layout.size("lane")
    rows = [
        tuple(_held(frame, places, row, column, lanes, mark) for column in frame.starts[1])
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
    )


def _held(
    frame: _Frame, places: dict[Vector, list[Place]], row: int, column: int, lanes: int, mark: int | None
) -> GridCell:
    elements = [
        frame.element(row + r, column + c) for r in range(frame.size[0]) for c in range(frame.size[1])
    ]
    first, last = places[elements[0]], places[elements[-1]]
    own = first[0]
    thread = own.warp * lanes + own.lane
    registers = f"{own.register}-{last[0].register}" if len(elements) > 1 else str(own.register)
    others = len({(place.block, place.warp, place.lane) for place in first}) - 1
    holds = {place.warp * lanes + place.lane for place in first}
    block = f" block {own.block}" if any(place.block for place in first) or own.block else ""
    words = (
        f"element {frame.name(elements[0])}:{block} warp {own.warp} lane {own.lane} (thread {thread}) "
        f"register{'s' if len(elements) > 1 else ''} {registers}"
        + (f", and {others} more thread{'s' if others > 1 else ''}" if others else "")
    )
    label = f"T{thread}:{registers}" + (f"+{others}" if others else "")
    return GridCell(label, own.warp, own.lane % 2, mark is not None and mark in holds, words)


def memory_grid(
    layout: LinearLayout, addresses: Addresses, bits: int, title: str, window: Window, vec: int = 0
) -> Grid:
    """Where each element lies: `464 b20` begins at byte 464, in bank 20. `vec` is how many stay together.

    Raises UnknownLayoutError.
    """
    together = vec or max(1, _CHUNK * 8 // bits)
    last = max(range(len(layout.shape)), key=lambda d: _runs(addresses, layout.shape, d))
    run = min(together, _runs(addresses, layout.shape, last))
    whole = _memory_tile(layout.shape)
    frame = _frame(layout, window, last, run, whole)
    cells = [
        tuple(_placed(frame, addresses, bits, row, column) for column in frame.starts[1])
        for row in frame.starts[0]
    ]
    return Grid(
        title,
        tuple(str(row) for row in frame.starts[0]),
        tuple(str(column) for column in frame.starts[1]),
        tuple(cells),
        notes=(
            "Each cell: the byte it begins at, and the bank. A colour is four banks.",
            *_part_notes(frame, layout),
        ),
    )


def _placed(frame: _Frame, addresses: Addresses, bits: int, row: int, column: int) -> GridCell:
    element = frame.element(row, column)
    byte = addresses.byte(element)
    count = prod(frame.size)
    end = byte + max(1, count * bits // 8) - 1
    banks = f"{bank(byte)}" if bank(byte) == bank(end) else f"{bank(byte)}-{bank(end)}"
    words = f"element {frame.name(element)}: byte {byte}, bank{'s' if '-' in banks else ''} {banks}"
    return GridCell(f"{byte} b{bank(byte)}", bank(byte) // 4, bank(byte) // 2 % 2, False, words)


def tensor_memory_grid(layout: LinearLayout, title: str, window: Window) -> Grid:
    """Where each element lies in tensor memory: `r3 c16` is lane 3, column 16. Raises UnknownLayoutError."""
    if layout.size("row") * layout.size("col") > MOST_ELEMENTS:
        raise UnknownLayoutError(f"more than {MOST_ELEMENTS:,} places")
    places = layout.places(("row", "col"))
    run = max(1, next((r for r in (16, 8, 4, 2) if _column_run(layout, r)), 1))
    frame = _frame(layout, window, len(layout.shape) - 1, run, _memory_tile(layout.shape))
    cells = []
    for row in frame.starts[0]:
        line = []
        for column in frame.starts[1]:
            element = frame.element(row, column)
            lane, first = min(places[element])
            more = f"-{first + run - 1}" if run > 1 else ""
            words = f"element {frame.name(element)}: lane {lane}, column {first}{more} of tensor memory"
            line.append(GridCell(f"r{lane} c{first}{more}", lane // 16, first // run % 2, False, words))
        cells.append(tuple(line))
    groups = sorted({cell.group for row in cells for cell in row})
    return Grid(
        title,
        tuple(map(str, frame.starts[0])),
        tuple(map(str, frame.starts[1])),
        tuple(cells),
        tuple((group, f"lanes {16 * group}-{16 * group + 15}") for group in groups),
        tuple(_part_notes(frame, layout)),
    )


def _column_run(layout: LinearLayout, run: int) -> bool:
    """Whether so many neighbours along the last dimension lie in columns next to each other."""
    steps = layout.bases.get("col", ())[: run.bit_length() - 1]
    return len(steps) == run.bit_length() - 1 and all(
        not any(vector[:-1]) and vector[-1] == 1 << bit for bit, vector in enumerate(steps)
    )


def turns_grid(turns: Wavefronts, title: str, who: str = "lane") -> Grid:
    """One pass of a warp over the banks: a row for each turn, in it the lanes that each bank serves."""
    wanted: dict[int, list[tuple[int, list[int]]]] = {}
    for which, words in turns.words.items():
        served = [(word, _wanting(turns, word)) for word in sorted(words)]
        wanted[which] = served
    step = max(1, turns.width // 4)
    rows = []
    for turn in range(turns.count):
        row: list[GridCell | None] = []
        for first in range(0, BANKS, step):
            served = wanted.get(first, [])
            row.append(_served(served[turn], first, step, turn, who) if turn < len(served) else None)
        rows.append(tuple(row))
    columns = tuple(f"b{first}" for first in range(0, BANKS, step))
    names = tuple(f"turn {turn + 1}" for turn in range(turns.count))
    return Grid(title, names, columns, tuple(rows))


def _wanting(turns: Wavefronts, word: int) -> list[int]:
    return [
        lane
        for lane, address in zip(turns.lanes, turns.addresses, strict=True)
        if address // 4 <= word <= (address + turns.width - 1) // 4
    ]


def _served(served: tuple[int, list[int]], first: int, step: int, turn: int, who: str) -> GridCell:
    word, lanes = served
    label = f"{who[0].upper()}{lanes[0]}" + (f"+{len(lanes) - 1}" if len(lanes) > 1 else "")
    banks = f"bank {first}" if step == 1 else f"banks {first}-{first + step - 1}"
    words = f"turn {turn + 1}: {banks} serve {who} {', '.join(map(str, lanes))} from byte {word * 4}"
    return GridCell(label, lanes[0] // 4 % 8, lanes[0] % 2, turn > 0, words)


def _frame(
    layout: LinearLayout, window: Window, dimension: int, run: int, repeating: Sequence[int]
) -> _Frame:
    """The window in cells; without one, the part that repeats."""
    shape = layout.shape
    if len(shape) == 1:
        line = min(shape[0], run * _LINE)
        low, high = _range(window.columns, shape[0], shape[0])
        return _Frame(shape, 0, (range(low, high, line), range(0, line, min(run, line))), (1, min(run, line)))
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
    return _Frame(shape, window.plane, (ranges[0], ranges[1]), size)


def _range(chosen: tuple[int, int] | None, length: int, part: int) -> tuple[int, int]:
    low, high = chosen or (0, part)
    high = min(high, length)
    if not 0 <= low < high:
        raise UnknownLayoutError(f"nothing from {low} to {high}: the tensor ends at {length}")
    return low, high


def _part_notes(frame: _Frame, layout: LinearLayout) -> list[str]:
    shape, (down, across) = layout.shape, frame.starts
    if len(shape) == 1:
        return []
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
        part = tile(layout)[-2:]
        times = [size // own for size, own in zip(shape[-2:], part, strict=True)]
        if max(times) > 1:
            notes.append(
                f"The part of {part[0]} x {part[1]} repeats {times[0]} x {times[1]} times, "
                "held by the same threads in further registers."
            )
    if len(shape) > 2:
        notes.append(f"Plane {frame.plane} of {shape[-3]} along dimension {len(shape) - 3}.")
    return notes


def _runs(addresses: Addresses, shape: Sequence[int], dimension: int) -> int:
    """How many neighbours along a dimension lie next to each other in memory, in order, wherever they are."""
    steps = []
    for other, size in enumerate(shape):
        for bit in range(size.bit_length() - 1):
            element = [1 << bit if d == other else 0 for d in range(len(shape))]
            steps.append((other, 1 << bit, addresses.offset(element)))
    run = 1
    while (dimension, run, run) in steps:
        # What moves anything else must leave the places within the run alone.
        own = [offset for d, step, offset in steps if d != dimension or step > run]
        if any(offset % (2 * run) for offset in own):
            break
        run *= 2
    return run


def _memory_tile(shape: Sequence[int]) -> list[int]:
    """A part of a buffer to begin with: swizzles repeat after 16 rows."""
    return [min(size, 64 if d == len(shape) - 1 else 16) for d, size in enumerate(shape)]
