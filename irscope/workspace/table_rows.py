"""The rows of the table of variants: the chosen kernel and target, sorted, filtered, duplicates folded.

The filter of the table: words that a row must contain, and comparisons (conditions.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from irscope.model import Variant
from irscope.model.records import grouped
from irscope.workspace.conditions import FactComparison, failure_of, parse_filter, spellings
from irscope.workspace.fact_table import FactTable
from irscope.workspace.table_columns import DIFFERS, Column, ColumnSummary, ColumnValue
from irscope.workspace.table_sections import sort_key


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
        """Return every variant of the row."""
        return self.equal or (self.variant,)


@dataclass(frozen=True)
class Folding:
    """Whether duplicates are folded, except for some groups (by the id of their first variant)."""

    folded: bool = True
    exceptions: frozenset[int] = frozenset()

    def hides(self, first: int) -> bool:
        """Check whether the duplicates of this variant are folded into its row."""
        return self.folded != (first in self.exceptions)

    def toggled(self, first: int) -> Folding:
        """Return a copy with one group folded or expanded."""
        return Folding(self.folded, self.exceptions ^ {first})


def sorted_variants(variants: Sequence[Variant], column: Column, descending: bool) -> list[Variant]:
    """Sort the variants by a column, unknown values last; equal ones stay in their order."""
    values = column.values(variants)
    texts = {text: sort_key(text) for text in {value for value in values if isinstance(value, str)}}
    sort_keys = [texts[value] if isinstance(value, str) else sort_key(value) for value in values]
    keys = dict(zip([variant.id for variant in variants], sort_keys, strict=True))
    unknown = sort_key(None)[0]
    with_value = [variant for variant in variants if keys[variant.id][0] != unknown]
    rest = [variant for variant in variants if keys[variant.id][0] == unknown]
    return sorted(with_value, key=lambda variant: keys[variant.id], reverse=descending) + rest


def rows(variants: Sequence[Variant], facts: FactTable, folding: Folding) -> list[TableRow]:
    """Return the rows of variants in order; duplicates are in or below the row of the first of them."""

    def first_of_group(variant: Variant) -> int:
        first = facts.duplicate_of(variant)
        return variant.id if first is None else first

    groups = grouped(variants, first_of_group)
    result = []
    for first, group in groups.items():
        if len(group) > 1 and folding.hides(first):
            result.append(TableRow(group[0], tuple(group)))
        else:
            result += [TableRow(variant, expanded=index > 0) for index, variant in enumerate(group)]
    return result


_Searched = tuple[Column, Mapping[ColumnValue, int] | None]


def matching(
    query: str,
    columns: Sequence[Column],
    variants: Sequence[Variant],
    summaries: Sequence[ColumnSummary] | None = None,
) -> list[Variant]:
    """Return the variants that match every word of `query`, in order.

    A condition names a column by its name, or by its title with or without the unit. Any other
    word must occur in one of the columns, in any case, other than the stage that differs from A.
    `summaries` of the columns save time: a column without a matching value is skipped.
    """
    matches = list(variants)
    searched = [
        (column, summaries[index].counts if summaries else None)
        for index, column in enumerate(columns)
        if column.name != DIFFERS
    ]
    titled = ((c.name, c.fact.title if c.fact else c.title, c.title) for c in columns)
    for item in parse_filter(query.lower(), spellings(titled)):
        if isinstance(item, str):
            matches = _containing(item, searched, matches)
        else:
            column = next(column for column in columns if column.name == item.fact)
            matches = _passing(column, item, matches)
    return matches


def _passing(column: Column, comparison: FactComparison, variants: Sequence[Variant]) -> list[Variant]:
    """Return the variants for which a comparison holds: of numbers, or of the text that is shown."""
    written = isinstance(comparison.value, str)
    values = column.values(variants)
    passed = {
        value: not failure_of(comparison, column.write(value).lower() if written else value)
        for value in set(values)
    }
    return [variant for variant, value in zip(variants, values, strict=True) if passed[value]]


def _containing(word: str, columns: Sequence[_Searched], variants: Sequence[Variant]) -> list[Variant]:
    """Return the variants with the word in any column."""
    matching_ids: set[int] = set()
    left: Sequence[Variant] = variants
    for column, counts in columns:
        if not left or (counts is not None and not _occurs(word, column, counts)):
            continue
        values = column.values(left)
        hits = {value for value in set(values) if word in column.write(value).lower()}
        if hits:
            matching_ids.update(v.id for v, value in zip(left, values, strict=True) if value in hits)
            left = [v for v, value in zip(left, values, strict=True) if value not in hits]
    return [variant for variant in variants if variant.id in matching_ids]


def _occurs(word: str, column: Column, values: Iterable[ColumnValue]) -> bool:
    """Check whether any value contains a word; those of a column without a fact are texts already."""
    texts = map(str, values) if column.fact is None else map(column.write, values)
    return any(word in text.lower() for text in texts)
