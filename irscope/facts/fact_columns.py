"""Makes the rows of facts of a capture, which share their names and equal values."""

from __future__ import annotations

from collections.abc import Sequence

from irscope.facts.fact import FactKind, FactRow, FactValue
from irscope.facts.registry import LAUNCHABLE

# A fact's values are held once for all rows, until it has so many or twice as many.
_MOST_SHARED = 2000
# So many combinations of types are distinguished.
_MOST_TYPES = 32


class FactColumns:
    """The facts that the rows of a backend have, in table order, and the values that they share.

    `launchable` is the place of the fact that is a Status, None if there is none.
    """

    def __init__(self, backend: str, kinds: Sequence[FactKind]) -> None:
        self.backend, self.kinds = backend, tuple(kinds)
        self.names = tuple(kind.name for kind in self.kinds)
        self.launchable = self.names.index(LAUNCHABLE.name) if LAUNCHABLE in self.kinds else None
        self._places = {kind.name: place for place, kind in enumerate(self.kinds)}
        self._by_types: dict[tuple[type, ...], _SharedValues] = {}

    def row(self, values: Sequence[FactValue]) -> FactRow:
        """The row with these values, one per kind."""
        types = tuple(map(type, values))
        shared = self._by_types.get(types)
        if shared is None:
            if len(self._by_types) >= _MOST_TYPES:
                return FactRow(self.kinds, self._places, tuple(values))
            shared = self._by_types[types] = _SharedValues(len(types))
        return FactRow(self.kinds, self._places, shared.row(values))


class _SharedValues:
    """The values of rows whose values have the same types: True is not 1, though they are equal."""

    def __init__(self, count: int) -> None:
        self._values: list[dict[FactValue, FactValue]] = [{} for _ in range(count)]
        self._hold = [values.setdefault for values in self._values]
        self._rows = 0

    def row(self, values: Sequence[FactValue]) -> tuple[FactValue, ...]:
        """The values, each as the object that other rows have."""
        self._rows += 1
        if self._rows % _MOST_SHARED == 0:
            self._hold = [v.setdefault if len(v) < _MOST_SHARED else v.get for v in self._values]  # type: ignore[misc]
        return tuple([hold(value, value) for hold, value in zip(self._hold, values, strict=True)])
