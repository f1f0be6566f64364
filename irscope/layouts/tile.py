"""A linear layout under construction: tiles that are repeated, or cut, to fit a shape."""

from __future__ import annotations

from collections.abc import Sequence

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.linear import LinearLayout, Vector

# More than any real tensor has; a size from a damaged text must not fill the memory.
MAX_BITS = 40


class Tile:
    """A layout of `rank` dimensions that grows from a single element at position 0 of each input."""

    def __init__(self, rank: int, *inputs: str) -> None:
        self.size = [1] * rank
        self.bases: dict[str, list[list[int]]] = {name: [] for name in inputs}

    def spread(self, name: str, count: int, dimension: int) -> None:
        """Repeats the tile `count` times along `dimension`, for further values of an input."""
        for _ in range(_bits(count)):
            self.add(name, {dimension: self.size[dimension]})

    def copy(self, name: str, count: int) -> None:
        """Adds `count` times as many values of an input that hold copies of the same elements."""
        for _ in range(_bits(count)):
            self.add(name, {})

    def add(self, name: str, vector: dict[int, int]) -> None:
        """Adds a bit to an input; its vector is given by dimension."""
        if not all(0 <= dimension < len(self.size) for dimension in vector):
            raise UnknownLayoutError("a dimension that the tensor does not have")
        row = [vector.get(dimension, 0) for dimension in range(len(self.size))]
        self.bases.setdefault(name, []).append(row)
        for dimension, step in vector.items():
            self.size[dimension] = max(self.size[dimension], 1 << step.bit_length())
        if sum(map(len, self.bases.values())) > MAX_BITS:
            raise UnknownLayoutError("a layout of more elements than any tensor has")

    def spread_all(
        self, name: str, counts: Sequence[int], order: Sequence[int], copied: int | None = None
    ) -> None:
        """`spread` along each dimension in `order`; values along `copied` hold copies instead."""
        if len(counts) != len(self.size) or sorted(order) != list(range(len(self.size))):
            raise UnknownLayoutError("a layout whose fields do not have the rank of the tensor")
        for dimension in order:
            if dimension == copied:
                self.copy(name, counts[dimension])
            else:
                self.spread(name, counts[dimension], dimension)

    def fit(self, shape: Sequence[int], order: Sequence[int], name: str, drop: bool = False) -> None:
        """Repeats the tile for further values of `name` (dimensions in `order`), then cuts it to `shape`.

        Cut-off values become copies of the remaining ones; with `drop`, those of `name` are removed.
        """
        for dimension in order:
            self.spread(name, shape[dimension] // self.size[dimension], dimension)
        for dimension, size in enumerate(shape):
            if drop:
                self.bases[name] = [row for row in self.bases[name] if row[dimension] < size]
            for rows in self.bases.values():
                for row in rows:
                    row[dimension] = row[dimension] if row[dimension] < size else 0
            self.size[dimension] = min(self.size[dimension], size)

    def over_blocks(self, blocks: Sequence[Vector], shape: Sequence[int]) -> None:
        """Repeats the tile of one block for the blocks of a cluster.

        `blocks` has a vector per bit of the block number, counted in tiles.
        """
        tile = list(self.size)
        for vector in blocks:
            step = {d: v * tile[d] for d, v in enumerate(vector) if v and v * tile[d] < shape[d]}
            self.add("block", step)

    def finished(self) -> LinearLayout:
        """The layout."""
        bases = {name: tuple(tuple(row) for row in rows) for name, rows in self.bases.items()}
        return LinearLayout(bases, tuple(self.size))


def _bits(count: int) -> int:
    if count < 0 or count & (count - 1):
        raise UnknownLayoutError(f"{count}, not a power of two")
    return max(0, count.bit_length() - 1)


def row_major(rank: int) -> list[int]:
    """The dimensions, the last one first."""
    return list(range(rank))[::-1]


def column_major(rank: int) -> list[int]:
    """The dimensions: the second to last, the last, then the others backwards."""
    order = row_major(rank)
    if rank > 1:
        order[0], order[1] = order[1], order[0]
    return order


def operand_order(which: int, rank: int) -> list[int]:
    """The dimensions of operand A (0) or B (1) of a matrix product, along k first."""
    if which not in (0, 1):
        raise UnknownLayoutError(f"operand {which} of a matrix product")
    return row_major(rank) if which == 0 else column_major(rank)
