"""What `ttg.convert_layout` has to move: between registers, between lanes, between warps or blocks."""

from __future__ import annotations

from enum import Enum

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.gf2 import Span
from irscope.layouts.linear import LinearLayout, flat

_INPUTS = ("register", "lane", "warp", "block")


class Move(Enum):
    """How far elements travel."""

    NOTHING = "nothing: each register already holds its element"
    REGISTERS = "within each thread: registers are renamed, no instruction need move data"
    LANES = "between the lanes of a warp: by shuffles, or through shared memory where that is cheaper"
    WARPS = "between warps: through shared memory"
    BLOCKS = "between the blocks of a cluster: through distributed shared memory"


def move(source: LinearLayout, target: LinearLayout) -> Move:
    """What becomes of a tensor in the layout `source` that is wanted in `target`.

    Each place of `target` looks for its element as near as there is one: in its own thread, its warp, its
    block. Raises UnknownLayoutError for layouts in memory and for tensors of different shapes.
    """
    if not source.in_registers or not target.in_registers or source.shape != target.shape:
        raise UnknownLayoutError("no conversion between these")
    have, want = _vectors(source), _vectors(target)
    if _without_copies(have) == _without_copies(want):
        return Move.NOTHING
    for reach, outcome in ((1, Move.REGISTERS), (2, Move.LANES), (3, Move.WARPS)):
        if _within(have, want, reach):
            return outcome
    return Move.BLOCKS


def _within(have: dict[str, list[int]], want: dict[str, list[int]], reach: int) -> bool:
    """Whether each place finds its element where only the first `reach` inputs differ.

    Both maps are linear, so it is enough to look at one bit at a time.
    """
    near = Span(vector for name in _INPUTS[:reach] for vector in have[name])
    if any(vector not in near for name in _INPUTS[:reach] for vector in want[name]):
        return False
    for name in _INPUTS[reach:]:
        ours, theirs = have[name], want[name]
        if len(ours) != len(theirs):
            return False
        if any(one ^ other not in near for one, other in zip(ours, theirs, strict=True)):
            return False
    return True


def _without_copies(vectors: dict[str, list[int]]) -> dict[str, list[int]]:
    """Registers that only repeat an element do not count: Triton before 3.9 lists them."""
    return {**vectors, "register": [vector for vector in vectors["register"] if vector]}


def _vectors(layout: LinearLayout) -> dict[str, list[int]]:
    return {name: [flat(vector, layout.shape) for vector in layout.bases.get(name, ())] for name in _INPUTS}
