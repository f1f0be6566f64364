"""Conditions on the facts of a variant: one language for checks, gates and the filter of the table.

    spills == 0 and global_load_bytes >= 16     irscope check --expect
    registers>+10%, spills>0, worse             irscope diff --fail-on
    num_warps=8 occ>=50% gemm                   the filter of the table
    bits == #3                                  irscope check --expect: the same bits as a variant
    advisories == 0                             irscope check --expect: no known bug of its compiler

A comparison is NAME OPERATOR VALUE. NAME is the name of a fact, its title or an alias, in double quotes if it
has blanks; OPERATOR is one of = == != < <= > >= contains; VALUE is a number as the table shows it, a word or
text in double quotes. `and` joins comparisons. A filter can also have words, which must occur in a row. Where
two variants are compared, VALUE can be a change from the value in OLD: `registers>+8` is true if NEW has at
least 9 registers more, `registers>+10%` if it has over a tenth more. Nothing is evaluated as Python.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from irscope.facts.fact import Fact, FactValue
from irscope.facts.registry import CONVERSIONS, LOAD_WIDTH, SECONDS, SHARED, SPILLS, STACK, STORE_WIDTH
from irscope.model import UserError, Value, Variant
from irscope.model.records import frozen
from irscope.model.text import one_line, pluralize
from irscope.store import find_variant
from irscope.workspace.fact_table import kinds_named, needs_estimates
from irscope.workspace.workspace import Workspace

# The reason if the value is simply another one, and if it is unknown.
DOES_NOT_HOLD = "does not hold"
UNKNOWN = "unknown"
# What a check compares with the name of a variant, instead of a fact with its value; the value if it fails.
BITS = "bits"
_OTHER_BITS = "other"
# The number of advisories that affect a variant, which is no fact of the table.
ADVISORIES = "advisories"
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
_COMPARISON = re.compile(r'([\w.]+|"[^"]*")\s*(==|!=|<=|>=|<|>|=(?!=)|contains\b)\s*("[^"]*"|[^\s"]+)\s*')
_WORD = re.compile(r'("[^"]*"|\S+)\s*')
_AND = "and"
_CHANGE = re.compile(r"([+-]\d+(?:\.\d+)?)(%?)")


@frozen
class FactComparison:
    """One comparison: `fact` is the name of the fact, `text` the comparison as written.

    `change` is "+" if `value` is added to the fact's value before, "%" if it is a percentage of that value,
    and "" if it is the value itself.
    """

    text: str
    fact: str
    operator: str
    value: float | str
    change: str = ""


@frozen
class Unmet:
    """A comparison that does not hold, with the value of the fact (None: unknown) and the reason."""

    comparison: FactComparison
    value: FactValue
    reason: str


def parse_expectation(text: str, changes: bool = False, bits: bool = False) -> tuple[FactComparison, ...]:
    """Parse the comparisons that `text` joins with `and`.

    Their values may be changes if `changes`. If `bits`, BITS may be compared with the name of a variant.
    Raises UserError if it is malformed.
    """
    text = " ".join(text.splitlines())
    comparisons: list[FactComparison] = []
    joined = True
    for position, item in _items(text, partial(_comparison_of_fact, changes=changes, bits=bits)):
        if joined and isinstance(item, str):
            raise _malformed(text, position)
        if not joined and item != _AND:
            raise UserError(f"'{text}': expected 'and' between two comparisons, not '{text[position:]}'")
        if not isinstance(item, str):
            comparisons.append(item)
        joined = not joined
    if joined:
        raise _malformed(text, len(text))
    return tuple(comparisons)


def parse_filter(text: str, names: Mapping[str, str]) -> list[FactComparison | str]:
    """Return the comparisons of `text` and its words; a comparison of an unknown name consists of words.

    `names` maps each spelling of a name, in lower case, to the name.
    """

    def comparison(match: re.Match[str]) -> FactComparison | None:
        name = names.get(match[1].strip('"').lower())
        return None if name is None else _comparison(match, name)

    items: list[FactComparison | str] = []
    for _, item in _items(text, comparison):
        if not isinstance(item, str):
            items.append(item)
        elif item != _AND or not items or isinstance(items[-1], str):
            items.append(item.strip('"'))
    return items


def spellings(titled: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """Map each spelling of a name, in lower case, to the name: itself, its titles, its aliases.

    `titled` are the names with their titles; the first that has a spelling gets it.
    """
    names: dict[str, str] = {}
    for name, *titles in titled:
        for spelling in (name, *titles):
            names.setdefault(spelling.lower(), name)
    aliases = {alias: names[fact] for alias, fact in ALIASES.items() if fact in names}
    return aliases | names


def _items(
    text: str, comparison: Callable[[re.Match[str]], FactComparison | None]
) -> Iterator[tuple[int, FactComparison | str]]:
    """Yield what `text` consists of, with its position: a word where `comparison` makes none of a match."""
    position = len(text) - len(text.lstrip())
    while position < len(text):
        match = _COMPARISON.match(text, position)
        made = comparison(match) if match else None
        if match is None or made is None:
            match = _WORD.match(text, position)
        if match is None:
            return
        yield position, made or match[1]
        position = match.end()


def _malformed(text: str, position: int) -> UserError:
    return UserError(
        f"'{text}' is malformed at '{text[position:].strip()}'; "
        "write FACT OPERATOR VALUE, such as 'spills == 0 and registers <= 128'"
    )


def unmet(comparisons: tuple[FactComparison, ...], facts: Mapping[str, Fact]) -> Iterator[Unmet]:
    """Yield the comparisons that do not hold for a variant's facts.

    A comparison of an unknown fact never holds.
    """
    for comparison in comparisons:
        fact = facts.get(comparison.fact)
        value = fact.value if fact is not None else None
        if reason := failure_of(comparison, value):
            yield Unmet(comparison, value, reason)


def _comparison_of_fact(match: re.Match[str], changes: bool, bits: bool) -> FactComparison:
    name = match[1].strip('"')
    if bits and name == BITS:
        if match[2] not in ("=", "=="):
            raise UserError(f"'{match[0].strip()}': write 'bits == #3', the same bits as a variant")
        return FactComparison(match[0].strip(), BITS, match[2], match[3].strip('"'))
    fact = ALIASES.get(name, name)
    if bits and name == ADVISORIES and (count := _comparison(match, ADVISORIES)) is not None:
        return count
    kinds = kinds_named([fact])
    if fact not in kinds:
        titled = spellings(
            (kind.name, kind.title, kind.heading, kind.heading.replace(" bytes", " B"))
            for kind in kinds.values()
        )
        if name.lower() not in titled:
            raise UserError(f"no fact '{name}'; the facts are: {', '.join([*kinds, *ALIASES])}")
        fact = titled[name.lower()]
    comparison = _comparison(match, fact, changes)
    if comparison is None:
        value = match[3].strip('"')
        raise UserError(f"'{match[0].strip()}': {match[2]} needs a number, not '{value}'")
    return comparison


def _comparison(match: re.Match[str], fact: str, changes: bool = False) -> FactComparison | None:
    """Return the comparison that was written; None if it needs a number and has none."""
    sign, value_text = match[2], match[3]
    value: float | str | None = None
    change = _CHANGE.fullmatch(value_text) if changes else None
    if sign != "contains" and not value_text.startswith('"'):
        value = float(change[1]) if change else _number(value_text)
    if value is None:
        if sign in _ORDERED:
            return None
        change, value = None, value_text.strip('"')
    return FactComparison(match[0].strip(), fact, sign, value, (change[2] or "+") if change else "")


def _number(text: str) -> float | None:
    """Return the number that the table shows as `text`: `1,024`, `50%`."""
    percent = text.endswith("%")
    try:
        return float(text.rstrip("%").replace(",", "")) / (100 if percent else 1)
    except ValueError:
        return None


def failure_of(comparison: FactComparison, value: FactValue | Value, before: FactValue = None) -> str:
    """Say why the comparison does not hold; "" if it does.

    `before` is the value that a change is from.
    """
    sign, expected = comparison.operator, _expected(comparison, before)
    if value is None or expected is None:
        return UNKNOWN
    if not isinstance(value, int | float):
        value = str(value)
    if sign == "contains":
        return "" if str(expected) in str(value) else "does not contain it"
    if isinstance(value, str) != isinstance(expected, str):
        return f"the fact is {'text' if isinstance(value, str) else 'a number'}"
    if sign not in _ORDERED:
        return "" if (value == expected) == (sign != "!=") else DOES_NOT_HOLD
    # Text never gets here: an order needs a number.
    holds = _ORDERED[sign](float(value), float(expected))
    return "" if holds else DOES_NOT_HOLD


def _expected(comparison: FactComparison, before: FactValue) -> float | str | None:
    """Return the value to compare with; None if it is a change from a value that is not a number."""
    value = comparison.value
    if not comparison.change or isinstance(value, str):
        return value
    if not isinstance(before, int | float):
        return None
    return before * (100 + value) / 100 if comparison.change == "%" else before + value


_KEYS = ("that", "kernel", "target", "variant", "launch")


@frozen
class CheckRule:
    """Expectations and the variants that they apply to: `kernel` is a glob; None selects all.

    Bits are compared at `launch`, written as text; None: at each launch that the capture has.
    """

    that: tuple[str, ...]
    kernel: str | None = None
    target: str | None = None
    variant: str | None = None
    launch: str | None = None


@frozen
class CheckFailure:
    """A comparison that does not hold for a variant; `name` is the variant's short name."""

    variant: Variant
    name: str
    unmet: Unmet

    @property
    def text(self) -> str:
        """Return the failure in one line."""
        variant, unmet = self.variant, self.unmet
        where = f"{variant.kernel.name} #{variant.id} {self.name} {variant.target}"
        return one_line(f"{where}: expected {unmet.comparison.text}, {self.found}")

    @property
    def found(self) -> str:
        """Return the value that was found: `load_width is 8`."""
        fact, value = self.unmet.comparison.fact, self.unmet.value
        if fact == BITS:
            return f"the bits {'are unknown' if value is None else 'differ'}: {self.unmet.reason}"
        return f"{fact} is {'unknown' if value is None else value}{self._reason}"

    @property
    def _reason(self) -> str:
        """Return why a value is unknown, or cannot be compared."""
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
        """Number of variants that were checked."""
        return len(self.checked)

    @property
    def lines(self) -> list[str]:
        """Return a line per failure, then the totals."""
        failed = len({failure.variant.id for failure in self.failures})
        variants, comparisons = pluralize(self.variants, "variant"), pluralize(self.comparisons, "comparison")
        if not failed:
            return [f"{variants}, {comparisons}: all hold"]
        total = f"{failed} of {variants} failed, {len(self.failures)} of {comparisons} did not hold"
        return [*(failure.text for failure in self.failures), total]


