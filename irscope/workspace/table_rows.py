"""The rows of the table of variants: the chosen kernel and target, sorted, filtered, duplicates folded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irscope.model import Variant
from irscope.workspace.fact_table import FactTable
from irscope.workspace.table_columns import Column, sort_key


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
