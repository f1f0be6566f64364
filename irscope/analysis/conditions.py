"""Conditions on how a variant differs from its counterpart: `spills>0`, `registers>+10%`, `worse`.

A condition is one of the words in WORDS, or an expectation (expectations.py) about the variant in NEW. Its
values can also be changes from the value in OLD: `registers>+8` is true if NEW has at least 9 registers more,
`registers>+10%` if it has over a tenth more. Several comparisons joined by `and` must all be true.

Only facts that a compilation determines can be used: compile times and measured times depend on the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from irscope.analysis.expectations import UNKNOWN, FactComparison, failure_of, parse_expectation
from irscope.facts.fact import Facts, value_named
from irscope.facts.registry import CHOSEN, MS, MS_KEY
from irscope.model import UserError
from irscope.model.frozen_value import FrozenValue

WORSE, NEW_FAILURES, CHANGED, REMOVED, ADDED = "worse", "new-failures", "changed", "removed", "added"
# Each word, and when it is true.
WORDS: Mapping[str, str] = {
    WORSE: "a fact whose better direction is known gets worse, or the variant no longer compiles or launches",
    NEW_FAILURES: "a variant does not compile or cannot be launched, and its counterpart could",
    CHANGED: "a variant has other machine code than its counterpart",
    REMOVED: "a variant of OLD has no counterpart in NEW",
    ADDED: "a variant of NEW has no counterpart in OLD",
}
_ENTRY = re.compile(r'(?:"[^"]*"?|[^,"])+')
_MEASURED = (MS.name, MS_KEY.name, CHOSEN.name)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Condition(FrozenValue):
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
    """The conditions in texts such as "spills>0, worse", each once.

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
    """The facts of a condition that are unknown for a variant."""
    return [name for name in condition.facts if value_named(facts, name) is None]