def check(workspace: Workspace, rules: Sequence[CheckRule]) -> CheckResult:
    """Check a capture. Raises UserError if a rule cannot be parsed or selects no variant."""
    parsed = [tuple(parse_expectation(text, bits=True) for text in rule.that) for rule in rules]
    selected = [_selected(workspace.variants, rule) for rule in rules]
    checked = {variant.id: variant for variants in selected for variant in variants}
    names = {comparison.fact for rule in parsed for expectation in rule for comparison in expectation}
    facts = workspace.all_facts(checked.values(), needs_estimates(names))
    comparisons = 0
    failures: list[CheckFailure] = []
    for rule, variants, expectations in zip(rules, selected, parsed, strict=True):
        every = tuple(comparison for expectation in expectations for comparison in expectation)
        on_facts = tuple(comparison for comparison in every if comparison.fact not in (BITS, ADVISORIES))
        on_advisories = [comparison for comparison in every if comparison.fact == ADVISORIES]
        on_bits = [comparison for comparison in every if comparison.fact == BITS]
        outcomes = _bits_outcomes(workspace, variants, on_bits, rule.launch) if on_bits else {}
        for variant in variants:
            compared = outcomes.get(variant.id, [])
            comparisons += len(on_facts) + len(compared) + len(on_advisories)
            failed = [*unmet(on_facts, facts[variant.id]), *filter(None, compared)]
            failed += _unmet_advisories(workspace, variant, on_advisories)
            failures += [CheckFailure(variant, workspace.names[variant.id], item) for item in failed]
    return CheckResult(str(workspace.path), tuple(checked.values()), comparisons, failures)


