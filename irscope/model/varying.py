"""Finds the properties that vary within a group: the columns that distinguish its variants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

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
    counts: Counter[_Key] = Counter()
    different: set[_Key] = set()
    number = 0
    for number, row in enumerate(rows, 1):  # noqa: B007 - the last one is the number of rows
        counts.update(row.keys())
        for key, value in row.items():
            known = first.setdefault(key, value)
            if known is not value and key not in different and repr(known) != repr(value):
                different.add(key)
    return [key for key in first if key in different or counts[key] != number]
