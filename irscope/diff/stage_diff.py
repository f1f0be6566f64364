"""The diff of one stage of two variants: pair the operations, classify the pairs, lay out the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from irscope.diff.build_rows import build_rows
from irscope.diff.classify import difference
from irscope.diff.def_use import definitions, operand_changes
from irscope.diff.layouts import LayoutMatch, carried
from irscope.diff.matching import UNPAIRED, match_operations
from irscope.diff.rows import Change, Row, StageDiff
from irscope.diff.sliders import fix_sliders
from irscope.languages.document import Document

_KINDS = [change for change in Change if change]


def diff_stage(stage: str, left: Document, right: Document) -> StageDiff:
    """The diff of two documents of one language. Takes nearly linear time, whatever the texts are."""
    partner = match_operations(left, right)
    turned = _turned(left, right, partner)
    layouts = LayoutMatch(left, right, partner)
    changes = _classified(left, right, partner, layouts, turned)
    rows = build_rows(left, right, partner, changes, layouts.definitions())
    counts = _counted(changes, partner, len(right.operations), rows)
    return StageDiff(stage, left, right, rows, layouts.changes(), counts)


def _turned(left: Document, right: Document, partner: list[int]) -> dict[int, Change]:
    """Settles `partner` in place; then the left operations whose operands come from others.

    The sources of all operands are large, and needed here only.
    """
    flow = definitions(left), definitions(right)
    fix_sliders(left, right, partner, flow, (carried(left), carried(right)))
    return operand_changes(left, right, partner, flow)


def _classified(
    left: Document,
    right: Document,
    partner: Sequence[int],
    layouts: LayoutMatch,
    turned: Mapping[int, Change],
) -> dict[int, Change]:
    """Left operation -> how it differs from its counterpart, where it does."""
    changes: dict[int, Change] = {}
    for index, other in enumerate(partner):
        if other == UNPAIRED:
            continue
        ours, theirs = left.operations[index].normalized, right.operations[other].normalized
        change = Change.EQUAL if ours == theirs else difference(ours, theirs, left.language)
        change |= turned.get(index, Change.EQUAL)
        if layouts.differ(index):
            change |= Change.LAYOUT
        if change:
            changes[index] = change
    return changes


def _counted(
    changes: dict[int, Change], partner: Sequence[int], right_size: int, rows: Sequence[Row]
) -> dict[Change, int]:
    """How many operations, and lines that belong to none, show each change."""
    aligned = len(partner) - sum(other == UNPAIRED for other in partner)
    counts = dict.fromkeys(_KINDS, 0)
    counts[Change.REMOVED] = len(partner) - aligned
    counts[Change.ADDED] = right_size - aligned
    counts[Change.TEXT] = sum(row.change is Change.TEXT for row in rows)
    for change, times in Counter(changes.values()).items():
        for kind in _KINDS:
            if change & kind:
                counts[kind] += times
    return {kind: times for kind, times in counts.items() if times}
