"""The diff of one stage: match the operations, classify the matches, build the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from irscope.diff.align import AlignmentBudget
from irscope.diff.build_rows import build_rows
from irscope.diff.classify import classify
from irscope.diff.def_use import definitions, operand_changes
from irscope.diff.layout_changes import LayoutMatch, layouts_in_use
from irscope.diff.line_map import NO_LINES, LineMap
from irscope.diff.matching import UNMATCHED, match_operations, with_symbols_of
from irscope.diff.moves import match_moved, moved_operations
from irscope.diff.rows import Change, Row, StageDiff
from irscope.diff.sliders import fix_sliders
from irscope.languages.document import Document
from irscope.model.process import cycles_not_collected

# Matches by place replace those by value if they report at most this share of what those do.
_CLEARLY_LESS = 0.75
# Looking for operations that moved takes half of the time of a diff; real stages have 100,000 at most.
_MOST_WITH_MOVES = 400_000

_CHANGES = [change for change in Change if change]


def diff_stage(stage: str, left: Document, right: Document, lines: LineMap = NO_LINES) -> StageDiff:
    """Compare two documents of one language, in nearly linear time for any texts (`align.Work`).

    `lines` maps the lines of the left source to the right one; without it, the operations tell.
    Swapped sides give the mirrored diff. Equally good alignments leave a choice that depends on
    the order of the sides, so both orders are computed in one of them: the smaller side is the
    left.
    """
    with cycles_not_collected():
        if _order(right) < _order(left):
            return _diff(stage, right, left, lines.inverse).mirrored
        return _diff(stage, left, right, lines)


def _order(document: Document) -> tuple[int, int, str]:
    return len(document.operations), len(document.text), document.text


def _diff(stage: str, left: Document, right: Document, lines: LineMap) -> StageDiff:
    named = with_symbols_of(left, right)
    work = AlignmentBudget()
    matches = match_operations(named, right, lines, work)
    too_many = len(left.operations) + len(right.operations) > _MOST_WITH_MOVES
    operands = _correct_matches_and_compare_operands(named, right, matches, None if too_many else lines)
    moved = moved_operations(matches)
    layouts = LayoutMatch(named, right, matches)
    changes = _classify_matches(named, right, matches, layouts, operands)
    for index in moved:
        changes[index] = changes.get(index, Change.EQUAL) | Change.MOVED
    rows = build_rows(left, right, matches, changes, layouts.definitions(), work)
    counts = _count_changes(changes, matches, len(right.operations), rows)
    return StageDiff(stage, left, right, rows, layouts.changes(), counts, lines, work.exceeded, too_many)


def _correct_matches_and_compare_operands(
    left: Document, right: Document, matches: list[int], lines: LineMap | None
) -> dict[int, Change]:
    """Update `matches` in place, then map left operations to the changes of their operands.

    Without `lines`, operations that moved are not looked for. The definitions of all operands,
    which are large, are freed on return.
    """
    defs = definitions(left), definitions(right)
    fix_sliders(left, right, matches, defs, (layouts_in_use(left), layouts_in_use(right)))
    if lines is None:
        return operand_changes(left, right, matches, defs)
    unmoved = list(matches)
    match_moved(left, right, matches, defs, lines)
    changes = operand_changes(left, right, matches, defs)
    if matches == unmoved:
        return changes
    for index, operation in enumerate(left.operations):
        if operation.opcode.endswith(".constant"):
            unmoved[index] = matches[index]  # a constant has no place
    if matches == unmoved:
        return changes
    plain = operand_changes(left, right, unmoved, defs)
    if _cost(left, right, unmoved, plain) < _CLEARLY_LESS * _cost(left, right, matches, changes):
        matches[:] = unmoved
        return plain
    return changes


def _cost(left: Document, right: Document, matches: Sequence[int], changes: Mapping[int, Change]) -> int:
    """Count the operations that matches report: without a match, edited, or with other operands.

    Order counts half. Copies of an unrolled loop have equal values at other places, so that
    matching by value can report more.
    """
    ours, theirs = left.operations, right.operations
    edited = {
        i for i, j in enumerate(matches) if j != UNMATCHED and ours[i].normalized != theirs[j].normalized
    }
    moved = moved_operations(matches)
    unmatched = len(theirs) - len(ours) + 2 * matches.count(UNMATCHED)
    return 2 * unmatched + 4 * len(edited | changes.keys()) + len(moved)


def _classify_matches(
    left: Document,
    right: Document,
    matches: Sequence[int],
    layouts: LayoutMatch,
    operands: Mapping[int, Change],
) -> dict[int, Change]:
    """Map left operations to how they differ from their matches, without those that are equal."""
    changes: dict[int, Change] = {}
    any_layouts = bool(left.layouts)
    mine, opposites = left.operations, right.operations
    for index, match in enumerate(matches):
        if match == UNMATCHED:
            continue
        ours, theirs = mine[index].normalized, opposites[match].normalized
        if ours == theirs and not any_layouts and index not in operands:
            continue
        change = Change.EQUAL if ours == theirs else classify(ours, theirs, left.language)
        change |= operands.get(index, Change.EQUAL)
        change = layouts.change(index, change)
        if change:
            changes[index] = change
    return changes


def _count_changes(
    changes: dict[int, Change], matches: Sequence[int], right_size: int, rows: Sequence[Row]
) -> dict[Change, int]:
    """Count the operations, and the lines outside of operations, per change."""
    matched = len(matches) - sum(match == UNMATCHED for match in matches)
    counts = dict.fromkeys(_CHANGES, 0)
    counts[Change.REMOVED] = len(matches) - matched
    counts[Change.ADDED] = right_size - matched
    counts[Change.TEXT] = sum([row[2] is Change.TEXT for row in rows])
    for combined, times in Counter(changes.values()).items():
        for change in _CHANGES:
            if combined & change:
                counts[change] += times
    return {change: times for change, times in counts.items() if times}
