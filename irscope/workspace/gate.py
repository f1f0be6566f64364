"""A gate: compares variants with their counterparts and fails if a condition is true for one of them.

`irscope diff OLD NEW --fail-on "spills>0, registers>+10%, worse"`. A gate that could compare nothing fails
too, and says why: no matched variants, or a condition about a fact that no variant has. Only facts that a
compilation determines can be used: compile times and measured times depend on the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irscope.facts.fact import Facts, FactValue, status_of, value_named, value_of
from irscope.facts.registry import CHOSEN, CODE, LAUNCHABLE, MS, MS_KEY
from irscope.model import UserError, Variant
from irscope.model.records import frozen, grouped
from irscope.model.text import pluralize
from irscope.workspace.capture_comparison import (
    FAILURE,
    CaptureComparison,
    FactsById,
    MatchedVariants,
    change_text,
    compare_pair,
)
from irscope.workspace.comparison import Comparison
from irscope.workspace.conditions import UNKNOWN, FactComparison, failure_of, parse_expectation
from irscope.workspace.fact_table import kinds_named, needs_estimates
from irscope.workspace.workspace import Workspace

if TYPE_CHECKING:
    from irscope.workspace.bits import Report
    from irscope.workspace.pair_bits import PairBits

WORSE, NEW_FAILURES, CHANGED, REMOVED, ADDED = "worse", "new-failures", "changed", "removed", "added"
BITS = "bits"
# Each word, and when it is true.
WORDS: Mapping[str, str] = {
    WORSE: "a fact whose better direction is known gets worse, or the variant no longer compiles or launches",
    NEW_FAILURES: "a variant does not compile or cannot be launched, and its counterpart could",
    CHANGED: "a variant has other machine code than its counterpart",
    BITS: "a variant computes other bits than its counterpart at a launch, or that is not known any more",
    REMOVED: "a variant of OLD has no counterpart in NEW",
    ADDED: "a variant of NEW has no counterpart in OLD",
}
_ENTRY = re.compile(r'(?:"[^"]*"?|[^,"])+')
_MEASURED = (MS.name, MS_KEY.name, CHOSEN.name)
_NEW_FAILURES = (FAILURE, LAUNCHABLE.name)
# How many kernels a line names.
_MAX_NAMED = 5
_NO_COMMON_TARGET = "The captures have no target in common: variants were matched without it"
_NO_COUNTERPART = "no counterpart"


@frozen
class Condition:
    """One condition as written; `comparisons` is empty if it is one of WORDS."""

    text: str
    comparisons: tuple[FactComparison, ...] = ()

    @property
    def relative(self) -> bool:
        """Whether it needs the value in OLD."""
        return any(comparison.change for comparison in self.comparisons)

    @property
    def facts(self) -> tuple[str, ...]:
        """The names of the facts that it compares."""
        return tuple(dict.fromkeys(comparison.fact for comparison in self.comparisons))


def parse_conditions(texts: Iterable[str]) -> tuple[Condition, ...]:
    """Return the conditions in texts such as "spills>0, worse", each once.

    Raises UserError if one is malformed or about a time, or if there are none.
    """
    entries = [entry.strip() for text in texts for entry in _ENTRY.findall(text) if entry.strip()]
    if not entries:
        raise UserError("--fail-on: no condition; write for example 'spills>0, registers>+10%, worse'")
    return tuple(dict.fromkeys(map(_condition, entries)))


def _condition(text: str) -> Condition:
    if text in WORDS:
        return Condition(text)
    if text.replace("-", "").replace("_", "").isalnum():
        raise UserError(f"--fail-on: no condition '{text}'; known words: {', '.join(WORDS)}")
    comparisons = parse_expectation(text, changes=True)
    for comparison in comparisons:
        if comparison.fact in _MEASURED or comparison.fact.endswith("seconds"):
            raise UserError(
                f"--fail-on: '{comparison.text}' is about a time, which depends on the machine and its load; "
                "use facts of the compiled code, such as instructions"
            )
    return Condition(text, comparisons)


def outcome(condition: Condition, old: Facts | None, new: Facts) -> bool | None:
    """Whether a condition with comparisons is true for a variant; None if that is unknown.

    `old` are the facts of its counterpart; None if it has none, so that no change is true.
    """
    if old is None and condition.relative:
        return False
    reasons = [
        failure_of(one, value_named(new, one.fact), value_named(old or {}, one.fact))
        for one in condition.comparisons
    ]
    if any(reason not in ("", UNKNOWN) for reason in reasons):
        return False
    return None if UNKNOWN in reasons else True


def unknown_facts(condition: Condition, facts: Facts) -> Sequence[str]:
    """Return the facts of a condition that are unknown for a variant."""
    return [name for name in condition.facts if value_named(facts, name) is None]


@frozen
class GatePair:
    """A variant of NEW (`b`), its counterpart in OLD (`a`), and how they differ; either can be missing."""

    a: Variant | None
    b: Variant | None
    matched: MatchedVariants | None = None

    @property
    def variant(self) -> Variant:
        """Return the variant that a view names: that of NEW if there is one."""
        existing = self.b or self.a
        assert existing is not None  # noqa: S101 - one of them exists
        return existing


@frozen
class Violation:
    """A condition that is true for a pair. `name` is the variant's short name; `text` has the values."""

    condition: Condition
    pair: GatePair
    name: str
    text: str

    @property
    def weight(self) -> float:
        """Return the size of the regression of its pair; 0 for a variant without a counterpart."""
        return self.pair.matched.weight if self.pair.matched else 0.0

    @property
    def where(self) -> str:
        """Return kernel, variant and target: `matmul_kernel #3 BLOCK_M=64 cuda:90`."""
        variant = self.pair.variant
        return f"{variant.kernel.name} #{variant.id} {self.name} {variant.target}"


