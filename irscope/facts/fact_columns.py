"""Makes the rows of facts of a capture, which share their names and equal values."""

from __future__ import annotations

from collections.abc import Sequence

from irscope.facts.fact import FactKind, FactRow, FactValue

# Values that are held once for all rows, per fact.
_MOST_SHARED = 2000
_Shared = dict[tuple[type, FactValue], FactValue]


class FactColumns:
    """The facts that the rows of a backend have, in table order, and the values that they share."""

    def __init__(self, backend: str, kinds: Sequence[FactKind]) -> None:
        self.backend, self.kinds = backend, tuple(kinds)
        self._places = {kind.name: place for place, kind in enumerate(self.kinds)}
        self._shared: tuple[_Shared, ...] = tuple({} for _ in self.kinds)

    def row(self, values: Sequence[FactValue]) -> FactRow:
        """The row with these values, one per kind."""
        return FactRow(self.kinds, self._places, tuple(map(_held, self._shared, values)))


def _held(shared: _Shared, value: FactValue) -> FactValue:
    key = type(value), value  # True is not 1
    return shared.setdefault(key, value) if len(shared) < _MOST_SHARED else shared.get(key, value)