def _unmet_advisories(
    workspace: Workspace, variant: Variant, comparisons: Sequence[FactComparison]
) -> Iterator[Unmet]:
    """Yield the comparisons with the number of advisories that do not hold; the reason names them."""
    from irscope.workspace.linting import advisories_of

    found = advisories_of(workspace, variant) if comparisons else []
    for comparison in comparisons:
        if failure_of(comparison, len(found)):
            reason = "; ".join(f"{one.rule.summary.rstrip('.')} (line {one.line})" for one in found)
            yield Unmet(comparison, len(found), reason or DOES_NOT_HOLD)


def _bits_outcomes(
    workspace: Workspace,
    variants: Sequence[Variant],
    comparisons: Sequence[FactComparison],
    launch: str | None,
) -> dict[int, list[Unmet | None]]:
    """Return the outcome of each comparison of a variant's bits by its id; None if it holds.

    A variant is compared with those that have a launch in common with it; one at least must. Raises UserError
    if a variant to compare with does not exist.
    """
    from irscope.workspace.same_bits import bits_answers

    references = [workspace.variant(str(comparison.value)) for comparison in comparisons]
    outcomes: dict[int, list[Unmet | None]] = {variant.id: [] for variant in variants}
    for comparison, reference in zip(comparisons, references, strict=True):
        for number, answer in bits_answers(workspace, reference, variants, launch).items():
            value = None if answer.same is None else _OTHER_BITS
            outcome = None if answer.same else Unmet(comparison, value, answer.reason)
            outcomes.setdefault(number, []).append(outcome)
    for compared in outcomes.values():
        if not compared:
            why = (
                f"no launch has both it and #{references[0].id}, since its kernel, argument types or sizes "
                "are others; compare it with another variant too"
            )
            compared.append(Unmet(comparisons[0], None, why))
    return outcomes


def read_rules(path: Path) -> list[CheckRule]:
    """Read the rules in a TOML file: [[expect]] tables. Raises UserError if the file is malformed."""
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
        available = ", ".join(dict.fromkeys(f"{v.kernel.name} {v.target}" for v in variants)) or "none"
        request = f"kernel {rule.kernel or '*'} and target {rule.target or '*'}"
        raise UserError(f"no variant matches {request}; the capture has: {available}")
    return matching if rule.variant is None else [find_variant(matching, rule.variant)]
