"""Findings about atomic operations, by source line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irscope.facts.artifacts import instruction_order
from irscope.facts.instruction_mix import (
    InstructionMix,
    KernelPlace,
    instructions_by_line,
    mean_width,
    place_text,
)
from irscope.findings.finding import Finding, PairContext, Severity, ValueChange, assembly_diff, effect
from irscope.languages.document import Document

_LABELS = {"global atomic": "Atomics", "shared atomic": "Shared memory atomics"}


def atomics(pair: PairContext) -> Iterator[Finding]:
    """Yield a finding per source line whose atomics differ: their number, width, kind, scope or order."""
    assembly = assembly_diff(pair)
    if assembly is None:
        return
    left, right = (_atomics_by_line(side, assembly.stage) for side in (assembly.left, assembly.right))
    for kind, place in sorted(left.keys() | right.keys(), key=repr):
        a, b = left.get((kind, place), InstructionMix()), right.get((kind, place), InstructionMix())
        if a.counts != b.counts:
            what = f"{pair.in_words(_LABELS[kind])} {place_text(place, pair.kernel_with(place))}"
            evidence = a.evidence(assembly.stage), b.evidence(assembly.stage)
            subject, changes = f"line {place.line}" if place else "", (ValueChange(_text(a), _text(b)),)
            yield Finding(what, _weight(a, b), kind, *evidence, subject, changes=changes, note=_note(a, b))


def _atomics_by_line(document: Document, stage: str) -> Mapping[tuple[str, KernelPlace], InstructionMix]:
    found = instructions_by_line(document, stage)
    return {key: mix for key, mix in found.items() if key[0] in _LABELS}


def _text(mix: InstructionMix) -> str:
    ordered = sorted(mix.counts.items(), key=lambda item: instruction_order(item[0]))
    return ", ".join(f"{number} x {kind.text('{}-byte')}" for kind, number in ordered) or "none"


def _note(a: InstructionMix, b: InstructionMix) -> str:
    """Return the meaning of a change of scope or memory order."""
    notes = [
        f"{name} {' and '.join(sorted(was))} -> {' and '.join(sorted(now))}"
        for name in ("scope", "order")
        for was, now in [({getattr(kind, name) for kind in side.counts} - {""} for side in (a, b))]
        if was and now and was != now
    ]
    return f" ({', '.join(notes)})" if notes else ""


def _weight(a: InstructionMix, b: InstructionMix) -> float:
    if _note(a, b):
        return Severity.SEMANTICS.weight()
    if not a.counts or not b.counts:
        return Severity.MEMORY.weight()
    if a.counts.keys() == b.counts.keys():
        return Severity.COUNT.weight(effect(_total(a), _total(b)))
    return Severity.MEMORY.weight(effect(mean_width(a.counts), mean_width(b.counts)))


def _total(mix: InstructionMix) -> int:
    return sum(mix.counts.values())
