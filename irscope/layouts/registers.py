"""What threads hold of tensors with general layouts: blocked, linear, and operands of blocked."""

from __future__ import annotations

from collections.abc import Sequence

from irscope.layouts.attribute import Attribute, UnknownLayoutError
from irscope.layouts.linear import Vector
from irscope.layouts.tile import Tile, operand_order, row_major


def blocked(attribute: Attribute, shape: Sequence[int]) -> tuple[Tile, list[int]]:
    """The tile of a block's warps, and the order of dimensions in which it repeats over `shape`.

    Raises UnknownLayoutError.
    """
    order = attribute.numbers("order")
    tile = Tile(len(shape), "register", "lane", "warp")
    tile.spread_all("register", attribute.numbers("sizePerThread"), order)
    tile.spread_all("lane", attribute.numbers("threadsPerWarp"), order)
    tile.spread_all("warp", attribute.numbers("warpsPerCTA"), order)
    return tile, order


def blocked_operand(attribute: Attribute, shape: Sequence[int]) -> tuple[Tile, list[int]]:
    """`blocked` for operand A or B of a product without matrix instructions: a thread holds all of k."""
    parent, rank = attribute.nested("parent"), len(shape)
    inner = operand_order(attribute.number("opIdx"), rank)[0]
    order = parent.numbers("order")
    sizes = parent.numbers("sizePerThread")
    if len(sizes) != rank:
        raise UnknownLayoutError(f"an operand of #{parent.kind} with {rank} dimensions")
    sizes[inner] = shape[inner]
    tile = Tile(rank, "register", "lane", "warp")
    tile.spread_all("register", sizes, order)
    tile.spread_all("lane", parent.numbers("threadsPerWarp"), order, copied=inner)
    tile.spread_all("warp", parent.numbers("warpsPerCTA"), order, copied=inner)
    return tile, order


def linear(attribute: Attribute, shape: Sequence[int]) -> tuple[Tile, list[int]]:
    """`blocked` for a layout that is written as its vectors, the blocks' among them."""
    tile = Tile(len(shape), "register", "lane", "warp", "block")
    for name in ("register", "lane", "warp", "block"):
        for vector in attribute.vectors(name):
            tile.add(name, {dimension: value for dimension, value in enumerate(vector) if value})
    return tile, _register_order(attribute.vectors("register"), len(shape))


def _register_order(vectors: Sequence[Vector], rank: int) -> list[int]:
    """The dimensions as the registers run through them, then the others from behind."""
    first = [next((d for d, value in enumerate(vector) if value), -1) for vector in vectors]
    return [d for d in dict.fromkeys([*first, *row_major(rank)]) if 0 <= d < rank]
