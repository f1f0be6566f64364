"""Which thread holds which elements of a tensor, and what that means for a load and for copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.gf2 import Span
from irscope.layouts.linear import LinearLayout, Vector, flat

# Beyond this a map of every element takes seconds.
MOST_ELEMENTS = 1 << 18


@dataclass(frozen=True, slots=True)
class Place:
    """Where an element is held."""

    block: int
    warp: int
    lane: int
    register: int


@dataclass(frozen=True, slots=True)
class OwnershipSummary:
    """A layout in numbers.

    `registers` is how many elements one thread holds, `lanes` and `warps` how many threads there are.
    `holders` is how many threads hold each element, `repeats` how often one thread does. `run` is how many
    neighbours along `dimension` stand in registers next to each other.
    """

    registers: int
    lanes: int
    warps: int
    blocks: int
    holders: int
    repeats: int
    dimension: int
    run: int


def holders(layout: LinearLayout) -> dict[Vector, list[Place]]:
    """For each element the places that hold it, in the order of blocks, warps, lanes and registers.

    Raises UnknownLayoutError for a layout in memory and one of too many elements.
    """
    if not layout.in_registers:
        raise UnknownLayoutError("a layout in memory is held by no thread")
    inputs = ("block", "warp", "lane", "register")
    if prod(map(layout.size, inputs)) > MOST_ELEMENTS:
        raise UnknownLayoutError(f"more than {MOST_ELEMENTS:,} places")
    found = layout.places(inputs)
    return {element: [Place(*place) for place in sorted(places)] for element, places in found.items()}


def held(layout: LinearLayout, warp: int, lane: int, block: int = 0) -> list[Vector]:
    """The elements that one thread holds, by register. Raises UnknownLayoutError for no such thread."""
    for name, value in (("warp", warp), ("lane", lane), ("block", block)):
        if not 0 <= value < layout.size(name):
            raise UnknownLayoutError(f"no {name} {value}: there are {layout.size(name)}")
    if layout.size("register") > MOST_ELEMENTS:
        raise UnknownLayoutError(f"more than {MOST_ELEMENTS:,} elements in a thread")
    first = layout.element(warp=warp, lane=lane, block=block)
    return [_xor(first, moved) for moved in layout.elements("register")]


def summary(layout: LinearLayout) -> OwnershipSummary:
    """The layout in numbers. Raises UnknownLayoutError for a layout in memory."""
    if not layout.in_registers:
        raise UnknownLayoutError("a layout in memory is held by no thread")
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
        holders=1 << (copies - in_thread),
        repeats=1 << in_thread,
        dimension=dimension,
        run=run,
    )


def longest_run(layout: LinearLayout) -> tuple[int, int]:
    """The dimension along which a thread's first registers hold neighbours, and how many."""
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


def tile(layout: LinearLayout) -> Vector:
    """The shape of the part that repeats: beyond it only the numbers of registers go on.

    A dimension is cut where all vectors that reach further are a register's and move nothing else.
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


def _xor(one: Sequence[int], other: Sequence[int]) -> Vector:
    return tuple([a ^ b for a, b in zip(one, other, strict=True)])
