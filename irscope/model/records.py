"""The methods that frozen dataclasses have in common: comparison, hash and text.

`dataclass` writes and compiles these three for each class, which takes 0.2 ms a class before it is used, more
than half a command's time for all classes. A class with this base is declared with eq=False and repr=False.

Mappings that share their keys: a row of a table, of which a large capture has 100,000.

A row of 50 values has 450 bytes; a dict with 50 keys has 2,300.

Finds the properties that vary within a group: the columns that distinguish its variants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field, fields
from functools import cache
from operator import is_
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Callable[[Any], Any]:
        """Return a decorator that changes nothing: only type checkers need it. Python 3.11 has it."""
        return lambda decorator: decorator


_Class = TypeVar("_Class")


class FrozenValue:
    """A base of frozen dataclasses: equal if all compared fields of two objects of one class are."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        kind: Any = self.__class__
        values = _compared(kind)
        return values(self) == values(other)

    def __hash__(self) -> int:
        kind: Any = self.__class__  # mypy: a class with __hash__ is not taken for hashable itself
        return hash(_compared(kind)(self))

    def __repr__(self) -> str:
        kind: Any = self.__class__
        words = (f"{name}={getattr(self, name)!r}" for name in _shown(kind))
        return f"{self.__class__.__qualname__}({', '.join(words)})"


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(kind: type[_Class]) -> type[_Class]:
    """Make a class a frozen dataclass with slots and the methods of FrozenValue."""
    return dataclass(frozen=True, slots=True, eq=False, repr=False)(_with_methods(kind))


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen_with_dict(kind: type[_Class]) -> type[_Class]:
    """Make a class a frozen dataclass as `frozen` does, but without slots: it has a cached property."""
    return dataclass(frozen=True, eq=False, repr=False)(_with_methods(kind))


def _with_methods(kind: type[_Class]) -> type[_Class]:
    """Give a class the methods of FrozenValue that it does not define itself."""
    for name in ("__eq__", "__hash__", "__repr__"):
        if getattr(kind, name) is getattr(object, name):
            setattr(kind, name, getattr(FrozenValue, name))
    return kind


@cache
def _compared(kind: Any) -> Callable[[object], tuple[object, ...]]:
    """Return the function that reads the compared fields of an object."""
    from operator import attrgetter

    names = [item.name for item in fields(kind) if item.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


@cache
def _shown(kind: Any) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind) if item.repr)


_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value", bound=Hashable)
_Item = TypeVar("_Item")


class FrozenRow(Mapping[_Key, _Value]):
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
        """Return a key that is equal for rows of one RowMaker with equal values in the same order."""
        return id(self._places), self._values

    def items(self) -> ItemsView[_Key, _Value]:
        """Return the keys and values, as a dict has them: several times as fast as by `__getitem__`."""
        return dict(zip(self._places, self._values, strict=True)).items()

    def values(self) -> ValuesView[_Value]:
        """Return the values, as a dict has them."""
        return dict(zip(self._places, self._values, strict=True)).values()


class RowMaker(Generic[_Key, _Value]):
    """Makes rows of mappings; those with equal keys share them, and equal values are held once."""

    def __init__(self) -> None:
        self._places: dict[tuple[_Key, ...], dict[_Key, int]] = {}
        self._values: dict[_Value, _Value] = {}

    def row(self, values: Mapping[_Key, _Value]) -> FrozenRow[_Key, _Value]:
        """Return the row with these values, which must be of one type: True and 1 are equal."""
        keys = tuple(values)
        if keys not in self._places:
            self._places[keys] = {key: position for position, key in enumerate(keys)}
        return FrozenRow(self._places[keys], tuple(self._values.setdefault(v, v) for v in values.values()))


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Map each key to its items, both in the order of `items`."""
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def distinct_values(rows: Sequence[Mapping[_Key, object]]) -> dict[_Key, int]:
    """Count the different values of each key, in the order in which the keys first appear.

    A missing key counts as a value. Values are compared as text: True is not 1.
    """
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: len({repr(row[key]) if key in row else None for row in rows}) for key in keys}


def varying_keys(rows: Iterable[Mapping[_Key, object]]) -> list[_Key]:
    """Return the keys that do not have the same value in every row, in order of first appearance.

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
        self.values = [base[position] for position in places]

    def differing(self, values: tuple[object, ...]) -> list[_Key]:
        """Return the keys whose values differ from those before; their places are not open any more."""
        base = self._base
        closed = [
            position
            for position in self.open
            if values[position] is not base[position] and repr(values[position]) != repr(base[position])
        ]
        if closed:
            self.open = [position for position in self.open if position not in closed]
            self.values = [base[position] for position in self.open]
        return [self._keys[position] for position in closed]
