"""Why B was compiled after A, whether it was worth it, and drawings of the layouts that differ.

Computed while the capture is open; reports are formatted after it is closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irscope.model import UserError
from irscope.workspace import (
    Comparison,
    DrawingOptions,
    LayoutComparison,
    LayoutDrawing,
    TextLine,
    ValuePair,
    Window,
    cell_size,
    reason_lines,
    worth_lines,
)

# The values that are drawn, and those that are listed.
_MAX_DRAWN, _MAX_LISTED = 3, 40
# The cells of the drawing of a part, and its fewest rows; the rows and columns of that of a whole value.
_MAX_CELLS, _MIN_ROWS = 160, 4
_MAX_ROWS, _MAX_COLUMNS = 16, 16


@dataclass(frozen=True)
class ValueDrawing:
    """A value in A, and in B unless both are the same variant; `difference` says how its layouts differ."""

    name: str
    difference: str
    drawings: Sequence[LayoutDrawing]


@dataclass(frozen=True)
class PairExplanation:
    """The explanation of a pair.

    `reasons` and `worth` are sentences below a title; empty for a single variant. `layouts` are drawings of
    the values that differ most, `differences` the name of each value whose layout differs, with how.
    `no_layouts` says why there are none.
    """

    reasons: Sequence[TextLine] = ()
    worth: Sequence[TextLine] = ()
    layouts: Sequence[ValueDrawing] = ()
    differences: Sequence[tuple[str, str]] = ()
    no_layouts: str = ""


def explain_pair(comparison: Comparison) -> PairExplanation:
    """The explanation of a pair, or of a single variant if A is B."""
    single = comparison.single
    reasons = () if single else reason_lines(comparison)
    worth = () if single else worth_lines(comparison)
    try:
        layouts = LayoutComparison(comparison)
    except UserError as error:
        return PairExplanation(reasons, worth, no_layouts=str(error))
    drawn = [_drawn(layouts, value) for value in layouts.notable(_MAX_DRAWN)]
    differences = list(layouts.differences())
    none = "The kernel has no tensors." if single else "No value has another layout."
    return PairExplanation(
        reasons, worth, drawn, differences[:_MAX_LISTED], "" if drawn or differences else none
    )


def _drawn(layouts: LayoutComparison, value: ValuePair) -> ValueDrawing:
    drawings = layouts.draw(value, DrawingOptions())
    columns = max(len(drawing.grid.columns) for drawing in drawings)
    most = max(_MIN_ROWS, _MAX_CELLS // max(1, columns))
    if any(len(drawing.grid.rows) > most for drawing in drawings):
        drawings = layouts.draw(value, DrawingOptions(Window(rows=(0, most))))
    if len(drawings) == 2 and drawings[0].grid.cells == drawings[1].grid.cells:
        # The parts that repeat are equal: the whole values show how often each repeats.
        cell = cell_size(layouts.shapes(value), _MAX_ROWS, _MAX_COLUMNS)
        drawings = layouts.draw(value, DrawingOptions(cell=cell))
    return ValueDrawing(value.name, layouts.difference(value), drawings)
