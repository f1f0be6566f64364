"""The rows of the table of variants: the chosen kernel and target, sorted, filtered, duplicates folded.

The filter of the table: words that a row must contain, and conditions like `registers>128`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from irscope.model import Variant
from irscope.workspace.fact_table import FactTable
from irscope.workspace.table_columns import DIFFERS, Column, ColumnSummary, ColumnValue, sort_key


@dataclass(frozen=True)
class TableRow:
    """A row: one variant, or several with equal machine code folded into one.

    `equal` are all of them, empty for a row of one variant. `expanded`: the duplicate has its own row,
    below the first one of its group.
    """

    variant: Variant
    equal: tuple[Variant, ...] = ()
    expanded: bool = False

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Every variant of the row."""
        return self.equal or (self.variant,)


@dataclass(frozen=True)
class Folding:
    """Whether duplicates are folded, except for some groups (by the id of their first variant)."""

    folded: bool = True
    exceptions: frozenset[int] = frozenset()

    def hides(self, first: int) -> bool:
        """Whether the duplicates of this variant are folded into its row."""
        return self.folded != (first in self.exceptions)

    def toggled(self, first: int) -> Folding:
        """With one group folded or expanded."""
        return Folding(self.folded, self.exceptions ^ {first})


def sorted_variants(variants: Sequence[Variant], column: Column, descending: bool) -> list[Variant]:
    """The variants by a column, unknown values last; equal ones stay in their order."""
    values = column.values(variants)
    texts = {text: sort_key(text) for text in {value for value in values if isinstance(value, str)}}
    found = [texts[value] if isinstance(value, str) else sort_key(value) for value in values]
    keys = dict(zip([variant.id for variant in variants], found, strict=True))
    unknown = sort_key(None)[0]
    known = [variant for variant in variants if keys[variant.id][0] != unknown]
    rest = [variant for variant in variants if keys[variant.id][0] == unknown]
    return sorted(known, key=lambda variant: keys[variant.id], reverse=descending) + rest


def rows(variants: Sequence[Variant], facts: FactTable, folding: Folding) -> list[TableRow]:
    """The rows of variants in their order; duplicates are in or below the row of the first of them."""
    groups: dict[int, list[Variant]] = {}
    for variant in variants:
        first = facts.duplicate_of(variant)
        groups.setdefault(variant.id if first is None else first, []).append(variant)
    found = []
    for first, group in groups.items():
        if len(group) > 1 and folding.hides(first):
            found.append(TableRow(group[0], tuple(group)))
        else:
            found += [TableRow(variant, expanded=place > 0) for place, variant in enumerate(group)]
    return found


_CONDITION = re.compile(r"([\w.]+)(>=|<=|!=|=|>|<)(\S+)")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, "!=": operator.ne, "=": operator.eq, ">": operator.gt,
    "<": operator.lt,
}  # fmt: skip

_Test = Callable[[ColumnValue], bool]
_Searched = tuple[Column, Mapping[ColumnValue, int] | None]


def matching(
    query: str,
    columns: Sequence[Column],
    variants: Sequence[Variant],
    summaries: Sequence[ColumnSummary] | None = None,
) -> list[Variant]:
    """The variants that match every word of `query`, in order.

    A condition names a column by its name, or by its title with or without the unit. Any other word must
    occur in one of the columns, in any case, other than the stage that differs from A. `summaries` of the
    columns save time: a column without a matching value is skipped.
    """
    found = list(variants)
    searched = [
        (column, summaries[place].counts if summaries else None)
        for place, column in enumerate(columns)
        if column.name != DIFFERS
    ]
    for word in query.split():
        condition = _condition(word, columns)
        if condition is None:
            found = _containing(word.lower(), searched, found)
        else:
            found = _passing(*condition, found)
    return found


def _passing(column: Column, test: _Test, variants: Sequence[Variant]) -> list[Variant]:
    values = column.values(variants)
    passed = {value: test(value) for value in set(values)}
    return [variant for variant, value in zip(variants, values, strict=True) if passed[value]]


def _containing(word: str, columns: Sequence[_Searched], variants: Sequence[Variant]) -> list[Variant]:
    """The variants with the word in any column."""
    found: set[int] = set()
    left: Sequence[Variant] = variants
    for column, counts in columns:
        if not left or (counts is not None and not _occurs(word, column, counts)):
            continue
        values = column.values(left)
        hits = {value for value in set(values) if word in column.write(value).lower()}
        if hits:
            found.update(v.id for v, value in zip(left, values, strict=True) if value in hits)
            left = [v for v, value in zip(left, values, strict=True) if value not in hits]
    return [variant for variant in variants if variant.id in found]


def _occurs(word: str, column: Column, values: Iterable[ColumnValue]) -> bool:
    """Whether any value contains a word; those of a column that is no fact are texts already."""
    texts = map(str, values) if column.fact is None else map(column.write, values)
    return any(word in text.lower() for text in texts)


def _condition(word: str, columns: Sequence[Column]) -> tuple[Column, _Test] | None:
    match = _CONDITION.fullmatch(word)
    if match is None:
        return None
    name, sign, wanted = match.groups()
    column = next((column for column in columns if name.lower() in _names(column)), None)
    if column is None:
        return None
    number = _number(wanted)
    if number is not None:
        return column, lambda value: _compares(value, sign, number)
    if sign in ("=", "!="):
        return column, lambda value: (column.write(value).lower() == wanted.lower()) == (sign == "=")
    return None


def _names(column: Column) -> set[str]:
    title = column.fact.title if column.fact else column.title
    return {column.name.lower(), title.lower()}


def _compares(value: ColumnValue, sign: str, wanted: float) -> bool:
    """Compares a number; False if it is unknown or not a number."""
    rank, number, _ = sort_key(value)
    return rank == 0 and _COMPARE[sign](number, wanted)


def _number(text: str) -> float | None:
    """Parses a number as the table shows it: `1,024`, `50%`."""
    percent = text.endswith("%")
    try:
        return float(text.rstrip("%").replace(",", "")) / (100 if percent else 1)
    except ValueError:
        return None