@dataclass(frozen=True)
class GateResult:
    """The outcome of a gate.

    `pairs` is the number of matched variants, `violations` are worst first, `problems` are reasons why the
    comparison proves nothing; with either, the gate fails. `notes` name the variants without a counterpart,
    `unchecked` says what a condition could not be checked for, in OLD neither.
    """

    conditions: tuple[Condition, ...]
    pairs: int
    variants: Sequence[Variant]
    violations: Sequence[Violation]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    edits: tuple[tuple[str, str], ...]
    unchecked: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """Return True if a condition is true for a variant, or nothing could be compared."""
        return bool(self.violations or self.problems)

    @property
    def summary(self) -> str:
        """Return the outcome in one line."""
        conditions = pluralize(len(self.conditions), "condition")
        checked = f"{pluralize(self.pairs, 'variant')} compared, {conditions}"
        if not self.failed:
            return f"{checked}: none is true"
        if not self.violations:
            return f"{checked}: failed, because the comparison is incomplete"
        variants = len(
            {(violation.pair.a is None, violation.pair.variant.id) for violation in self.violations}
        )
        kernels = len({violation.pair.variant.kernel.name for violation in self.violations})
        return f"{checked}: failed for {pluralize(variants, 'variant')} of {pluralize(kernels, 'kernel')}"

    @property
    def lines(self) -> list[str]:
        """Return a line per problem and violation, worst first, then the notes and the summary."""
        violation_lines = (
            f"{violation.where}: {violation.condition.text}: {violation.text}"
            for violation in self.violations
        )
        return [*self.problems, *violation_lines, *self.unchecked, *self.notes, self.summary]


@dataclass(frozen=True)
class _Sides:
    """The pairs that a gate checks, with facts and short names by variant id, of OLD and of NEW."""

    pairs: Sequence[GatePair]
    facts: tuple[FactsById, FactsById]
    names: tuple[Mapping[int, str], Mapping[int, str]]
    # By the ids of matched variants, if a condition is about bits; without pairs of identical code.
    bits: Mapping[tuple[int, int], PairBits]

    def facts_of(self, pair: GatePair) -> tuple[Facts | None, Facts]:
        old = None if pair.a is None else self.facts[0].get(pair.a.id, {})
        return old, {} if pair.b is None else self.facts[1].get(pair.b.id, {})

    def name(self, pair: GatePair) -> str:
        if pair.b is not None:
            return self.names[1][pair.b.id]
        return self.names[0][pair.variant.id]


