"""The facts of a variant as a row of values: 100,000 variants with a dict of 50 `Fact`s each take 600 MB.

A row is a mapping of names to facts as every view reads it; it makes a Fact when one is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.facts.fact import Fact, FactKind, FactValue, FactValues

# Values that are held once for all rows, per fact.
_MOST_SHARED = 2000


class FactColumns:
    """The facts that the rows of a backend have, in table order, and the values that they share."""

    def __init__(self, backend: str, kinds: Sequence[FactKind]) -> None:
        self.backend, self.kinds = backend, tuple(kinds)
        self.places = {kind.name: place for place, kind in enumerate(self.kinds)}
        self._shared: tuple[dict[tuple[type, FactValue], FactValue], ...] = tuple({} for _ in self.kinds)

    def row(self, values: Sequence[FactValue]) -> FactRow:
        """The row with these values, one per kind."""
        return FactRow(self, tuple(map(_held, self._shared, values)))


def _held(shared: dict[tuple[type, FactValue], FactValue], value: FactValue) -> FactValue:
    key = type(value), value  # True is not 1
    return shared.setdefault(key, value) if len(shared) < _MOST_SHARED else shared.get(key, value)


class FactRow(FactValues):
    """The facts of one variant by name, without evidence."""

    __slots__ = ("_columns", "_values")

    def __init__(self, columns: FactColumns, values: tuple[FactValue, ...]) -> None:
        self._columns, self._values = columns, values

    def __getitem__(self, name: str) -> Fact:
        place = self._columns.places[name]
        return Fact(self._columns.kinds[place], self._values[place])

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns.places)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._columns.places

    def value(self, name: str) -> FactValue:
        """The value of a fact; None if it is unknown."""
        place = self._columns.places.get(name)
        return None if place is None else self._values[place]
