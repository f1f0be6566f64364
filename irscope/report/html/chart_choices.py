"""Which facts of a section are drawn, over what, with which marks, and how their axes are labeled."""

from __future__ import annotations

from collections.abc import Sequence

from irscope.workspace import EACH, FactKind, TableSection, axes, axis_scale, chartable_facts

# The facts that are drawn if they vary, in this order.
_DRAWN = ("ms", "estimate", "registers", "stack", "occupancy", "shared", "instructions", "seconds")
# The mark of each series around (0, 0): series differ in shape as well as in color. Then that of a variant
# with a problem.
MARKS = (
    "M-3.5,0a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0",
    "M-3,-3h6v6h-6z",
    "M0,-4L4,3H-4z",
    "M0,-4.5L4.5,0L0,4.5L-4.5,0z",
    "M0,4L4,-3H-4z",
    "M-4,-1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z",
)
PROBLEM_MARK = "M-3,-3L3,3M-3,3L3,-3"
_MOST_STEPS = 4
# Units that the title or the labels already contain.
_IMPLIED_UNITS = ("", "fraction", "milliseconds", "registers", "instructions")
_BETTER = {"low": "lower is better", "high": "higher is better"}


def charted_kinds(section: TableSection) -> list[FactKind]:
    """The facts that are drawn first: those of most interest that vary."""
    variants = [entry.variant for entry in section.entries]
    facts = {entry.variant.id: entry.facts for entry in section.entries}
    kinds = [
        kind for kind in chartable_facts(variants, facts) if kind.name in _DRAWN and _varies(section, kind)
    ]
    return sorted(kinds, key=lambda kind: _DRAWN.index(kind.name))


def split_of(section: TableSection, axis: str) -> str:
    """The axis that splits a chart into series: the last other one with few values; "" if there is none."""
    found = axes([entry.variant for entry in section.entries])
    for name in reversed(found):
        if name in (axis, EACH):
            continue
        values = {repr(found[name](entry.variant)) for entry in section.entries}
        if 1 < len(values) <= len(MARKS):
            return name
    return ""


def axis_title(axis: str) -> str:
    """The title of a horizontal axis."""
    return "each variant, best first" if axis == EACH else axis


def about(kind: FactKind) -> str:
    """The title of the vertical axis of a chart: `Shared, bytes; lower is better`."""
    title = kind.title if kind.unit in _IMPLIED_UNITS else f"{kind.title}, {kind.unit}"
    better = _BETTER.get(kind.better, "")
    return f"{title}; {better}" if better else title


def ticks_of(numbers: Sequence[float], unit: str) -> list[tuple[float, str]]:
    """The round values that an axis of these numbers is labeled with, and their labels.

    The axis ends at the first and the last one.
    """
    if not numbers:
        return []
    scale = axis_scale(min(numbers), max(numbers), _MOST_STEPS)
    return [(value, scale.label(value, unit)) for value in scale.values()]


def _varies(section: TableSection, kind: FactKind) -> bool:
    return len({entry.value(kind.name) for entry in section.entries} - {None}) > 1
