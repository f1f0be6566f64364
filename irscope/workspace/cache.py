"""A cache that knows how much it holds: stages differ in size by five orders of magnitude."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class SizedCache(Generic[Value]):
    """Keeps values until their sizes add up to more than `limit`; the one unused for longest goes first.

    The newest value is kept whatever its size. Several threads may use it.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = 0
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> Value | None:
        """The value of `key`, None where it is not held."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: Value, size: int) -> Value:
        """Keeps `value`, and returns it."""
        with self._lock:
            if key in self._values:
                self._held -= self._values.pop(key)[1]
            self._values[key] = (value, size)
            self._held += size
            while self._held > self._limit and len(self._values) > 1:
                _, (_, gone) = self._values.popitem(last=False)
                self._held -= gone
        return value
