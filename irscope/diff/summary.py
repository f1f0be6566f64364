"""A stage's diff in words: the summary line, a tab's label, the first stage that matters."""

from __future__ import annotations

from collections.abc import Iterable

from irscope.diff.rows import Change, LayoutChange, StageDiff

# What is counted, in the order of telling, and its word for one. Layouts are told by name.
_WORDS = {
    Change.SHAPE: "shape",
    Change.CONSTANT: "constant",
    Change.ATTRIBUTE: "attribute",
    Change.TYPE: "type",
    Change.REWIRED: "rewired",
    Change.TEXT: "other line",
}


def summarize(diff: StageDiff) -> str:
    """One line: "0 added, 0 removed, 41 shapes, 1 layout: #mma warpsPerCTA [4, 1] -> [8, 1]"."""
    if diff.equal:
        return "equal"
    parts = [f"{diff.counts.get(Change.ADDED, 0)} added", f"{diff.counts.get(Change.REMOVED, 0)} removed"]
    parts += [_counted(diff.counts[kind], word) for kind, word in _WORDS.items() if diff.counts.get(kind)]
    if diff.layouts:
        changes = "; ".join(map(describe_layout, diff.layouts))
        parts.append(f"{_counted(len(diff.layouts), 'layout')}: {changes}")
    elif diff.counts.get(Change.LAYOUT):
        parts.append(_counted(diff.counts[Change.LAYOUT], "operation") + " with another layout")
    return ", ".join(parts)


def describe_layout(change: LayoutChange) -> str:
    """A layout's change, field by field: "#blocked sizePerThread [1, 4] -> [1, 8], order ..."."""
    if change.right is None:
        return f"{change.left.alias} only left" if change.left else ""
    if change.left is None:
        return f"{change.right.alias} only right"
    ours, theirs = change.left.alias, change.right.alias
    name = ours if ours == theirs else f"{ours} -> {theirs}"
    fields = ", ".join(f"{field} {was or 'none'} -> {now or 'none'}" for field, was, now in change.fields)
    return f"{name} {fields}"


def short_label(diff: StageDiff) -> str:
    """What a tab says: "=", "+12 -3", "2 layouts", "53 shapes"; the weightiest change alone."""
    if diff.equal:
        return "="
    added, removed = diff.counts.get(Change.ADDED, 0), diff.counts.get(Change.REMOVED, 0)
    if added or removed:
        return f"+{added} -{removed}"
    if diff.layouts or diff.counts.get(Change.LAYOUT):
        return _counted(len(diff.layouts) or diff.counts[Change.LAYOUT], "layout")
    kind = max(_WORDS, key=lambda word: diff.counts.get(word, 0))
    return _counted(diff.counts[kind], _WORDS[kind])


def first_structural(diffs: Iterable[StageDiff]) -> StageDiff | None:
    """The first of `diffs`, in pipeline order, that differs in more than shapes and constants."""
    return next((diff for diff in diffs if diff.structural), None)


def _counted(number: int, word: str) -> str:
    plural = word if number == 1 or word == "rewired" else f"{word}s"
    return f"{number} {plural}"
