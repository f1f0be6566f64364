"""Findings about the layouts of TTGIR, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irscope.analysis.findings.finding import Finding, PairContext
from irscope.analysis.findings.severity import Severity, effect
from irscope.diff.rows import LayoutChange
from irscope.facts.fact import Evidence


def layouts(pair: PairContext) -> Iterator[Finding]:
    """Each layout of TTGIR that differs, field by field.

    One that differs only in its warps is covered if the configs do: they say that there are more or fewer.
    """
    diff, warps = pair.diffs.get("ttgir"), pair.configured_warps()
    for change in diff.layouts if diff else ():
        finding = _layout_finding(change)
        only_warps = [name for name, *_ in change.fields] == ["warpsPerCTA"]
        yield replace(finding, covered=only_warps and warps is not None and warps[0] != warps[1])


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
