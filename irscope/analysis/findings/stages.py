"""Findings about where two variants diverge: the first pass and the first stage that really differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.analysis.findings.finding import Finding, PairContext
from irscope.analysis.findings.severity import Severity
from irscope.backends import stages_of
from irscope.diff.rows import Change, StageDiff
from irscope.facts.fact import Evidence
from irscope.model.text import pluralize

# Above the layouts, which follow from it.
_DIVERGENCE_WEIGHT = Severity.LAYOUT.weight(effect=10)
_COUNTED = {
    Change.ADDED: "added operation",
    Change.REMOVED: "removed operation",
    Change.MOVED: "moved operation",
    Change.TEXT: "other line",
}


def first_divergence(pair: PairContext) -> Iterator[Finding]:
    """The pass in which A and B diverge, and the one in which their layouts do if that is another."""
    if pair.divergences is None or pair.divergences.first is None:
        return
    first, of_layouts = pair.divergences.first, pair.divergences.layouts
    yield Finding(f"A and B first diverge {first.place}: {first.summary}", _DIVERGENCE_WEIGHT, "passes")
    if of_layouts is not None and of_layouts is not first:
        text = f"Their layouts first diverge {of_layouts.place}: {of_layouts.summary}"
        yield Finding(text, _DIVERGENCE_WEIGHT, "passes")


def first_different_stage(pair: PairContext) -> Iterator[Finding]:
    """The first compared stage that differs in more than shapes and constants, or that none does.

    It is always covered: views show the difference of every stage, and `why` this sentence.
    """
    names = [stage.name for stage in stages_of(pair.b) if stage.name in pair.diffs]
    if not names:
        return
    # One by one: later stages take long, and the first difference is rarely in one of them.
    found = (pair.diffs[name] for name in names)
    diff, weight = next((diff for diff in found if diff.structural), None), Severity.COUNT.weight()
    if diff is None:
        shapes = "" if all(pair.diffs[name].equal for name in names) else " except for shapes and constants"
        yield Finding(
            f"All compared stages are equal{shapes}: {', '.join(names)}", weight, "stages", covered=True
        )
        return
    text = f"First real difference: {diff.stage} ({_counts_text(diff)}){_constants_text(pair, names, diff)}"
    rows = [row for row in diff.rows if row.change.structural][:1]
    evidence_a = tuple(Evidence(diff.stage, row.left) for row in rows if row.left is not None)
    evidence_b = tuple(Evidence(diff.stage, row.right) for row in rows if row.right is not None)
    yield Finding(text, weight, "stages", evidence_a, evidence_b, covered=True)


def _constants_text(pair: PairContext, names: Sequence[str], real: StageDiff) -> str:
    """Return `; constants differ from ttir on` if nothing else differs in the stages before the real one."""
    before = [pair.diffs[name] for name in names[: names.index(real.stage)]]
    kinds = {kind for diff in before for kind, number in diff.counts.items() if number}
    first = next((diff.stage for diff in before if not diff.equal), "")
    return f"; constants differ from {first} on" if kinds == {Change.CONSTANT} else ""


def _counts_text(diff: StageDiff) -> str:
    """The changes: "17 layout changes, 1 attribute change, 2 changed layouts"."""
    counts = [
        pluralize(number, _COUNTED.get(kind) or f"{str(kind.name).lower().rstrip('s')} change")
        for kind, number in diff.counts.items()
        if number
    ]
    return ", ".join([*counts, *([pluralize(len(diff.layouts), "changed layout")] if diff.layouts else [])])
