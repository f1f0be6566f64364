"""Which facts of a section are drawn, over what, and how their axes are named."""

from __future__ import annotations

from irscope.workspace import EACH, FactKind, TableSection, axes, chartable_facts

# The facts that are drawn if they vary, in this order.
_DRAWN = ("ms", "estimate", "registers", "stack", "occupancy", "shared", "instructions", "seconds")
# The numbers of marks and colors.
MAX_SERIES = 6
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
        if 1 < len(values) <= MAX_SERIES:
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


def _varies(section: TableSection, kind: FactKind) -> bool:
    return len({entry.value(kind.name) for entry in section.entries} - {None}) > 1