def gate_captures(
    old: Workspace,
    new: Workspace,
    comparison: CaptureComparison,
    fail_on: Sequence[str],
    launches: Sequence[str],
    report: Report,
) -> GateResult:
    """Check how two captures differ. Raises UserError if a condition or a launch is malformed.

    `launches` are launches to compare bits for instead of the recorded ones, as text. `report` receives the
    number of variants whose bits are compared, and the total.
    """
    conditions = parse_conditions(fail_on)
    diff = comparison.diff
    pairs = [
        *(GatePair(None, variant) for variant in diff.only_b),
        *(GatePair(variant, None) for variant in diff.only_a),
        *(GatePair(pair.a, pair.b, pair) for pair in diff.pairs),
    ]
    bits = _bits(conditions, (old, new), diff.pairs, launches, report)
    sides = _Sides(pairs, (_facts(old, conditions), _facts(new, conditions)), comparison.names, bits)
    problems = [] if diff.pairs else [_nothing_matched(comparison)]
    notes = [] if diff.by_target or problems else [_NO_COMMON_TARGET]
    return _result(conditions, sides, problems, [*notes, *comparison.unmatched], comparison.edits)


def gate_pair(comparison: Comparison, fail_on: Sequence[str]) -> GateResult:
    """Check how variant B differs from A. Raises UserError if a condition is malformed."""
    conditions = parse_conditions(fail_on)
    workspace, (a, b) = comparison.workspace, comparison.variants
    facts = _facts(workspace, conditions, (a, b))
    matched = compare_pair(a, b, facts[a.id], facts[b.id])
    pair = GatePair(a, b, matched)
    bits = _bits(conditions, (workspace, workspace), [matched])
    sides = _Sides([pair], (facts, facts), (workspace.names, workspace.names), bits)
    return _result(conditions, sides, [], [comparison.mismatch] if comparison.mismatch else [], ())


def _facts(
    workspace: Workspace, conditions: Iterable[Condition], variants: Iterable[Variant] | None = None
) -> dict[int, Facts]:
    """Return the facts of variants (None: all), with estimates if a condition is about one."""
    names = {name for condition in conditions for name in condition.facts}
    return dict(workspace.all_facts(variants, needs_estimates(names)))


def _bits(
    conditions: Iterable[Condition],
    workspaces: tuple[Workspace, Workspace],
    pairs: Iterable[MatchedVariants],
    launches: Sequence[str] = (),
    report: Report = lambda done, total: None,
) -> Mapping[tuple[int, int], PairBits]:
    """Compare the bits of pairs whose machine code differs, by their ids, if a condition is about bits."""
    if all(condition.text != BITS for condition in conditions):
        return {}
    from irscope.workspace.pair_bits import bits_by_pair  # it imports the interpreter

    return bits_by_pair(workspaces, pairs, launches, report)


def _result(
    conditions: tuple[Condition, ...],
    sides: _Sides,
    problems: Sequence[str],
    notes: Sequence[str],
    edits: tuple[tuple[str, str], ...],
) -> GateResult:
    violations = [one for condition in conditions for one in _violations(condition, sides)]
    order = {condition: index for index, condition in enumerate(conditions)}
    violations.sort(key=lambda one: (-one.weight, order[one.condition]))
    matched = [pair.b for pair in sides.pairs if pair.matched and pair.b is not None]
    if matched:
        problems = [text for condition in conditions for text in _unmeasured(condition, sides)]
    added = [pair.b for pair in sides.pairs if pair.a is None and pair.b is not None]
    return GateResult(
        conditions,
        len(matched),
        [*matched, *added],
        violations,
        tuple(problems),
        tuple(notes),
        edits,
        () if problems else tuple(_unknown_bits(sides)),
    )


def _violations(condition: Condition, sides: _Sides) -> Iterator[Violation]:
    for pair in sides.pairs:
        if text := _true_for(condition, pair, sides):
            yield Violation(condition, pair, sides.name(pair), text)


def _true_for(condition: Condition, pair: GatePair, sides: _Sides) -> str:
    """Return the values that make the condition true for a pair; "" if it is false."""
    if condition.comparisons:
        return "" if pair.b is None else _compared(condition, pair, sides)
    return _WORD_CHECKS[condition.text](pair, sides)


def _compared(condition: Condition, pair: GatePair, sides: _Sides) -> str:
    old, new = sides.facts_of(pair)
    result = outcome(condition, old, new)
    if result:
        return ", ".join(_values(name, old, new) for name in condition.facts)
    if result is False or old is None:
        return ""
    # A value that was known and is not any more must not pass.
    lost = [name for name in unknown_facts(condition, new) if value_named(old, name) is not None]
    failure = pair.b.failure if pair.b else None
    reason = f": it does not compile: {failure.summary}" if failure else ""
    return f"{', '.join(lost)} unknown in NEW{reason}" if lost else ""


