"""The cost of `ttg.convert_layout`: how far elements move between registers, lanes, warps and blocks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from irscope.languages.document import Document
from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.linear import LinearLayout, Span, flat
from irscope.layouts.tensors import Layouts, Tensor, alias_bodies, operation_tensors
from irscope.model.frozen_value import FrozenValue

_INPUTS = ("register", "lane", "warp", "block")


class ConversionCost(Enum):
    """How far elements move; the value describes it."""

    NOTHING = "nothing: each register already holds its element"
    REGISTERS = "within each thread: registers are renamed, no data moves"
    LANES = "between the lanes of a warp: by shuffles, or through shared memory if that is cheaper"
    WARPS = "between warps: through shared memory"
    BLOCKS = "between the blocks of a cluster: through distributed shared memory"


def conversion_cost(source: LinearLayout, target: LinearLayout) -> ConversionCost:
    """The cost of converting a tensor from the layout `source` to `target`.

    Each register of `target` gets its element from the nearest copy: in its own thread, warp or block. Raises
    UnknownLayoutError for layouts in memory and for tensors of different shapes.
    """
    if not source.in_registers or not target.in_registers or source.shape != target.shape:
        raise UnknownLayoutError("a conversion between memory and registers, or between shapes")
    have, want = _vectors(source), _vectors(target)
    if _without_copies(have) == _without_copies(want):
        return ConversionCost.NOTHING
    for reach, cost in ((1, ConversionCost.REGISTERS), (2, ConversionCost.LANES), (3, ConversionCost.WARPS)):
        if _within(have, want, reach):
            return cost
    return ConversionCost.BLOCKS


def _within(have: dict[str, list[int]], want: dict[str, list[int]], reach: int) -> bool:
    """Whether each register finds its element at a position that differs only in the first `reach` inputs.

    Both maps are linear, so comparing one bit at a time is enough.
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
    """The vectors without registers that only repeat an element, which Triton before 3.9 lists."""
    return {**vectors, "register": [vector for vector in vectors["register"] if vector]}


def _vectors(layout: LinearLayout) -> dict[str, list[int]]:
    return {name: [flat(vector, layout.shape) for vector in layout.bases.get(name, ())] for name in _INPUTS}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Conversion(FrozenValue):
    """A `ttg.convert_layout`. `cost` is None if a layout is not supported; `why_not` is the reason."""

    index: int
    line: int
    source: Tensor
    target: Tensor
    cost: ConversionCost | None
    why_not: str = ""


def conversions(document: Document, layouts: Layouts) -> list[Conversion]:
    """The layout conversions of a TTGIR document, in the order of the text."""
    bodies = alias_bodies(document)
    found = []
    for operation in document.operations:
        if operation.opcode != "ttg.convert_layout":
            continue
        types = operation_tensors(document, operation, bodies)
        if len(types) != 2:
            continue
        line = operation.location.outermost.line if operation.location else 0
        source, target = types
        cost, why_not = _cost_or_reason(source, target, layouts)
        found.append(Conversion(operation.line, line, source, target, cost, why_not))
    return found


def _cost_or_reason(source: Tensor, target: Tensor, layouts: Layouts) -> tuple[ConversionCost | None, str]:
    try:
        return conversion_cost(layouts.of(source), layouts.of(target)), ""
    except UnknownLayoutError as error:
        return None, str(error)
