"""Findings about the layouts of TTGIR, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from irscope.diff.layout_changes import aliases
from irscope.diff.rows import LayoutChange, StageDiff
from irscope.facts.matrix_products import num_warps
from irscope.findings.finding import (
    Finding,
    FindingKind,
    PairContext,
    Severity,
    ValueChange,
    declares,
    effect,
    evidence_pair,
)
from irscope.languages.document import Document

# The field of a layout that distributes its tiles over warps: of a blocked or matrix layout, of a linear one.
_WARPS = (["warpsPerCTA"], ["warp"])


@declares("layout", FindingKind("layout", after_what=" ", between=", "))
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
        follows = other_warps and [name for name, *_ in change.fields] in _WARPS
        other_rank = any(name == "order" and a.count(",") != b.count(",") for name, a, b in change.fields)
        sides = zip((change.left, change.right), inside, strict=True)
        hidden = all(layout is None or layout.alias in hidden_aliases for layout, hidden_aliases in sides)
        yield replace(_layout_finding(change, diff), covered=follows or other_rank or hidden)


def _layouts_inside(document: Document, library: Set[str]) -> Set[str]:
    """Return the aliases in operations of the files `library` only. Shared constants have no location."""
    hidden, visible = set[str](), set[str]()
    for operation, names in zip(document.operations, aliases(document), strict=True):
        if operation.location is not None:
            (hidden if operation.location.file in library else visible).update(names)
    return hidden - visible


def _layout_finding(change: LayoutChange, diff: StageDiff) -> Finding:
    """One layout: "#mma instrShape [16, 64, 16] -> [16, 32, 16]", or "Only A has the layout #mma, ..."."""
    left, right, fields = change.left, change.right, change.fields
    alias = what = left.alias if left else right.alias if right else ""
    if left and right and left.kind != right.kind:
        fields = (("", left.kind, right.kind),)  # layouts of two kinds have no common fields
    elif only := None if left and right else left or right:
        side, lacking = ("A", diff.right) if left else ("B", diff.left)
        used = {name for names in aliases(lacking) for name in names}
        others = sum(other.kind == only.kind and name in used for name, other in lacking.layouts.items())
        what, fields = f"Only {side} has the layout {alias}, {only.kind}", ()
        if others:
            values = ", ".join(f"{name} {value}" for name, value in only.fields.items())
            what += f" with {values}; the other side has {others} of this kind with other fields"
    return Finding(
        what,
        Severity.LAYOUT.weight(effect(1, 1 + change.uses)),
        "layout",
        *evidence_pair("ttgir", *([layout.line] if layout else [] for layout in (left, right))),
        subject=alias,
        changes=tuple(ValueChange(a or "none", b or "none", name) for name, a, b in fields),
    )
