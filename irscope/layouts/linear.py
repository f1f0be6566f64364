"""Linear layouts: a hardware position (register, lane, warp, block, or offset) -> an element of a tensor.

    register = [(0, 1)], lane = [(0, 2), (1, 0)]
    -> register 1 of lane 3 holds (0, 1) ^ (0, 2) ^ (1, 0) = (1, 3)

Each bit of each input has a vector, its basis. The element is the exclusive or of the vectors of the set bits
("Linear Layouts: Robust Code Generation of Efficient Tensor Computation Using F2", arXiv 2505.23819). In this
form all layouts convert, invert and compare in the same few lines.

A linear layout under construction: tiles that are repeated, or cut, to fit a shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, reduce

from irscope.layouts.attribute import UnknownLayoutError
from irscope.model.records import frozen_with_dict

Vector = tuple[int, ...]
Bases = Mapping[str, tuple[Vector, ...]]


@frozen_with_dict
class LinearLayout:
    """A layout of a tensor of this shape (in elements).

    The inputs in `bases` are register, lane, warp and block for registers, offset (in elements) and block
    for shared memory, row and col for tensor memory. Each has one vector per bit, the lowest bit first.
    """

    bases: Bases
    shape: tuple[int, ...]

    def size(self, name: str) -> int:
        """Return the number of values of an input."""
        return 1 << len(self.bases.get(name, ()))

    def element(self, **inputs: int) -> Vector:
        """Return the element at a position; inputs that are not given are 0."""
        vectors = [
            vector
            for name, value in inputs.items()
            for bit, vector in enumerate(self.bases.get(name, ()))
            if value >> bit & 1
        ]
        return reduce(xor, vectors, (0,) * len(self.shape))

    def elements(self, name: str) -> list[Vector]:
        """Return the element of each value of one input; the other inputs are 0."""
        elements: list[Vector] = [(0,) * len(self.shape)]
        for vector in self.bases.get(name, ()):
            elements += [xor(element, vector) for element in elements]
        return elements

    @cached_property
    def in_registers(self) -> bool:
        """Return True if registers hold the tensor, as opposed to memory."""
        return "register" in self.bases


def flat(element: Sequence[int], shape: Sequence[int]) -> int:
    """Return the index of an element in row-major order.

    For sizes that are powers of two, it is linear: flat(a ^ b) = flat(a) ^ flat(b).
    """
    number = 0
    for index, size in zip(element, shape, strict=True):
        number = number * size + index
    return number


def xor(one: Vector, other: Vector) -> Vector:
    """Return the exclusive or of two vectors, dimension by dimension."""
    return tuple([a ^ b for a, b in zip(one, other, strict=True)])


class VectorSpan:
    """The span of vectors of bits over GF(2), with a vector as an integer and exclusive or as the sum."""

    def __init__(self, vectors: Iterable[int] = ()) -> None:
        self._pivots: dict[int, int] = {}
        for vector in vectors:
            self.add(vector)

    def __contains__(self, vector: int) -> bool:
        return self._reduce(vector) == 0

    @property
    def rank(self) -> int:
        """Number of independent vectors."""
        return len(self._pivots)

    def add(self, vector: int) -> bool:
        """Add a vector; return whether it is independent of the earlier ones."""
        remainder = self._reduce(vector)
        if remainder:
            self._pivots[remainder.bit_length()] = remainder
        return bool(remainder)

    def _reduce(self, vector: int) -> int:
        while vector and (pivot := self._pivots.get(vector.bit_length())):
            vector ^= pivot
        return vector


class Inverse:
    """The inverse of the linear map over GF(2) that takes bit i to `columns[i]`.

    If several inputs have one output, it returns the one without the bits of redundant later columns.
    """

    def __init__(self, columns: Sequence[int]) -> None:
        self._rows: dict[int, tuple[int, int]] = {}
        for bit, column in enumerate(columns):
            value, source = self._reduced(column, 1 << bit)
            if value:
                self._rows[value.bit_length()] = (value, source)

    def __call__(self, value: int) -> int | None:
        """Return an input whose output is `value`; None if there is none."""
        remainder, source = self._reduced(value, 0)
        return None if remainder else source

    def _reduced(self, value: int, source: int) -> tuple[int, int]:
        while value and (row := self._rows.get(value.bit_length())):
            value, source = value ^ row[0], source ^ row[1]
        return value, source


# More than any real tensor has; a size from a damaged text must not fill the memory.
MAX_BITS = 40


class Tile:
    """A layout of `rank` dimensions that grows from a single element at position 0 of each input."""

    def __init__(self, rank: int, *inputs: str) -> None:
        self.size = [1] * rank
        self.bases: dict[str, list[list[int]]] = {name: [] for name in inputs}

    def spread(self, name: str, count: int, dimension: int) -> None:
        """Repeat the tile `count` times along `dimension`, for further values of an input."""
        for _ in range(_bits(count)):
            self.add(name, {dimension: self.size[dimension]})

    def copy(self, name: str, count: int) -> None:
        """Add `count` times as many values of an input that hold copies of the same elements."""
        for _ in range(_bits(count)):
            self.add(name, {})

    def add(self, name: str, vector: dict[int, int]) -> None:
        """Add a bit to an input; its vector is given by dimension."""
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
        """Call `spread` along each dimension in `order`; values along `copied` hold copies instead."""
        if len(counts) != len(self.size) or sorted(order) != list(range(len(self.size))):
            raise UnknownLayoutError("a layout whose fields do not have the rank of the tensor")
        for dimension in order:
            if dimension == copied:
                self.copy(name, counts[dimension])
            else:
                self.spread(name, counts[dimension], dimension)

    def fit(self, shape: Sequence[int], order: Sequence[int], name: str, drop: bool = False) -> None:
        """Repeat the tile for further values of `name` (dimensions in `order`), then cut it to `shape`.

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
        """Repeat the tile of one block for the blocks of a cluster.

        `blocks` has a vector per bit of the block number, counted in tiles.
        """
        tile = list(self.size)
        for vector in blocks:
            step = {d: v * tile[d] for d, v in enumerate(vector) if v and v * tile[d] < shape[d]}
            self.add("block", step)

    def finished(self) -> LinearLayout:
        """Return the layout."""
        bases = {name: tuple(tuple(row) for row in rows) for name, rows in self.bases.items()}
        return LinearLayout(bases, tuple(self.size))


def _bits(count: int) -> int:
    if count < 0 or count & (count - 1):
        raise UnknownLayoutError(f"{count}, not a power of two")
    return max(0, count.bit_length() - 1)


def row_major(rank: int) -> list[int]:
    """Return the dimensions, the last one first."""
    return list(range(rank))[::-1]


def column_major(rank: int) -> list[int]:
    """Return the dimensions: the second to last, the last, then the others backwards."""
    order = row_major(rank)
    if rank > 1:
        order[0], order[1] = order[1], order[0]
    return order


def operand_order(which: int, rank: int) -> list[int]:
    """Return the dimensions of operand A (0) or B (1) of a matrix product, along k first."""
    if which not in (0, 1):
        raise UnknownLayoutError(f"operand {which} of a matrix product")
    return row_major(rank) if which == 0 else column_major(rank)
