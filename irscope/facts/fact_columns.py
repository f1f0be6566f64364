"""Makes the rows of facts of a capture, which share their names and equal texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from irscope.facts.fact import FactKind, FactRow, FactValue
from irscope.facts.registry import LAUNCHABLE
from irscope.model.status import parse_status

# The types that the JSON values of facts have.
_TYPES = frozenset((int, float, str, type(None), bool))
# So many texts of a fact are held once for all rows.
_MOST_SHARED = 2000
# So many combinations of types are distinguished.
_MOST_TYPES = 32


class FactColumns:
    """The facts that the rows of a backend have, in table order, and the texts that they share."""

    def __init__(self, backend: str, kinds: Sequence[FactKind]) -> None:
        self.backend, self.kinds = backend, tuple(kinds)
        names = [kind.name for kind in self.kinds]
        self._places = {name: place for place, name in enumerate(names)}
        self._pick = itemgetter(*names)  # a tuple, because there are many kinds
        # The places of the values that are text, by the types of all values of a row.
        self._text_places: dict[tuple[type, ...], tuple[int, ...]] = {}
        self._shared: list[dict[FactValue, FactValue]] = [{} for _ in names]
        self._make = [_status if kind is LAUNCHABLE else _same for kind in self.kinds]

    def row(self, values: Mapping[str, Any]) -> FactRow | None:
        """The row with these values, as JSON has them; None if one of them is damaged.

        Raises KeyError if one was not measured.
        """
        picked = self._pick(values)
        types = tuple(map(type, picked))
        places = self._text_places.get(types)
        if places is None:
            if not _TYPES.issuperset(types):
                return None
            places = self._places_of_text(types)
        found = list(picked)
        for place in places:
            shared, text = self._shared[place], found[place]
            found[place] = shared[text] if text in shared else self._new(place, text)
        return FactRow(self.kinds, self._places, tuple(found))

    def _places_of_text(self, types: tuple[type, ...]) -> tuple[int, ...]:
        """The places of text, and that of the status, which must not stay what JSON has."""
        kinds = zip(types, self.kinds, strict=True)
        places = tuple(place for place, (one, kind) in enumerate(kinds) if one is str or kind is LAUNCHABLE)
        if len(self._text_places) < _MOST_TYPES:
            self._text_places[types] = places
        return places

    def _new(self, place: int, text: FactValue) -> FactValue:
        value = self._make[place](text)
        if len(self._shared[place]) < _MOST_SHARED:
            self._shared[place][text] = value
        return value


def _same(text: FactValue) -> FactValue:
    return text


def _status(text: FactValue) -> FactValue:
    return parse_status(text) if isinstance(text, str) else None
