"""Findings about atomic operations, by source line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irscope.facts.instruction_mix import (
    InstructionMix,
    KernelPlace,
    instructions_by_line,
    mean_width,
    place_subject,
    place_text,
)
from irscope.findings.finding import (
    Finding,
    FindingCause,
    PairContext,
    Severity,
    ValueChange,
    effect,
    evidence_pair,
)
from irscope.findings.loops import counts_text
from irscope.languages.document import Document

_LABELS = {"global atomic": "Atomics", "shared atomic": "Shared memory atomics"}


def atomics(pair: PairContext) -> Iterator[Finding]:
    """Yield a finding per source line whose atomics differ: their number, width, kind, scope or order."""
    assembly = pair.assembly
    if assembly is None:
        return
    stage = assembly.stage
    left, right = (_atomics_by_line(side, stage) for side in (assembly.left, assembly.right))
    for kind, place in sorted(left.keys() | right.keys(), key=repr):
        a, b = left.get((kind, place), InstructionMix()), right.get((kind, place), InstructionMix())
        if a.counts != b.counts:
            order = _order_change(a, b)
            yield Finding(
                f"{pair.in_words(_LABELS[kind])} {place_text(place, pair.kernel_with(place))}",
                Severity.SEMANTICS.weight() if order else _weight(a, b),
                kind,
                *evidence_pair(stage, a.lines, b.lines),
                place_subject(place),
                changes=(ValueChange(counts_text(a.counts), counts_text(b.counts)),),
                causes=(FindingCause("remark", (order,)),) if order else (),
            )


def _atomics_by_line(document: Document, stage: str) -> Mapping[tuple[str, KernelPlace], InstructionMix]:
    by_line = instructions_by_line(document, stage)
    return {key: mix for key, mix in by_line.items() if key[0] in _LABELS}


def _order_change(a: InstructionMix, b: InstructionMix) -> str:
    """Return `scope gpu -> sys, order relaxed -> acq_rel`; "" if both have the same meaning."""
    notes = [
        f"{name} {' and '.join(sorted(was))} -> {' and '.join(sorted(now))}"
        for name in ("scope", "order")
        for was, now in [({getattr(kind, name) for kind in side.counts} - {""} for side in (a, b))]
        if was and now and was != now
    ]
    return ", ".join(notes)


def _weight(a: InstructionMix, b: InstructionMix) -> float:
    if not a.counts or not b.counts:
        return Severity.MEMORY.weight()
    if a.counts.keys() == b.counts.keys():
        return Severity.COUNT.weight(effect(sum(a.counts.values()), sum(b.counts.values())))
    return Severity.MEMORY.weight(effect(mean_width(a.counts), mean_width(b.counts)))
