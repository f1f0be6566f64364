"""Buffers: where each element is in shared memory, or in tensor memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import prod

from irscope.layouts.attribute import Attribute, UnknownLayoutError
from irscope.layouts.linear import Tile, Vector, row_major
from irscope.model.records import frozen_with_dict

_PADDING = re.compile(r"(\d{1,9}):\+(\d{1,9})")
_MAX_BOX = 256  # elements along one dimension of a TMA copy
# A field that `without_swizzle` adds; TTGIR does not have it.
PLAIN = "irscope.plain"
_SWIZZLED = ("ttg.swizzled_shared", "ttg.amd_rotating_shared", "ttg.nvmma_shared")


@frozen_with_dict
class Padding:
    """`amount` elements left free after every `interval` elements of a buffer."""

    interval: int
    amount: int


def paddings(attribute: Attribute) -> tuple[Padding, ...]:
    """Return the padding of `#ttg.padded_shared<[512:+32] {...}>`; () for other layouts."""
    if attribute.kind != "ttg.padded_shared":
        return ()
    pairs = _PADDING.findall(attribute.fields.get("0", ""))
    return tuple(Padding(int(interval), int(amount)) for interval, amount in pairs if int(interval))


def padded(offset: int, padding: Sequence[Padding]) -> int:
    """Return the offset of an element in memory, in elements, including the padding before it."""
    return offset + sum(offset // gap.interval * gap.amount for gap in padding)


def without_swizzle(attribute: Attribute) -> Attribute:
    """Return the same layout without its swizzle and padding.

    Raises UnknownLayoutError for a layout that has neither.
    """
    if attribute.kind in _SWIZZLED:
        return replace(attribute, fields={**attribute.fields, "maxPhase": "1", PLAIN: "true"})
    if attribute.kind == "ttg.padded_shared":
        return replace(attribute, fields={**attribute.fields, "0": "", PLAIN: "true"})
    raise UnknownLayoutError(f"#{attribute.kind} has no swizzle")


def swizzled(attribute: Attribute, shape: Sequence[int]) -> Tile:
    """Build a row-major buffer whose groups of `vec` elements are permuted by their row's phase."""
    rank, order = len(shape), attribute.numbers("order")
    tile = Tile(rank, "offset")
    if sorted(order) != list(range(rank)):
        raise UnknownLayoutError(f"a buffer of {rank} dimensions with the order {order}")
    tile.spread("offset", shape[order[0]], order[0])
    if rank == 1:
        return tile
    column, row = order[0], order[1]
    step = 1
    while step < shape[row]:
        tile.add("offset", {row: step, column: _phase(attribute, step) % shape[column]})
        step *= 2
    for dimension in order[2:]:
        tile.spread("offset", shape[dimension], dimension)
    return tile


def _phase(attribute: Attribute, row: int) -> int:
    vec, per_phase, phases = (attribute.number(name) for name in ("vec", "perPhase", "maxPhase"))
    if min(vec, per_phase, phases) < 1:
        raise UnknownLayoutError(f"a swizzle by {vec}, {per_phase} and {phases}")
    phase = row // per_phase % phases
    if attribute.kind == "ttg.amd_rotating_shared":
        phase ^= row // phases // per_phase % phases
    return vec * phase


