"""Linear layouts: a place in hardware (register, lane, warp, block, or offset) -> an element of a tensor.

Each bit of each input stands for a vector; the element is the exclusive or of the vectors of the set bits
("Linear Layouts: Robust Code Generation of Efficient Tensor Computation Using F2", arXiv 2505.23819).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

Vector = tuple[int, ...]
Bases = Mapping[str, tuple[Vector, ...]]


@dataclass(frozen=True)
class LinearLayout:
    """A layout of a tensor of this shape (in elements).

    `bases` names the inputs: register, lane, warp and block for registers, offset (in elements) and block
    for shared memory, row and col for tensor memory; each has one vector a bit, the lowest bit first.
    """

    bases: Bases
    shape: tuple[int, ...]

    def size(self, name: str) -> int:
        """How many values the input has."""
        return 1 << len(self.bases.get(name, ()))

    def element(self, **places: int) -> Vector:
        """The element at a place; inputs that are not given are 0."""
        vectors = [
            vector
            for name, place in places.items()
            for bit, vector in enumerate(self.bases.get(name, ()))
            if place >> bit & 1
        ]
        return reduce(_xor, vectors, (0,) * len(self.shape))

    def elements(self, name: str) -> list[Vector]:
        """The element of each value of one input, the others being 0."""
        found: list[Vector] = [(0,) * len(self.shape)]
        for vector in self.bases.get(name, ()):
            found += [_xor(known, vector) for known in found]
        return found

    @cached_property
    def in_registers(self) -> bool:
        """Whether threads hold it, in contrast to memory."""
        return "register" in self.bases

    def places(self, inputs: Sequence[str]) -> dict[Vector, list[Vector]]:
        """For each element where it is: the values of `inputs`, in order, the other inputs being 0."""
        places: dict[Vector, list[Vector]] = {}
        for place, element in self._walk(inputs):
            places.setdefault(element, []).append(place)
        return places

    def _walk(self, inputs: Sequence[str]) -> Iterator[tuple[Vector, Vector]]:
        start: list[tuple[Vector, Vector]] = [((), (0,) * len(self.shape))]
        for name in inputs:
            values = self.elements(name)
            start = [
                ((*place, value), _xor(element, moved))
                for place, element in start
                for value, moved in enumerate(values)
            ]
        return iter(start)


def flat(element: Sequence[int], shape: Sequence[int]) -> int:
    """The number of an element in row-major order.

    For sizes that are powers of two it goes with exclusive or: that of a ^ b is that of a ^ that of b.
    """
    number = 0
    for index, size in zip(element, shape, strict=True):
        number = number * size + index
    return number


def _xor(one: Vector, other: Vector) -> Vector:
    return tuple([a ^ b for a, b in zip(one, other, strict=True)])