def _values(name: str, old: Facts | None, new: Facts) -> str:
    """Write a fact in OLD and NEW: "Regs 64 -> 120 (+87.5%)"; "Spills 24, as in OLD"."""
    kind = kinds_named([name])[name]
    value = value_named(new, name)
    if old is None:
        return f"{kind.title} {kind.format(value)}, new variant"
    before = value_named(old, name)
    if before == value:
        return f"{kind.title} {kind.format(value)}, as in OLD"
    return f"{kind.title} {kind.format(before)} -> {kind.format(value)}{_percentage(before, value)}"


def _percentage(before: FactValue, value: FactValue) -> str:
    if not isinstance(before, int | float) or not isinstance(value, int | float) or before <= 0:
        return ""
    return f" ({(value - before) / before * 100:+.3g}%)"


def _worse(pair: GatePair, _: _Sides) -> str:
    matched = pair.matched
    return ", ".join(change_text(change, matched) for change in matched.worse) if matched else ""


def _new_failure(pair: GatePair, sides: _Sides) -> str:
    if pair.matched is not None:
        worse = [change for change in pair.matched.worse if change.name in _NEW_FAILURES]
        return ", ".join(change_text(change, pair.matched) for change in worse)
    status = status_of(pair.b, sides.facts_of(pair)[1]) if pair.b is not None else None
    return f"new variant: {status}" if status is not None and not status.ok else ""


def _changed(pair: GatePair, sides: _Sides) -> str:
    matched = pair.matched
    if matched is None or matched.identical or (matched.a.failure and matched.b.failure):
        return ""
    if any(facts is None or value_of(facts, CODE) is None for facts in sides.facts_of(pair)):
        return "machine code unknown"
    changes = ", ".join(change_text(change, matched) for change in matched.changes)
    return f"other machine code{': ' if changes else ''}{changes}"


def _other_bits(pair: GatePair, sides: _Sides) -> str:
    """Return the reasons why a pair computes other bits, or why that is not known any more."""
    bits = sides.bits.get((pair.a.id, pair.b.id)) if pair.a and pair.b else None
    if bits is None:
        return ""
    if bits.differs is None:
        return f"unknown: {bits.unknown}" if bits.lost else ""
    return "; ".join(finding.text for finding in bits.findings)


def _removed(pair: GatePair, _: _Sides) -> str:
    return f"{_NO_COUNTERPART} in NEW" if pair.b is None else ""


def _added(pair: GatePair, _: _Sides) -> str:
    return f"{_NO_COUNTERPART} in OLD" if pair.a is None else ""


_WORD_CHECKS = {
    WORSE: _worse,
    NEW_FAILURES: _new_failure,
    CHANGED: _changed,
    BITS: _other_bits,
    REMOVED: _removed,
    ADDED: _added,
}


def _unmeasured(condition: Condition, sides: _Sides) -> Iterator[str]:
    """Say why a condition could be checked for no matched variant; yield nothing if it could."""
    if condition.text == BITS and all(bits.differs is None for bits in sides.bits.values()):
        yield from _unknown_bits(sides)
    if not condition.comparisons:
        return
    unknown: set[str] = set()
    for pair in sides.pairs:
        if not pair.matched:
            continue
        old, new = sides.facts_of(pair)
        if outcome(condition, old, new) is not None:
            return
        unknown.update(unknown_facts(condition, new))
        unknown.update(unknown_facts(condition, old or {}) if condition.relative else ())
    names = ", ".join(name for name in condition.facts if name in unknown)
    yield f"{condition.text}: cannot be checked: {names} is unknown for every matched variant"


def _unknown_bits(sides: _Sides) -> Iterator[str]:
    """Say for how many matched variants nobody knows, nor knew, what bits they compute."""
    unknown = [bits.unknown for bits in sides.bits.values() if bits.differs is None and not bits.lost]
    for reason, members in grouped(unknown, str).items():
        yield f"{BITS}: unknown for {pluralize(len(members), 'variant')}, as in OLD: {reason}"


def _nothing_matched(comparison: CaptureComparison) -> str:
    """Say why no variant was compared."""
    for index, side in enumerate(("OLD", "NEW")):
        if not comparison.variants[index]:
            return f"nothing was compared: {side} ({comparison.paths[index]}) has no variants"
    kernels = [
        ", ".join(sorted({variant.kernel.name for variant in variants})[:_MAX_NAMED])
        for variants in comparison.variants
    ]
    return f"nothing was compared: no variant of NEW ({kernels[1]}) matches one of OLD ({kernels[0]})"
