"""What the programs of a launch wrote to global memory, and what each reads of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from irscope.interpreting.bits import hashes
from irscope.interpreting.bits.hashes import Hashes
from irscope.interpreting.runtime_values import ARGUMENT_SPACING, RuntimeValue
from irscope.interpreting.stage_program import Op

Addresses = NDArray[np.int64]


@dataclass
class Writes:
    """Writes to what one argument points to, in order; `steps` are the operations that wrote, by line."""

    addresses: list[Addresses] = field(default_factory=list)
    values: list[Hashes] = field(default_factory=list)
    steps: dict[int, Op] = field(default_factory=dict)

    def final(self) -> tuple[Addresses, Hashes]:
        """Return each address once, in ascending order, with what was written to it last."""
        if not self.addresses:
            return np.zeros(0, np.int64), np.zeros(0, np.uint64)
        addresses = np.concatenate(self.addresses)[::-1]
        values = np.concatenate(self.values)[::-1]
        unique, index = np.unique(addresses, return_index=True)
        return unique, values[index]


# The output of writes whose addresses depend on data, by the hash of the address.
SCATTERED = -1


class Memory:
    """The global memory of a launch, as its programs see and change it."""

    def __init__(self) -> None:
        # By the number of the argument, over all programs.
        self.outputs: dict[int, Writes] = {}
        # (argument, kind) -> contributions of atomic operations.
        self.atomics: dict[tuple[int, str], Writes] = {}
        # True if the program uses what an atomic operation found, which depends on the order of the programs.
        self.ordered = False
        self._own: dict[int, Writes] = {}
        self._sorted: dict[int, tuple[Addresses, Hashes]] = {}

    def begin(self, program_id: tuple[int, int, int]) -> None:
        """Begin a program: it sees nothing of what other programs wrote."""
        self._own, self._sorted = {}, {}

    @property
    def has_writes(self) -> bool:
        """Return True if the program that is executed has written."""
        return bool(self._own)

    @property
    def adds(self) -> bool:
        """Return True if programs added floats with atomics."""
        return any(kind == "fadd" for _, kind in self.atomics)

    def most_adds(self) -> int:
        """Return how often floats were added to one element at most, as far as programs were executed."""
        counts = [
            int(np.unique(np.concatenate(writes.addresses), return_counts=True)[1].max(initial=0))
            for (_, kind), writes in self.atomics.items()
            if kind == "fadd"
        ]
        return max(counts, default=0)

    def read(self, addresses: Addresses, size: int) -> Hashes:
        """Return what is at known addresses."""
        data = hashes.mix(addresses.view(np.uint64) * np.uint64(0x9FB21C651E98DF25) + np.uint64(size))
        if not self._own:
            return data
        for argument in self._own:
            low = (argument + 1) * ARGUMENT_SPACING
            if addresses.max() < low or addresses.min() >= low + ARGUMENT_SPACING:
                continue
            if argument not in self._sorted:
                self._sorted[argument] = self._own[argument].final()
            known, values = self._sorted[argument]
            place = np.minimum(np.searchsorted(known, addresses), len(known) - 1)
            data = np.where(known[place] == addresses, values[place], data)
        return data

    def write(
        self, step: Op, address: RuntimeValue, data: Hashes, mask: RuntimeValue | None, shape: Sequence[int]
    ) -> None:
        """Write hashes to addresses, where the mask holds."""
        addresses, values = _masked(address, data, mask, shape)
        if not addresses.size:
            return
        for argument, chosen in _by_argument(address, addresses):
            for place in (self.outputs, self._own) if argument != SCATTERED else (self.outputs,):
                writes = place.setdefault(argument, Writes())
                writes.addresses.append(addresses[chosen])
                writes.values.append(values[chosen])
                writes.steps[step.line] = step
            self._sorted.pop(argument, None)

    def add(
        self,
        step: Op,
        kind: str,
        address: RuntimeValue,
        data: Hashes,
        mask: RuntimeValue | None,
        shape: Sequence[int],
    ) -> None:
        """Note the contributions of an atomic operation."""
        addresses, values = _masked(address, data, mask, shape)
        for argument, chosen in _by_argument(address, addresses):
            writes = self.atomics.setdefault((argument, kind), Writes())
            writes.addresses.append(addresses[chosen])
            writes.values.append(values[chosen])
            writes.steps[step.line] = step


def _masked(
    address: RuntimeValue, data: Hashes, mask: RuntimeValue | None, shape: Sequence[int]
) -> tuple[Addresses, Hashes]:
    addresses = np.broadcast_to(address.data, tuple(shape)).reshape(-1)
    values = np.broadcast_to(data, tuple(shape)).reshape(-1)
    if mask is None:
        return addresses.view(np.int64), values
    conditions = np.broadcast_to(mask.data, tuple(shape)).reshape(-1)
    if mask.known:
        chosen = conditions != 0
        return addresses[chosen].view(np.int64), values[chosen]
    kept = hashes.unary("kept", addresses.view(np.uint64))
    return addresses.view(np.int64), hashes.several("select", conditions, values, kept)


def _by_argument(address: RuntimeValue, addresses: Addresses) -> list[tuple[int, NDArray[np.bool_] | slice]]:
    """Return the numbers of the arguments that addresses belong to, with which addresses do."""
    if not address.known:
        return [(SCATTERED, slice(None))]
    if not addresses.size:
        return []
    numbers = addresses // ARGUMENT_SPACING - 1
    first = int(numbers[0])
    if bool(np.all(numbers == first)):
        return [(first, slice(None))]
    return [(int(number), numbers == number) for number in np.unique(numbers)]
