"""Assertions on the facts of a variant, as text: `spills == 0 and global_load_bytes >= 16`.

The whole grammar: COMPARISON [and COMPARISON]..., where a COMPARISON is FACT OPERATOR VALUE. FACT is the
name of a fact or an alias; OPERATOR is one of == != < <= > >= contains; VALUE is a number, a word or text in
double quotes. Where two variants are compared (conditions.py), VALUE can be a change from the value before:
+8, -8, +10%, -10%. Nothing is evaluated as Python.

Conditions on how a variant differs from its counterpart: `spills>0`, `registers>+10%`, `worse`.

A condition is one of the words in WORDS, or an expectation (expectations.py) about the variant in NEW. Its
values can also be changes from the value in OLD: `registers>+8` is true if NEW has at least 9 registers more,
`registers>+10%` if it has over a tenth more. Several comparisons joined by `and` must all be true.

Only facts that a compilation determines can be used: compile times and measured times depend on the machine.

Checks a capture's facts against expectations: for `irscope check` and the pytest fixture.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from irscope.facts.fact import ESTIMATE_KINDS, Fact, Facts, FactValue, value_named
from irscope.facts.registry import (
    CHOSEN,
    CONVERSIONS,
    LOAD_WIDTH,
    MS,
    MS_KEY,
    SECONDS,
    SHARED,
    SPILLS,
    STACK,
    STORE_WIDTH,
    facts_named,
)
from irscope.model import Status, UserError, Variant
from irscope.model.records import FrozenValue
from irscope.model.text import one_line, pluralize
from irscope.store import find_variant
from irscope.workspace.workspace import Workspace

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


_KEYS = ("that", "kernel", "target", "variant")


@dataclass(frozen=True, slots=True)
class CheckRule:
    """Expectations and the variants that they apply to: `kernel` is a glob; None selects all."""

    that: tuple[str, ...]
    kernel: str | None = None
    target: str | None = None
    variant: str | None = None


@dataclass(frozen=True, slots=True)
class CheckFailure:
    """A comparison that does not hold for a variant; `name` is the variant's short name."""

    variant: Variant
    name: str
    unmet: Unmet

    @property
    def text(self) -> str:
        """The failure in one line."""
        variant, unmet = self.variant, self.unmet
        where = f"{variant.kernel.name} #{variant.id} {self.name} {variant.target}"
        return one_line(f"{where}: expected {unmet.comparison.text}, {self.found}")

    @property
    def found(self) -> str:
        """The value that was found: `load_width is 8`."""
        value = "unknown" if self.unmet.value is None else f"{self.unmet.value}"
        return f"{self.unmet.comparison.fact} is {value}{self._reason}"

    @property
    def _reason(self) -> str:
        """Why a value is unknown, or cannot be compared."""
        if self.unmet.value is None:
            failure = self.variant.failure
            return f": it did not compile: {failure.summary}" if failure else ": no stage has it"
        return "" if self.unmet.reason == DOES_NOT_HOLD else f": {self.unmet.reason}"


@dataclass(frozen=True)
class CheckResult:
    """The variants that were `checked`, the number of comparisons, and those that do not hold."""

    capture: str
    checked: Sequence[Variant]
    comparisons: int
    failures: Sequence[CheckFailure]

    @property
    def variants(self) -> int:
        """The number of variants that were checked."""
        return len(self.checked)

    @property
    def lines(self) -> list[str]:
        """A line per failure, then the totals."""
        failed = len({failure.variant.id for failure in self.failures})
        variants, comparisons = pluralize(self.variants, "variant"), pluralize(self.comparisons, "comparison")
        if not failed:
            return [f"{variants}, {comparisons}: all hold"]
        total = f"{failed} of {variants} failed, {len(self.failures)} of {comparisons} did not hold"
        return [*(failure.text for failure in self.failures), total]


def check(workspace: Workspace, rules: Sequence[CheckRule]) -> CheckResult:
    """Checks a capture. Raises UserError if a rule cannot be parsed or selects no variant."""
    parsed = [tuple(map(parse_expectation, rule.that)) for rule in rules]
    selected = [_selected(workspace.variants, rule) for rule in rules]
    checked = {variant.id: variant for variants in selected for variant in variants}
    facts = workspace.all_facts(checked.values())
    names = {comparison.fact for rule in parsed for expectation in rule for comparison in expectation}
    if not names.isdisjoint(kind.name for kind in ESTIMATE_KINDS):
        facts = {v.id: {**facts[v.id], **workspace.estimates.facts(v)} for v in checked.values()}
    comparisons = 0
    failures: list[CheckFailure] = []
    for variants, expectations in zip(selected, parsed, strict=True):
        for variant in variants:
            for expectation in expectations:
                comparisons += len(expectation)
                found = unmet(expectation, facts[variant.id])
                failures += [CheckFailure(variant, workspace.names[variant.id], one) for one in found]
    return CheckResult(str(workspace.path), tuple(checked.values()), comparisons, failures)


def read_rules(path: Path) -> list[CheckRule]:
    """The rules in a TOML file: [[expect]] tables. Raises UserError if the file is malformed."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid TOML: {error}") from error
    tables = document.get("expect")
    if not isinstance(tables, list) or not tables or list(document) != ["expect"]:
        raise UserError(f"{path}: the file must consist of [[expect]] tables")
    return [_rule(path, table) for table in tables]


def _rule(path: Path, table: Any) -> CheckRule:
    if not isinstance(table, Mapping):
        raise UserError(f"{path}: [[expect]] must be a table; its keys: {', '.join(_KEYS)}")
    if unknown := [key for key in table if key not in _KEYS]:
        raise UserError(f"{path}: unknown key '{unknown[0]}'; known keys: {', '.join(_KEYS)}")
    that = table.get("that")
    that = [that] if isinstance(that, str) else that
    rest = {key: value for key, value in table.items() if key != "that"}
    if not isinstance(that, list) or not that or not all(isinstance(x, str) for x in [*that, *rest.values()]):
        raise UserError(
            f'{path}: [[expect]] needs that = ["spills == 0", ...]; {", ".join(_KEYS[1:])} must be strings'
        )
    return CheckRule(tuple(that), **rest)


def _selected(variants: Sequence[Variant], rule: CheckRule) -> list[Variant]:
    matching = [
        variant
        for variant in variants
        if (rule.kernel is None or fnmatchcase(variant.kernel.name, rule.kernel))
        and rule.target in (None, str(variant.target))
    ]
    if not matching:
        known = ", ".join(dict.fromkeys(f"{v.kernel.name} {v.target}" for v in variants)) or "none"
        wanted = f"kernel {rule.kernel or '*'} and target {rule.target or '*'}"
        raise UserError(f"no variant matches {wanted}; the capture has: {known}")
    return matching if rule.variant is None else [find_variant(matching, rule.variant)]
