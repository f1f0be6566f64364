"""Ownership: which thread holds which elements of a tensor in which registers, and how many copies exist."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.linear import LinearLayout, Span, Vector, flat, xor
from irscope.model.records import FrozenValue

# With more elements, a map of all of them takes seconds.
MAX_ELEMENTS = 1 << 18


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RegisterPosition(FrozenValue):
    """A register of a thread, which holds one element."""

    block: int
    warp: int
    lane: int
    register: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OwnershipSummary(FrozenValue):
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


def owners(layout: LinearLayout) -> dict[Vector, list[RegisterPosition]]:
    """Map each element to the registers that hold it, ordered by block, warp, lane and register.

    Raises UnknownLayoutError for a layout in memory and for one with more than MAX_ELEMENTS
    elements.
    """
    if not layout.in_registers:
        raise UnknownLayoutError("a layout in memory, which no thread owns")
    inputs = ("block", "warp", "lane", "register")
    if prod(map(layout.size, inputs)) > MAX_ELEMENTS:
        raise UnknownLayoutError(f"more than {MAX_ELEMENTS:,} registers")
    positions = layout.positions(inputs)
    return {
        element: [RegisterPosition(*position) for position in sorted(every)]
        for element, every in positions.items()
    }


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
    in_thread = len(vectors["register"]) - Span(vectors["register"]).rank
    copies = len(every) - Span(every).rank
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