def nvmma(attribute: Attribute, shape: Sequence[int], triton: tuple[int, int]) -> Tile:
    """Build the buffers of TMA, wgmma and tcgen05: 8-row atoms, swizzled over 32, 64 or 128 bytes.

    See PTX ISA, "Swizzling modes". Larger buffers are a sequence of TMA boxes. Triton before 3.8
    treated a transposed buffer without a swizzle as row major.
    """
    box = _box(attribute, shape)
    rank, bytes_ = len(shape), attribute.number("swizzlingByteWidth")
    tile = Tile(rank, "offset")
    if bytes_ == 0:
        order = row_major(rank)
        if attribute.flag("transposed") and triton >= (3, 8):
            if rank != 2:
                raise UnknownLayoutError(f"nvmma_shared, transposed, unswizzled, of {rank} dimensions")
            order = [0, 1]
        for dimension in order:
            tile.spread("offset", box[dimension], dimension)
    else:
        _spread_atoms(tile, attribute, box)
    for dimension, size in enumerate(shape):
        tile.spread("offset", size // tile.size[dimension], dimension)
    return tile


def _box(attribute: Attribute, shape: Sequence[int]) -> list[int]:
    """Return the shape of one TMA copy, in elements of the buffer."""
    contiguous = 0 if attribute.flag("transposed") else len(shape) - 1
    packed = 2 if attribute.flag("fp4Padded") else 1
    sizes = [size * (packed if d == contiguous else 1) for d, size in enumerate(shape)]
    box = [min(size, _MAX_BOX) for size in sizes]
    if bytes_ := attribute.number("swizzlingByteWidth"):
        box[contiguous] = 8 * bytes_ // attribute.number("elementBitWidth")
        if len(shape) < 2 or box[contiguous] > sizes[contiguous]:
            raise UnknownLayoutError("nvmma_shared for less than one atom")
    box[contiguous] //= packed
    return box


def _spread_atoms(tile: Tile, attribute: Attribute, box: Sequence[int]) -> None:
    """Fill a box with atoms. All dimensions but the contiguous one count as rows."""
    order = list(range(len(box)))
    if attribute.flag("transposed"):
        order = [*order[1:], 0]
    sizes = [box[dimension] for dimension in order]
    rows, columns = prod(sizes) // sizes[-1], sizes[-1]
    atom = _atom(attribute)
    if rows < atom.size[0] or columns < atom.size[1]:
        raise UnknownLayoutError("nvmma_shared for less than one atom")
    atom.spread("offset", rows // atom.size[0], 0)
    atom.spread("offset", columns // atom.size[1], 1)
    for row, column in atom.bases["offset"]:
        vector = _unflat(row * columns + column, sizes)
        tile.add("offset", {order[d]: value for d, value in enumerate(vector) if value})


def _atom(attribute: Attribute) -> Tile:
    """Build eight rows whose groups of 16 bytes are permuted by the row."""
    bits, bytes_ = attribute.number("elementBitWidth"), attribute.number("swizzlingByteWidth")
    if bytes_ not in (32, 64, 128) or bits not in (8, 16, 32, 64):
        raise UnknownLayoutError(f"nvmma_shared of {bytes_} bytes and {bits} bits")
    vec, rows_per_phase = 128 // bits, 128 // bytes_
    packed = attribute.flag("fp4Padded")
    tile = Tile(2, "offset")
    step = 1
    while step < 8 * bytes_ // bits:
        tile.add("offset", {1: _packed(step) if packed else step})
        step *= 2
    for row in (1, 2, 4):
        column = vec * (row // rows_per_phase)
        if attribute.flag(PLAIN):
            column = 0
        tile.add("offset", {0: row, 1: _packed(column) if packed else column})
    return tile


def _packed(column: int) -> int:
    """Return the column in packed fp4: of 16 bytes, 8 hold a pair each and 8 are padding."""
    return column // 16 * 8 + column % 8


def _unflat(number: int, sizes: Sequence[int]) -> Vector:
    vector: list[int] = []
    for size in sizes[::-1]:
        number, index = divmod(number, size)
        vector.insert(0, index)
    return tuple(vector)


def offsets(attribute: Attribute, shape: Sequence[int]) -> Tile:
    """Build a buffer whose layout is given by its bases: padded_shared, shared_linear."""
    tile = Tile(len(shape), "offset")
    if "offset" not in attribute.fields and "order" in attribute.fields:
        tile.spread_all("offset", shape, attribute.numbers("order"))
    for name in ("offset", "block"):
        for vector in attribute.vectors(name):
            tile.add(name, {dimension: value for dimension, value in enumerate(vector) if value})
    return tile


def tensor_memory(attribute: Attribute, shape: Sequence[int]) -> Tile:
    """Build an accumulator in tensor memory: 128 rows (lanes), and columns of 32 bits.

    See PTX ISA, tcgen05, "Data path layout organization". A zero vector among the rows means
    that these lanes are unused or hold copies.
    """
    if len(shape) != 2:
        raise UnknownLayoutError(f"tensor memory of {len(shape)} dimensions")
    _refuse_clusters(attribute)
    tall, wide = attribute.number("blockM"), min(attribute.number("blockN"), shape[1])
    tile = Tile(2, "row", "col")
    tile.copy("col", attribute.number("colStride", 1))
    tile.spread("row", 16 if tall == 64 else tall, 0)
    tile.spread("col", wide, 1)
    if tall == 64:
        _spread_half(tile, shape, wide)
    tile.spread("col", shape[0] // tile.size[0], 0)
    tile.spread("col", shape[1] // tile.size[1], 1)
    return tile


def _refuse_clusters(attribute: Attribute) -> None:
    """Raise UnknownLayoutError for tensor memory of several blocks."""
    split = [attribute.fields.get(name, "1") for name in ("CTASplitM", "CTASplitN")]
    if split != ["1", "1"] or attribute.flag("twoCTAs") or attribute.vectors("CGALayout"):
        raise UnknownLayoutError("tensor memory of several blocks")


def _spread_half(tile: Tile, shape: Sequence[int], wide: int) -> None:
    """Add the rows of a 64-row tile: every other group of 16 lanes holds another tile, if it exists."""
    if shape[0] > 64:
        tile.add("row", {0: 64})
    else:
        tile.add("row", {1: wide} if shape[1] > wide else {})
    for step in (16, 32):
        tile.add("row", {0: step})


def scales(attribute: Attribute, shape: Sequence[int]) -> Tile:
    """Build scale factors in tensor memory, four copies of 32 rows (PTX ISA, "Scale factor layouts")."""
    if len(shape) != 2:
        raise UnknownLayoutError(f"scales of {len(shape)} dimensions in tensor memory")
    _refuse_clusters(attribute)
    tile = Tile(2, "row", "col")
    tile.spread("row", 32, 0)
    tile.copy("row", 4)
    tile.spread("col", 4, 1)
    tile.spread("col", 2, 0)
    tile.fit(shape, (0, 1), "col")
    return tile
