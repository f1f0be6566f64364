"""Findings about the layouts of TTGIR, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from irscope.diff.layout_changes import aliases
from irscope.diff.rows import LayoutChange, StageDiff
from irscope.facts.fact import Evidence
from irscope.facts.matrix_products import num_warps
from irscope.findings.finding import Finding, PairContext, Severity, ValueChange, effect
from irscope.languages.document import Document, Layout

# The field of a layout that distributes its tiles over warps: of a blocked or matrix layout, of a linear one.
_WARPS = (["warpsPerCTA"], ["warp"])


def layouts(pair: PairContext) -> Iterator[Finding]:
    """Yield a finding for each layout of TTGIR that differs, field by field.

    One that differs only in its warps is covered if there are more or fewer of them, and one that has another
    number of dimensions: its fields are those of other tensors. So is one that only values inside Triton's
    own functions have: `tl.sort` makes dozens.
    """
    diff = pair.diffs.get("ttgir")
    if diff is None:
        return
    other_warps = num_warps(diff.left) != num_warps(diff.right)
    functions = (*pair.a.kernel.library_functions, *pair.b.kernel.library_functions)
    library = {function.file for function in functions}
    inside = _layouts_inside(diff.left, library), _layouts_inside(diff.right, library)
    for change in diff.layouts:
        finding = _layout_finding(change, _others_of_kind(diff, change))
        follows = other_warps and [name for name, *_ in change.fields] in _WARPS
        other_rank = any(name == "order" and a.count(",") != b.count(",") for name, a, b in change.fields)
        sides = zip((change.left, change.right), inside, strict=True)
        hidden = all(layout is None or layout.alias in own for layout, own in sides)
        yield replace(finding, covered=follows or other_rank or hidden)


def _layouts_inside(document: Document, library: Set[str]) -> Set[str]:
    """Return the aliases in operations of the files `library` only. Shared constants have no location."""
    hidden, visible = set[str](), set[str]()
    for operation, names in zip(document.operations, aliases(document), strict=True):
        if operation.location is not None:
            (hidden if operation.location.file in library else visible).update(names)
    return hidden - visible


def _others_of_kind(diff: StageDiff, change: LayoutChange) -> int:
    """Return how many layouts of the same kind the side has that lacks a layout; 0 if both sides have it."""
    if change.left and change.right:
        return 0
    layout, lacking = (change.left, diff.right) if change.left else (change.right, diff.left)
    used = {name for names in aliases(lacking) for name in names}
    return sum(
        layout is not None and other.kind == layout.kind
        for name, other in lacking.layouts.items()
        if name in used
    )


def _layout_finding(change: LayoutChange, others: int) -> Finding:
    """One layout: "#mma instrShape [16, 64, 16] -> [16, 32, 16]"; the other side has `others` of its kind."""
    left, right = change.left, change.right
    alias, fields = left.alias if left else right.alias if right else "", change.fields
    what = alias
    if left and right and left.kind != right.kind:
        fields = (("", left.kind, right.kind),)  # layouts of two kinds have no common fields
    elif only := None if left and right else left or right:
        side = "A" if left else "B"
        what, fields = f"Only {side} has the layout {alias}, {_described(only, others)}", ()
    evidence_a = (Evidence("ttgir", left.line),) if left else ()
    evidence_b = (Evidence("ttgir", right.line),) if right else ()
    weight = Severity.LAYOUT.weight(effect(1, 1 + change.uses))
    changes = tuple(ValueChange(a or "none", b or "none", name) for name, a, b in fields)
    return Finding(what, weight, "layout", evidence_a, evidence_b, subject=alias, changes=changes)


def _described(layout: Layout, others: int) -> str:
    """Return the kind of a layout; with its fields if the other side has layouts of that kind too."""
    if not others:
        return layout.kind
    fields = ", ".join(f"{name} {value}" for name, value in layout.fields.items())
    return f"{layout.kind} with {fields}; the other side has {others} of this kind with other fields"
