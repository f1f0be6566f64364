"""Makes the rows of facts of a capture, which share their names and equal texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irscope.facts.fact import FactKind, FactRow, FactValue
from irscope.facts.registry import LAUNCHABLE
from irscope.model.status import parse_status

# The types that the JSON values of facts have.
_TYPES = frozenset((int, float, str, type(None), bool))
# The types of a column of texts, of which some may be unknown.
_TEXTS = ({str}, {str, type(None)})
# So many texts of a fact are held once for all rows.
_MOST_SHARED = 2000


class FactColumns:
    """The facts that the rows of a backend have, in table order, and the texts that they share."""

    def __init__(self, backend: str, kinds: Sequence[FactKind]) -> None:
        self.backend, self.kinds = backend, tuple(kinds)
        names = [kind.name for kind in self.kinds]
        self._places = {name: place for place, name in enumerate(names)}
        self._shared: list[dict[FactValue, FactValue]] = [{} for _ in names]
        self._make = [_status if kind is LAUNCHABLE else _same for kind in self.kinds]

    def rows(self, columns: Mapping[str, Sequence[Any]]) -> list[FactRow] | None:
        """The rows of facts by column, as JSON has them; None if a value is damaged.

        Raises KeyError if a fact was not measured.
        """
        found = [self._checked(place, columns[kind.name]) for place, kind in enumerate(self.kinds)]
        if None in found:
            return None
        return [FactRow(self.kinds, self._places, values) for values in zip(*found, strict=True)]

    def _checked(self, place: int, column: Sequence[Any]) -> Sequence[FactValue] | None:
        """The values of a fact, of which equal texts are one object; None if one is damaged."""
        types = set(map(type, column))
        if not _TYPES.issuperset(types):
            return None
        if self.kinds[place] is not LAUNCHABLE and types not in _TEXTS:
            return column
        shared = self._shared[place]
        values = {text: shared[text] if text in shared else self._new(place, text) for text in set(column)}
        return [values[text] for text in column]

    def _new(self, place: int, text: FactValue) -> FactValue:
        value = self._make[place](text)
        if len(self._shared[place]) < _MOST_SHARED:
            self._shared[place][text] = value
        return value


def _same(text: FactValue) -> FactValue:
    return text


def _status(text: FactValue) -> FactValue:
    return parse_status(text) if isinstance(text, str) else None
