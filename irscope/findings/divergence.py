"""Findings about where two variants diverge: the first pass and the first stage that really differ.

Findings about whole variants: one does not compile or launch, or both have identical machine code.

The finding about warp specialization: the groups of warps, and what each of them does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.diff.rows import Change, StageDiff
from irscope.facts.duplicates import are_duplicates
from irscope.facts.fact import status_of, value_of
from irscope.facts.registry import WARP_SPECIALIZATION
from irscope.findings.finding import (
    EVERYTHING,
    Finding,
    FindingKind,
    PairContext,
    Severity,
    declares,
    evidence_pair,
    on_sides,
)
from irscope.model.text import pluralize
from irscope.targets import stages_of

# Above the layouts, which follow from it.
_DIVERGENCE_WEIGHT = Severity.LAYOUT.weight(effect=10)
_COUNTED = {
    Change.ADDED: "added operation",
    Change.REMOVED: "removed operation",
    Change.MOVED: "moved operation",
    Change.TEXT: "other line",
}


@declares("passes", FindingKind("passes"))
def first_divergence(pair: PairContext) -> Iterator[Finding]:
    """Yield the pass in which A and B diverge, and the one in which their layouts do if that is another."""
    if pair.divergences is None or pair.divergences.first is None:
        return
    first, of_layouts = pair.divergences.first, pair.divergences.layouts
    for subject, divergence in (("A and B", first), ("Their layouts", of_layouts)):
        if divergence is not None and (divergence is not first or subject == "A and B"):
            what = f"{subject} first diverge {divergence.place}"
            yield Finding(what, _DIVERGENCE_WEIGHT, "passes", changes=(divergence.summary,))


@declares("stages", FindingKind(whole=True))
def first_different_stage(pair: PairContext) -> Iterator[Finding]:
    """Yield the first compared stage that differs in more than shapes and constants, or that none does.

    It is always covered: views show the difference of every stage, and `why` this sentence.
    """
    names = [stage.name for stage in stages_of(pair.b) if stage.name in pair.diffs]
    if not names:
        return
    # One by one: later stages take long, and the first difference is rarely in one of them.
    diff = next((diff for name in names if (diff := pair.diffs[name]).structural), None)
    weight = Severity.COUNT.weight()
    if diff is None:
        shapes = "" if all(pair.diffs[name].equal for name in names) else " except for shapes and constants"
        what = f"All compared stages are equal{shapes}"
        yield Finding(what, weight, "stages", covered=True, changes=(", ".join(names),))
        return
    text = f"{diff.stage} ({_counts_text(diff)}){_constants_text(pair, names, diff)}"
    row = next((row for row in diff.rows if row.change.structural), None)
    lines = ([] if line is None else [line] for line in (row[:2] if row else ()))
    evidence = evidence_pair(diff.stage, *lines)
    yield Finding("First real difference", weight, "stages", *evidence, covered=True, changes=(text,))


def _constants_text(pair: PairContext, names: Sequence[str], real: StageDiff) -> str:
    """Return `; constants differ from ttir on` if nothing else differs in the stages before the real one."""
    before = [pair.diffs[name] for name in names[: names.index(real.stage)]]
    kinds = {kind for diff in before for kind, number in diff.counts.items() if number}
    first = next((diff.stage for diff in before if not diff.equal), "")
    return f"; constants differ from {first} on" if kinds == {Change.CONSTANT} else ""


def _counts_text(diff: StageDiff) -> str:
    """Return the changes: "17 layout changes, 1 attribute change, 2 changed layouts"."""
    counts = {
        _COUNTED.get(kind) or f"{str(kind.name).lower().rstrip('s')} change": number
        for kind, number in diff.counts.items()
    }
    counts["changed layout"] = len(diff.layouts)
    return ", ".join(pluralize(number, noun) for noun, number in counts.items() if number)


@declares("launch", FindingKind(column="state"))
def launch_problems(pair: PairContext) -> Iterator[Finding]:
    """Yield a side that did not compile or cannot be launched."""
    for side in pair.sides:
        status = status_of(side.variant, side.facts)
        if status is None or status.ok:
            continue
        what, weight = f"cannot launch on {side.variant.target}", Severity.FAILURE.weight()
        if side.variant.failure is not None:
            # Weightier than a variant that compiles but cannot launch.
            what, weight = "did not compile", Severity.FAILURE.weight(effect=1)
        what = f"{side.letter} {what}"
        yield Finding(what, weight, "launch", subject=side.letter, changes=(status.reason,))


@declares("identical", FindingKind(whole=True))
def identical_code(pair: PairContext) -> Iterator[Finding]:
    """Both sides have the same machine code, so that no other difference has an effect."""
    if are_duplicates(pair.a, pair.b, pair.facts_a, pair.facts_b):
        text = "A and B have identical machine code; benchmarking both is redundant"
        yield Finding(text, Severity.IDENTICAL.weight(), "identical", covers=frozenset([EVERYTHING]))


def warp_specialization(pair: PairContext) -> Iterator[Finding]:
    """Partitions that differ, or that only one side has: `3 partitions (default: 4 warps, ...; ...)`."""
    a, b = (value_of(side.facts, WARP_SPECIALIZATION) for side in pair.sides)
    if a is None or b is None or a == b:
        return
    texts = (
        ""
        if value == WARP_SPECIALIZATION.absent
        else f"{pluralize(str(value).count(';') + 1, 'partition')} ({value})"
        for value in (a, b)
    )
    what, changes = on_sides("{} is warp specialized, {} is not", "Both are warp specialized", *texts)
    evidence = pair.evidence(WARP_SPECIALIZATION)
    yield Finding(what, Severity.LOOP.weight(), WARP_SPECIALIZATION.name, *evidence, changes=changes)
