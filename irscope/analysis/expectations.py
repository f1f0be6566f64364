"""Assertions on the facts of a variant, as text: `spills == 0 and global_load_bytes >= 16`.

The whole grammar: COMPARISON [and COMPARISON]..., where a COMPARISON is FACT OPERATOR VALUE. FACT is the
name of a fact or an alias; OPERATOR is one of == != < <= > >= contains; VALUE is a number, a word or text in
double quotes. Where two variants are compared (conditions.py), VALUE can be a change from the value before:
+8, -8, +10%, -10%. Nothing is evaluated as Python.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from irscope.facts.estimate_kinds import ESTIMATE_KINDS
from irscope.facts.fact import Fact, FactValue
from irscope.facts.registry import (
    CONVERSIONS,
    LOAD_WIDTH,
    SECONDS,
    SHARED,
    SPILLS,
    STACK,
    STORE_WIDTH,
    facts_named,
)
from irscope.model import Status, UserError
from irscope.model.frozen_value import FrozenValue

# The reason if the value is simply another one, and if it is unknown.
DOES_NOT_HOLD = "does not hold"
UNKNOWN = "unknown"
# Other names for facts.
ALIASES = {
    "spills": SPILLS.name,
    "spill_words": SPILLS.name,
    "stack_bytes": STACK.name,
    "shared_bytes": SHARED.name,
    "global_load_bytes": LOAD_WIDTH.name,
    "global_store_bytes": STORE_WIDTH.name,
    "layout_conversions": CONVERSIONS.name,
    "compile_seconds": SECONDS.name,
}

_ORDERED: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPARISON = re.compile(r'\s*(\w+)\s*(==|!=|<=|>=|<|>|contains\b)\s*("[^"]*"|[^\s"]+)\s*')
_AND = re.compile(r"and\b")
_CHANGE = re.compile(r"([+-]\d+(?:\.\d+)?)(%?)")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FactComparison(FrozenValue):
    """One comparison: `fact` is the name of the fact, `text` the comparison as written.

    `change` is "+" if `value` is added to the fact's value before, "%" if it is a percentage of that value,
    and "" if it is the value itself.
    """

    text: str
    fact: str
    operator: str
    value: float | str
    change: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Unmet(FrozenValue):
    """A comparison that does not hold, with the value of the fact (None: unknown) and the reason."""

    comparison: FactComparison
    value: FactValue
    reason: str


def parse_expectation(text: str, changes: bool = False) -> tuple[FactComparison, ...]:
    """The comparisons that `text` joins with `and`; their values may be changes if `changes`.

    Raises UserError if it is malformed.
    """
    comparisons, position = [], 0
    while True:
        match = _COMPARISON.match(text, position)
        if match is None:
            raise UserError(
                f"'{text}' is malformed at '{text[position:].strip()}'; "
                "write FACT OPERATOR VALUE, such as 'spills == 0 and registers <= 128'"
            )
        comparisons.append(_comparison(match, changes))
        if match.end() == len(text):
            return tuple(comparisons)
        joint = _AND.match(text, match.end())
        position = joint.end() if joint else match.end()
        if joint is None:
            raise UserError(f"'{text}': expected 'and' between two comparisons, not '{text[position:]}'")


def unmet(comparisons: tuple[FactComparison, ...], facts: Mapping[str, Fact]) -> Iterator[Unmet]:
    """The comparisons that do not hold for a variant's facts; a comparison of an unknown fact never holds."""
    for comparison in comparisons:
        fact = facts.get(comparison.fact)
        value = fact.value if fact is not None else None
        if reason := failure_of(comparison, value):
            yield Unmet(comparison, value, reason)


def _comparison(match: re.Match[str], changes: bool) -> FactComparison:
    name, sign, written = match.groups()
    fact = ALIASES.get(name, name)
    estimated = {kind.name: kind for kind in ESTIMATE_KINDS}
    kinds = estimated if fact in estimated else {**facts_named([fact]), **estimated}
    if fact not in kinds:
        raise UserError(f"no fact '{name}'; the facts are: {', '.join([*kinds, *ALIASES])}")
    if changes and (change := _CHANGE.fullmatch(written)) and sign != "contains":
        return FactComparison(match[0].strip(), fact, sign, float(change[1]), change[2] or "+")
    value = _value(written)
    if sign in _ORDERED and isinstance(value, str):
        raise UserError(f"'{match[0].strip()}': {sign} needs a number, not '{value}'")
    if sign == "contains":
        value = written.strip('"')
    return FactComparison(match[0].strip(), fact, sign, value)


def _value(text: str) -> float | str:
    if text.startswith('"'):
        return text.strip('"')
    try:
        return float(text)
    except ValueError:
        return text


def failure_of(comparison: FactComparison, value: FactValue, before: FactValue = None) -> str:
    """Why the comparison does not hold; "" if it does. `before` is the value that a change is from."""
    sign, expected = comparison.operator, _expected(comparison, before)
    if value is None or expected is None:
        return UNKNOWN
    if isinstance(value, Status):
        value = str(value)
    if sign == "contains":
        return "" if str(expected) in str(value) else "does not contain it"
    if isinstance(value, str) != isinstance(expected, str):
        return f"the fact is {'text' if isinstance(value, str) else 'a number'}"
    if sign in ("==", "!="):
        return "" if (value == expected) == (sign == "==") else DOES_NOT_HOLD
    # Text never gets here: an order needs a number.
    holds = _ORDERED[sign](float(value), float(expected))
    return "" if holds else DOES_NOT_HOLD


def _expected(comparison: FactComparison, before: FactValue) -> float | str | None:
    """The value to compare with; None if it is a change from a value that is not a number."""
    value = comparison.value
    if not comparison.change or isinstance(value, str):
        return value
    if not isinstance(before, int | float):
        return None
    return before * (100 + value) / 100 if comparison.change == "%" else before + value
