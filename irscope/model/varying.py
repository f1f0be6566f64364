"""Finds the properties that vary within a group: the columns that distinguish its variants."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

_Key = TypeVar("_Key", bound=Hashable)


def distinct_values(rows: Sequence[Mapping[_Key, object]]) -> dict[_Key, int]:
    """How many different values each key has, in the order in which the keys first appear.

    A missing key counts as a value. Values are compared as text: True is not 1.
    """
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: len({repr(row[key]) if key in row else None for row in rows}) for key in keys}


def varying(rows: Sequence[Mapping[_Key, object]]) -> list[_Key]:
    """The keys that do not have the same value in every row, in the order in which they first appear."""
    return [key for key, number in distinct_values(rows).items() if number > 1]
