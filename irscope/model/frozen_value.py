"""The methods that frozen dataclasses have in common: comparison, hash and text.

`dataclass` writes and compiles these three for each class, which takes 0.2 ms a class before it is used, more
than half a command's time for all classes. A class with this base is declared with eq=False and repr=False.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any


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


@cache
def _compared(kind: Any) -> Callable[[object], tuple[object, ...]]:
    """Returns the function that reads the compared fields of an object."""
    from operator import attrgetter

    names = [each.name for each in fields(kind) if each.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


@cache
def _shown(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if each.repr)
