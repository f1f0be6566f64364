"""The shared memory of some programs, for addresses and conditions that pass through it.

Triton converts layouts through shared memory, and so the indices of a gather.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irscope.estimating.counting.lanes import Array, Value
from irscope.estimating.counting.wavefronts import Mask

_SIZE = 1 << 18  # bytes: more than any block can have


class SharedMemory:
    """The bytes of each program's shared memory, and which of them are known."""

    def __init__(self, programs: int, threads: int) -> None:
        self._bytes = np.zeros((programs, _SIZE), np.uint8)
        self._known = np.zeros((programs, _SIZE), bool)
        self._shape = programs, threads
        self._rows = np.arange(programs)[:, None, None]

    def store(self, address: Array, values: Sequence[Value], size: int, active: Mask | None) -> None:
        """Stores elements of `size` bytes one after the other, in the active threads (None: all)."""
        for at, value in enumerate(values):
            places = self._places(address + at * size, size)
            known = value is not None and value.dtype.kind == "i" and value.dtype.itemsize >= size
            if value is not None and known:
                wide = np.ascontiguousarray(np.broadcast_to(value, self._shape))
                data = wide.view(np.uint8).reshape(*self._shape, -1)[:, :, :size]
            else:
                data = np.zeros((*self._shape, size), np.uint8)
            if active is None:
                self._bytes[self._rows, places] = data
                self._known[self._rows, places] = known
            else:
                rows = np.broadcast_to(self._rows, places.shape)[active]
                self._bytes[rows, places[active]] = data[active]
                self._known[rows, places[active]] = known

    def load(self, address: Array, element: str, kind: type, active: Mask | None) -> Value:
        """An element ("u4") of each thread as a register of `kind`; None if an active one's is not known."""
        places = self._places(address, int(element[1:]))
        known = self._known[self._rows, places].all(axis=2)
        if not (known if active is None else known | ~active).all():
            return None
        data = np.ascontiguousarray(self._bytes[self._rows, places])
        found: Array = data.view(element).reshape(self._shape).astype(kind)
        return found

    def _places(self, address: Array, size: int) -> Array:
        wide = np.broadcast_to(address, self._shape) & (_SIZE - 1)
        places: Array = np.minimum(wide[:, :, None] + np.arange(size), _SIZE - 1)
        return places
