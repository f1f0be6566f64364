"""Mappings that share their keys: a row of a table, of which a large capture has 100,000.

A row of 50 values has 450 bytes; a dict with 50 keys has 2,300.
"""

from __future__ import annotations

from collections.abc import Hashable, ItemsView, Iterator, Mapping, ValuesView
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value", bound=Hashable)


class Row(Mapping[_Key, _Value]):
    """A mapping that cannot be changed; `places` maps its keys to the positions of their values."""

    __slots__ = ("_places", "_values")

    def __init__(self, places: Mapping[_Key, int], values: tuple[_Value, ...]) -> None:
        self._places, self._values = places, values

    def __getitem__(self, key: _Key) -> _Value:
        return self._values[self._places[key]]

    def __iter__(self) -> Iterator[_Key]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    @property
    def identity(self) -> tuple[int, tuple[_Value, ...]]:
        """Equal for two rows of one RowMaker if they have equal values in the same order."""
        return id(self._places), self._values

    def items(self) -> ItemsView[_Key, _Value]:
        """The keys and values, as a dict has them: several times as fast as by `__getitem__`."""
        return dict(zip(self._places, self._values, strict=True)).items()

    def values(self) -> ValuesView[_Value]:
        """The values, as a dict has them."""
        return dict(zip(self._places, self._values, strict=True)).values()


class RowMaker(Generic[_Key, _Value]):
    """Makes rows of mappings; those with equal keys share them, and equal values are held once."""

    def __init__(self) -> None:
        self._places: dict[tuple[_Key, ...], dict[_Key, int]] = {}
        self._values: dict[_Value, _Value] = {}

    def row(self, values: Mapping[_Key, _Value]) -> Row[_Key, _Value]:
        """The row with these values, which must be of one type: True and 1 are equal."""
        keys = tuple(values)
        if keys not in self._places:
            self._places[keys] = {key: place for place, key in enumerate(keys)}
        return Row(self._places[keys], tuple(self._values.setdefault(v, v) for v in values.values()))
