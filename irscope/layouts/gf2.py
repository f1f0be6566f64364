"""Vectors of bits under exclusive or: spans, ranks and inverses, with a vector as an integer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Span:
    """What sums of vectors reach."""

    def __init__(self, vectors: Iterable[int] = ()) -> None:
        self._pivots: dict[int, int] = {}
        for vector in vectors:
            self.add(vector)

    def __contains__(self, vector: int) -> bool:
        return self._rest(vector) == 0

    @property
    def rank(self) -> int:
        """How many of the vectors are independent."""
        return len(self._pivots)

    def add(self, vector: int) -> bool:
        """Takes in one more vector; whether it reached further than those before."""
        rest = self._rest(vector)
        if rest:
            self._pivots[rest.bit_length()] = rest
        return bool(rest)

    def _rest(self, vector: int) -> int:
        while vector and (pivot := self._pivots.get(vector.bit_length())):
            vector ^= pivot
        return vector


class Inverse:
    """For the linear map that takes bit i to `columns[i]`: which input gives an output.

    Of several inputs the one without the bits that later columns repeat.
    """

    def __init__(self, columns: Sequence[int]) -> None:
        self._rows: dict[int, tuple[int, int]] = {}
        for bit, column in enumerate(columns):
            value, source = self._reduced(column, 1 << bit)
            if value:
                self._rows[value.bit_length()] = (value, source)

    def __call__(self, value: int) -> int | None:
        """An input that gives `value`; None where there is none."""
        rest, source = self._reduced(value, 0)
        return None if rest else source

    def _reduced(self, value: int, source: int) -> tuple[int, int]:
        while value and (row := self._rows.get(value.bit_length())):
            value, source = value ^ row[0], source ^ row[1]
        return value, source
