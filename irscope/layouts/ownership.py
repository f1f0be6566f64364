"""Ownership: which thread holds which elements of a tensor in which registers, and how many copies exist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.linear import Inverse, LinearLayout, Vector, VectorSpan, flat, xor
from irscope.model.records import frozen

# With more elements, a map of all of them takes seconds.
MAX_ELEMENTS = 1 << 18


_ORDER = ("register", "lane", "warp", "block", "row", "col")


class Positions:
    """Where each element of a layout in registers or tensor memory is; of several copies, the first.

    Layouts are linear: the position of an element is the exclusive or of the positions of its bits.
    """

    def __init__(self, layout: LinearLayout) -> None:
        self._layout = layout
        inputs = [name for name in _ORDER if name in layout.bases]
        vectors = (vector for name in inputs for vector in layout.bases[name])
        inverse = Inverse([flat(vector, layout.shape) for vector in vectors])
        self._owners = ownership_summary(layout).owners if layout.in_registers else 1
        self._along = [
            _sums([inverse(flat(unit, layout.shape)) for unit in _units(layout.shape, dimension)])
            for dimension in range(len(layout.shape))
        ]
        self._fields: dict[str, tuple[int, int]] = {}
        shift = 0
        for name in inputs:
            self._fields[name] = shift, layout.size(name) - 1
            shift += len(layout.bases[name])

    def value(self, name: str, element: Sequence[int]) -> int:
        """Return the value of an input. Raises UnknownLayoutError if no position holds the element."""
        if name not in self._fields:
            return 0
        position = 0
        for index, along in zip(element, self._along, strict=True):
            part = along[index]
            if part is None:
                raise UnknownLayoutError("an element that no position holds")
            position ^= part
        shift, mask = self._fields[name]
        return position >> shift & mask

    def text(self, element: Sequence[int]) -> str:
        """Say where an element is: `warp 0 lane 14 (thread 14) register 1`, or its lane of tensor memory."""
        if not self._layout.in_registers:
            return f"lane {self.value('row', element)}, column {self.value('col', element)} of tensor memory"
        warp, lane, register = (self.value(name, element) for name in ("warp", "lane", "register"))
        thread = warp * self._layout.size("lane") + lane
        block = f"block {self.value('block', element)} " if self._layout.size("block") > 1 else ""
        text = f"{block}warp {warp} lane {lane} (thread {thread}) register {register}"
        more = self._owners - 1
        return f"{text}, and {more} more thread{'s' if more > 1 else ''}" if more else text


def _sums(units: Sequence[int | None]) -> list[int | None]:
    """Return the exclusive or of the units at the bits of each number; None if a unit is None."""
    sums: list[int | None] = [0]
    for unit in units:
        sums += [None if unit is None or other is None else other ^ unit for other in sums]
    return sums


def _units(shape: Vector, dimension: int) -> Iterator[Vector]:
    """Yield the elements at 1, 2, 4, ... along a dimension."""
    for bit in range((shape[dimension] - 1).bit_length()):
        yield tuple(1 << bit if d == dimension else 0 for d in range(len(shape)))


@frozen
class OwnershipSummary:
    """The dimensions of a register layout.

    `registers` are per thread, `lanes` per warp, `warps` per block. `owners` threads hold each element,
    `repeats` times in each. `run` neighbors along `dimension` are in consecutive registers.
    """

    registers: int
    lanes: int
    warps: int
    blocks: int
    owners: int
    repeats: int
    dimension: int
    run: int


def thread_elements(layout: LinearLayout, warp: int, lane: int) -> list[Vector]:
    """Return the elements of a thread in the first block by register.

    Raises UnknownLayoutError if there is no such thread, or if it has too many elements.
    """
    for name, value in (("warp", warp), ("lane", lane)):
        if not 0 <= value < layout.size(name):
            raise UnknownLayoutError(f"no {name} {value}: there are {layout.size(name)}")
    if layout.size("register") > MAX_ELEMENTS:
        raise UnknownLayoutError(f"more than {MAX_ELEMENTS:,} elements per thread")
    first = layout.element(warp=warp, lane=lane)
    return [xor(first, offset) for offset in layout.elements("register")]


def ownership_summary(layout: LinearLayout) -> OwnershipSummary:
    """Return the dimensions of a register layout. Raises UnknownLayoutError for a layout in memory."""
    if not layout.in_registers:
        raise UnknownLayoutError("a layout in memory, which no thread owns")
    vectors = {
        name: [flat(vector, layout.shape) for vector in layout.bases.get(name, ())]
        for name in ("register", "lane", "warp", "block")
    }
    every = [vector for rows in vectors.values() for vector in rows]
    in_thread = len(vectors["register"]) - VectorSpan(vectors["register"]).rank
    copies = len(every) - VectorSpan(every).rank
    dimension, run = longest_run(layout)
    return OwnershipSummary(
        layout.size("register"),
        layout.size("lane"),
        layout.size("warp"),
        layout.size("block"),
        owners=1 << (copies - in_thread),
        repeats=1 << in_thread,
        dimension=dimension,
        run=run,
    )


def longest_run(layout: LinearLayout) -> tuple[int, int]:
    """Find the dimension along which a thread's first registers hold neighbors, and count these."""
    vectors = [vector for vector in layout.bases.get("register", ()) if any(vector)]
    best, length = len(layout.shape) - 1, 1
    for dimension in range(len(layout.shape)):
        steps = {v[dimension] for v in vectors if sum(map(bool, v)) == 1}
        run = 1
        while run in steps:
            run *= 2
        if run > length:
            best, length = dimension, run
    return best, length


def repeating_part(layout: LinearLayout) -> Vector:
    """Return the shape of the part that repeats.

    Beyond it, the same threads hold elements in further registers. A dimension ends where all
    bases that reach further are register bases along only this dimension.
    """
    sizes = []
    for dimension, size in enumerate(layout.shape):
        fixed = [
            vector[dimension]
            for name, vectors in layout.bases.items()
            for vector in vectors
            if vector[dimension] and (name != "register" or sum(map(bool, vector)) > 1)
        ]
        reach = max(fixed, default=0)
        sizes.append(min(size, 1 << reach.bit_length()))
    return tuple(sizes)
