"""Assertions on the facts of a variant, as text: `spills == 0 and global_load_bytes >= 16`.

The grammar, whole: COMPARISON [and COMPARISON]..., where a COMPARISON is FACT OPERATOR VALUE. FACT is a
name of the table or an alias; OPERATOR one of == != < <= > >= contains; VALUE a number, a word or text in
double quotes. Nothing in it is evaluated as Python.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from irscope.facts.fact import Fact, FactValue
from irscope.facts.registry import FACT_KINDS
from irscope.model import Status, UserError

# What people call these facts.
ALIASES = {
    "spills": "n_spills",
    "spill_words": "n_spills",
    "stack_bytes": "stack",
    "shared_bytes": "shared",
    "global_load_bytes": "load_width",
    "global_store_bytes": "store_width",
    "layout_conversions": "conversions",
    "compile_seconds": "seconds",
}
_NAMES = {kind.name for kind in FACT_KINDS}

_ORDERED: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPARISON = re.compile(r'\s*(\w+)\s*(==|!=|<=|>=|<|>|contains\b)\s*("[^"]*"|[^\s"]+)\s*')
_AND = re.compile(r"and\b")


@dataclass(frozen=True, slots=True)
class FactComparison:
    """One comparison: `fact` is the table's name, `text` how it was written."""

    text: str
    fact: str
    operator: str
    value: float | str


@dataclass(frozen=True, slots=True)
class Unmet:
    """A comparison that does not hold: with the fact's value, None where it is not known, and why."""

    comparison: FactComparison
    value: FactValue
    reason: str


def parse_expectation(text: str) -> tuple[FactComparison, ...]:
    """The comparisons that `text` joins with `and`. Raises UserError, saying what is wrong with it."""
    comparisons, position = [], 0
    while True:
        match = _COMPARISON.match(text, position)
        if match is None:
            raise UserError(
                f"'{text}' is no expectation at '{text[position:].strip()}'; "
                "write FACT OPERATOR VALUE, such as 'spills == 0 and registers <= 128'"
            )
        comparisons.append(_comparison(match))
        if match.end() == len(text):
            return tuple(comparisons)
        joint = _AND.match(text, match.end())
        position = joint.end() if joint else match.end()
        if joint is None:
            raise UserError(f"'{text}': between two comparisons stands 'and', not '{text[position:]}'")


def unmet(comparisons: tuple[FactComparison, ...], facts: Mapping[str, Fact]) -> Iterator[Unmet]:
    """The comparisons that do not hold for a variant's facts; one of an unknown fact never holds."""
    for comparison in comparisons:
        fact = facts.get(comparison.fact)
        value = fact.value if fact is not None else None
        if reason := _failure(comparison, value):
            yield Unmet(comparison, value, reason)


def _comparison(match: re.Match[str]) -> FactComparison:
    name, sign, written = match.groups()
    fact = ALIASES.get(name, name)
    if fact not in _NAMES:
        known = ", ".join([*(kind.name for kind in FACT_KINDS), *ALIASES])
        raise UserError(f"no fact '{name}'; there is: {known}")
    value = _value(written)
    if sign in _ORDERED and isinstance(value, str):
        raise UserError(f"'{match[0].strip()}': {sign} compares with a number, not with '{value}'")
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


def _failure(comparison: FactComparison, value: FactValue) -> str:
    """Why the comparison does not hold; "" where it does."""
    sign, expected = comparison.operator, comparison.value
    if value is None:
        return "it is not known"
    if isinstance(value, Status):
        value = str(value)
    if sign == "contains":
        return "" if str(expected) in str(value) else "it does not contain that"
    if isinstance(value, str) != isinstance(expected, str):
        return f"it is {'text' if isinstance(value, str) else 'a number'}"
    if sign in ("==", "!="):
        return "" if (value == expected) == (sign == "==") else "it is not so"
    # Texts are compared with a number only above.
    holds = _ORDERED[sign](float(value), float(expected))
    return "" if holds else "it is not so"
