"""The diff of a stage in words: the summary line, the label of a tab, the first stage that really differs."""

from __future__ import annotations

from collections.abc import Iterable

from irscope.diff.rows import Change, LayoutChange, StageDiff

# The changes that are counted, in the order of a summary, and their nouns. Layouts are named instead.
_NOUNS = {
    Change.SHAPE: "shape",
    Change.CONSTANT: "constant",
    Change.ATTRIBUTE: "attribute",
    Change.TYPE: "type",
    Change.OPERANDS: "operand",
    Change.TEXT: "other line",
}


def summarize(diff: StageDiff) -> str:
    """One line: "0 added, 0 removed, 41 shapes, 1 layout: #mma warpsPerCTA [4, 1] -> [8, 1]"."""
    if diff.equal:
        return "equal"
    parts = [f"{diff.counts.get(Change.ADDED, 0)} added", f"{diff.counts.get(Change.REMOVED, 0)} removed"]
    if diff.counts.get(Change.MOVED):
        parts.append(f"{diff.counts[Change.MOVED]} moved")
    parts += [_count(diff.counts[kind], noun) for kind, noun in _NOUNS.items() if diff.counts.get(kind)]
    if diff.layouts:
        changes = "; ".join(map(describe_layout, diff.layouts))
        parts.append(f"{_count(len(diff.layouts), 'layout')}: {changes}")
    elif diff.counts.get(Change.LAYOUT):
        parts.append(_count(diff.counts[Change.LAYOUT], "operation") + " with another layout")
    if diff.rough:
        parts.append("matched roughly: too large and too different for an exact diff")
    if diff.without_moves:
        parts.append("too large to look for moved operations")
    return ", ".join(parts)


def describe_layout(change: LayoutChange) -> str:
    """The change of a layout, field by field: "#blocked sizePerThread [1, 4] -> [1, 8], order ..."."""
    if change.right is None:
        return f"{change.left.alias} only left" if change.left else ""
    if change.left is None:
        return f"{change.right.alias} only right"
    ours, theirs = change.left.alias, change.right.alias
    name = ours if ours == theirs else f"{ours} -> {theirs}"
    fields = ", ".join(f"{field} {was or 'none'} -> {now or 'none'}" for field, was, now in change.fields)
    return f"{name} {fields}"


def short_label(diff: StageDiff) -> str:
    """The label of a tab, with only the most important change: "=", "+12 -3", "2 layouts", "53 shapes"."""
    if diff.equal:
        return "="
    added, removed = diff.counts.get(Change.ADDED, 0), diff.counts.get(Change.REMOVED, 0)
    if added or removed:
        return f"+{added} -{removed}"
    if diff.layouts or diff.counts.get(Change.LAYOUT):
        return _count(len(diff.layouts) or diff.counts[Change.LAYOUT], "layout")
    if set(diff.counts) == {Change.MOVED}:
        return f"{diff.counts[Change.MOVED]} moved"
    kind = max(_NOUNS, key=lambda change: diff.counts.get(change, 0))
    return _count(diff.counts[kind], _NOUNS[kind])


def first_structural(diffs: Iterable[StageDiff]) -> StageDiff | None:
    """The first of `diffs`, in pipeline order, with a real change: more than shapes and constants."""
    return next((diff for diff in diffs if diff.structural), None)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
