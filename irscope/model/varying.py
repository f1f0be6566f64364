"""Finds the properties that vary within a group: the columns that distinguish its variants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from operator import is_
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)


def distinct_values(rows: Sequence[Mapping[_Key, object]]) -> dict[_Key, int]:
    """How many different values each key has, in the order in which the keys first appear.

    A missing key counts as a value. Values are compared as text: True is not 1.
    """
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: len({repr(row[key]) if key in row else None for row in rows}) for key in keys}


def varying(rows: Iterable[Mapping[_Key, object]]) -> list[_Key]:
    """The keys that do not have the same value in every row, in the order in which they first appear.

    A missing key counts as a value. Values are compared as text: True is not 1.
    """
    first: dict[_Key, object] = {}
    different: set[_Key] = set()
    shapes: dict[tuple[_Key, ...], _Shape[_Key]] = {}
    for row in rows:
        keys, values = tuple(row), tuple(row.values())
        shape = shapes.get(keys)
        if shape is None:
            base = tuple([first.setdefault(key, value) for key, value in zip(keys, values, strict=True)])
            shape = shapes[keys] = _Shape(
                keys, base, [i for i, key in enumerate(keys) if key not in different]
            )
        shape.count += 1
        if shape.open and not all(map(is_, map(values.__getitem__, shape.open), shape.values)):
            different.update(shape.differing(values))
    counts: Counter[_Key] = Counter()
    for keys, shape in shapes.items():
        for key in keys:
            counts[key] += shape.count
    number = sum(shape.count for shape in shapes.values())
    return [key for key in first if key in different or counts[key] != number]


class _Shape(Generic[_Key]):
    """The rows with the same keys, of which there are 100,000: `count` of them.

    `open` are the places at which all had the value of the first row that has the key, and `values` these
    values. Rows of a capture have the same objects in most places, which is checked without a loop.
    """

    __slots__ = ("_base", "_keys", "count", "open", "values")

    def __init__(self, keys: tuple[_Key, ...], base: tuple[object, ...], places: list[int]) -> None:
        self._keys, self._base = keys, base
        self.count = 0
        self.open = places
        self.values = [base[place] for place in places]

    def differing(self, values: tuple[object, ...]) -> list[_Key]:
        """The keys whose values differ from those before; their places are not open any more."""
        base = self._base
        closed = [
            place
            for place in self.open
            if values[place] is not base[place] and repr(values[place]) != repr(base[place])
        ]
        if closed:
            self.open = [place for place in self.open if place not in closed]
            self.values = [base[place] for place in self.open]
        return [self._keys[place] for place in closed]
