"""Findings about the layouts of TTGIR, field by field."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.analysis.findings.finding import Finding, PairContext
from irscope.analysis.findings.severity import Severity, effect
from irscope.diff.rows import LayoutChange
from irscope.facts.fact import Evidence


def layouts(pair: PairContext) -> Iterator[Finding]:
    """Each layout of TTGIR that differs, field by field."""
    diff = pair.diffs.get("ttgir")
    yield from map(_layout_finding, diff.layouts if diff else ())


def _layout_finding(change: LayoutChange) -> Finding:
    """One layout: "#mma instrShape [16, 64, 16] -> [16, 32, 16]"."""
    left, right = change.left, change.right
    if left and right:
        fields = ", ".join(f"{name} {a} -> {b}" for name, a, b in change.fields)
        # Layouts of two kinds have no common fields.
        text = f"{left.alias} {fields if left.kind == right.kind else f'{left.kind} -> {right.kind}'}"
    elif right:
        text = f"Only B has the layout {right.alias}, {right.kind}"
    else:
        text = f"Only A has the layout {left.alias}, {left.kind}" if left else "A layout changed"
    evidence_a = (Evidence("ttgir", left.line),) if left else ()
    evidence_b = (Evidence("ttgir", right.line),) if right else ()
    weight = Severity.LAYOUT.weight(effect(1, 1 + change.uses))
    alias = left.alias if left else right.alias if right else ""
    return Finding(text, weight, "layout", evidence_a, evidence_b, subject=alias)
