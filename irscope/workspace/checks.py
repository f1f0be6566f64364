"""Checks a capture's facts against expectations: for `irscope check` and the pytest fixture."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from irscope.analysis.expectations import DOES_NOT_HOLD, Unmet, parse_expectation, unmet
from irscope.facts.estimate_kinds import ESTIMATE_KINDS
from irscope.model import UserError, Variant
from irscope.model.text import one_line, pluralize
from irscope.store import find_variant
from irscope.workspace.workspace import Workspace

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
