"""The entries of the comparison table: the variants with their facts, by kernel and target, sorted.

Which values of a fact are the best and the worst, for every view.

The facts that are columns of the comparison table: all, those asked for, those that a person is shown.

The comparison table as plain dicts, for Python and data frames.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from irscope.facts.duplicates import duplicate_groups
from irscope.facts.fact import (
    BOUND_BY,
    ESTIMATE,
    ESTIMATE_KEY,
    Fact,
    FactKind,
    Facts,
    FactValue,
    column_of,
    status_of,
    value_named,
)
from irscope.facts.occupancy import IMPROVED_BY_SPILLS, spills
from irscope.facts.registry import kinds_for, kinds_of
from irscope.model import UserError, Value, Variant, format_value
from irscope.model.records import FrozenValue, grouped
from irscope.model.text import natural_key, one_line, pluralize
from irscope.workspace.fact_table import kinds_named

if TYPE_CHECKING:
    pass

# For sorting: numbers, then text, then unknown values.
SortKey = tuple[int, float, str]
# A value is marked if at most one in this many variants has it.
_RARE = 4
# The times of a launch; the fact NAME_key says which one.
_TIMES = ("ms", ESTIMATE.name)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BestValues(FrozenValue):
    """The best value of a fact among the variants of one problem; None if there is nothing to choose.

    `marks` maps the best and the worst value to `best` and `worst`, if few variants have it. `excluded` are
    the ids of the variants whose values do not count.
    """

    best: float | None = None
    marks: Mapping[float, str] = field(default_factory=dict)
    excluded: Set[int] = frozenset()

    def mark(self, variant: int, value: object) -> str:
        """Return `best` or `worst` if the value of a variant is marked, else ""."""
        if not isinstance(value, int | float) or variant in self.excluded:
            return ""
        return self.marks.get(value, "")


def best_values(
    kind: FactKind,
    facts: Mapping[int, Facts],
    unable: Set[int],
    spilling: Set[int],
    counts: Mapping[Any, int] | None = None,
) -> BestValues:
    """Determine the best value among the variants of one kernel for one target, for every view.

    `facts` are by variant id. `unable` are the ids of variants that cannot be launched, `spilling` of those
    that spill: they have few registers, and many resident warps, only because of that. Times of different
    problems have no order. `counts` saves time if it is known how many variants have each value.
    """

    def numbers(excluded: Set[int]) -> dict[float, int]:
        ranked = counts
        if ranked is None or excluded:
            rows = (row for id_, row in facts.items() if id_ not in excluded)
            ranked = Counter(column_of(rows, kind.name))
        return {value: count for value, count in ranked.items() if isinstance(value, int | float)}

    problems = set(column_of(facts.values(), f"{kind.name}_key")) if kind.name in _TIMES else set()
    if not kind.better or len(problems - {None}) > 1 or len(numbers(unable)) < 2:
        return BestValues()
    excluded = unable | spilling if kind in IMPROVED_BY_SPILLS else unable
    ranked = numbers(excluded)
    if not ranked:
        return BestValues()
    low, high = min(ranked), max(ranked)
    best, worst = (low, high) if kind.better == "low" else (high, low)
    few = max(1, sum(ranked.values()) // _RARE)
    marks = {value: mark for value, mark in ((worst, "worst"), (best, "best")) if ranked[value] <= few}
    return BestValues(best, marks, excluded)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableEntry(FrozenValue):
    """One variant of the table, `variant`.

    `name` is its short name, `facts` its facts by name. `problem` says in one line why it failed or cannot
    launch ("" if it can); such a variant is never ranked. `duplicate_of` is the number of the first variant
    with the same machine code; None for that variant itself, and if there is no other. `triton` is the
    version of Triton, None if all variants have the same.
    """

    variant: Variant
    name: str
    facts: Mapping[str, Fact]
    problem: str = ""
    duplicate_of: int | None = None
    triton: str | None = None

    @property
    def chosen(self) -> Mapping[str, Value]:
        """Return the config values and the environment; also Triton's version if it varies."""
        settings = self.variant.settings
        return settings if self.triton is None else {**settings, "triton": self.triton}

    def value(self, name: str) -> FactValue:
        """Return the value of the fact called `name`; None if it is unknown."""
        return value_named(self.facts, name)

    @property
    def note(self) -> str:
        """Return the state for a narrow column: `failed`, `no launch`, `= #2` or nothing."""
        if self.variant.failure:
            return "failed"
        if self.problem:
            return "no launch"
        return f"= #{self.duplicate_of}" if self.duplicate_of is not None else ""


@dataclass(frozen=True, eq=False, repr=False)
class TableSection(FrozenValue):
    """The variants of one kernel for one target: only these can be compared.

    `kernel` and `target` are the names. `entries` are the rows, in the order of the capture or sorted.
    """

    kernel: str
    target: str
    entries: tuple[TableEntry, ...]

    @property
    def backend(self) -> str:
        """Return the target's backend, which determines the facts."""
        return self.entries[0].variant.target.backend

    @property
    def title(self) -> str:
        """Return kernel, target and number of variants."""
        return f"{self.kernel}  {self.target}  {pluralize(len(self.entries), 'variant')}"

    @property
    def origin(self) -> str:
        """Return a generated kernel's computation, if that of all variants is the same; "" if not."""
        origins = {entry.variant.origin for entry in self.entries}
        origin = origins.pop() if len(origins) == 1 else None
        return one_line(origin.sentence) if origin else ""

    @cached_property
    def _facts(self) -> Mapping[int, Facts]:
        return {entry.variant.id: entry.facts for entry in self.entries}

    @cached_property
    def _unable(self) -> Set[int]:
        return {entry.variant.id for entry in self.entries if entry.problem}

    @cached_property
    def _spilling(self) -> Set[int]:
        return {id_ for id_, facts in self._facts.items() if spills(facts)}

    def best_values(self, kind: FactKind) -> BestValues:
        """Return the best value of a fact."""
        return best_values(kind, self._facts, self._unable, self._spilling)

    def values(self, name: str) -> list[FactValue]:
        """Return the values of the fact called `name`; None if one is unknown."""
        return column_of([entry.facts for entry in self.entries], name)

    def default_kinds(self) -> list[FactKind]:
        """Return the kinds that a person is shown: those of the backend with at least one known value.

        Without the facts that the notes contain: whether a variant can launch, and its machine code;
        and without those of things that no variant has, such as atomics.
        """
        hidden = {"launchable", "code"}
        if not self.varying_kinds([ESTIMATE_KEY]):
            hidden.add(ESTIMATE_KEY.name)
        return [
            kind
            for kind in with_estimates(self.entries, kinds_for(self.backend))
            if kind.name not in hidden
            and any(entry.value(kind.name) not in (None, kind.absent) for entry in self.entries)
        ]

    def varying_kinds(self, kinds: Sequence[FactKind]) -> list[FactKind]:
        """Return those of `kinds` whose values vary within the section; of SHOWN_TOGETHER, all or none."""
        names = {kind.name for kind in kinds}
        if names.intersection(SHOWN_TOGETHER):
            names.update(SHOWN_TOGETHER)
        varying_names = {name for name in names if len(set(map(_key, self.values(name)))) > 1}
        if varying_names.intersection(SHOWN_TOGETHER):
            varying_names.update(SHOWN_TOGETHER)
        return [kind for kind in kinds if kind.name in varying_names]


def entries(
    variants: Sequence[Variant], names: Mapping[int, str], facts: Mapping[int, Mapping[str, Fact]]
) -> list[TableEntry]:
    """Return the entries of `variants`; `names` and `facts` are by variant id."""
    groups = duplicate_groups(variants, facts)
    duplicates = {
        later.id: first.id for first, *duplicates_of_first in groups for later in duplicates_of_first
    }
    versions = {variant.toolchain.versions.get("triton", "") for variant in variants}
    return [
        TableEntry(
            variant,
            names[variant.id],
            variant_facts,
            _problem(variant, variant_facts),
            duplicates.get(variant.id),
            variant.toolchain.versions.get("triton", "") if len(versions) > 1 else None,
        )
        for variant in variants
        for variant_facts in [facts.get(variant.id, {})]
    ]


def sections(
    entries: Sequence[TableEntry], sort: str | None, kinds: Sequence[FactKind]
) -> list[TableSection]:
    """Group the entries by kernel and target, each section sorted by `sort`.

    `sort` is the name of a fact or config value (None: the capture's order). The best or
    smallest value comes first, unknown values after known ones, variants with a problem last.
    Raises UserError, listing the known names, if `sort` is unknown.
    """
    if sort is not None:
        _check_sort(entries, sort, kinds)
    groups = grouped(entries, lambda entry: (entry.variant.kernel.name, str(entry.variant.target)))
    return [
        TableSection(kernel, target, tuple(_sorted(group, sort, kinds)))
        for (kernel, target), group in groups.items()
    ]


def sort_key(value: FactValue | Value) -> SortKey:
    """Sort numbers, then text with its numbers as numbers, then unknown values."""
    if value is None:
        return 2, 0.0, ""
    return (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, natural_key(str(value)))


def ranked_pairs(sections: Sequence[TableSection], most: int) -> list[tuple[Variant, Variant]]:
    """Return at most `most` pairs that differ in few values and much in their facts."""
    from irscope.workspace.pair_ranking import rank_pairs

    entries = [entry for section in sections for entry in section.entries]
    facts = {entry.variant.id: entry.facts for entry in entries}
    variants = sorted((entry.variant for entry in entries), key=lambda variant: variant.id)
    return rank_pairs(variants, facts, most)


def _problem(variant: Variant, facts: Mapping[str, Fact]) -> str:
    status = status_of(variant, facts)
    return status.problem if status is not None else ""


def _check_sort(entries: Sequence[TableEntry], sort: str, kinds: Sequence[FactKind]) -> None:
    sort_names = [kind.name for kind in kinds]
    sort_names += [name for entry in entries for name in entry.chosen]
    if sort not in sort_names:
        raise UserError(f"cannot sort by '{sort}'; known names: {', '.join(dict.fromkeys(sort_names))}")


def _sorted(entries: list[TableEntry], sort: str | None, kinds: Sequence[FactKind]) -> list[TableEntry]:
    if sort is None:
        return entries
    kind = next((kind for kind in kinds if kind.name == sort), None)

    def key(entry: TableEntry) -> tuple[bool, SortKey]:
        value = entry.value(kind.name) if kind else entry.chosen.get(sort)
        if kind and kind.better == "high" and isinstance(value, int | float):
            value = -value
        return bool(entry.problem), sort_key(value)

    return sorted(entries, key=key)


# A register count misleads without the others: if ptxas gives up, it reports 32 and kilobytes of stack.
SHOWN_TOGETHER = ("registers", "stack", "n_spills")


def chosen_kinds(names: Sequence[str]) -> list[FactKind]:
    """Return the kinds called `names`, in that order. Raises UserError, listing the known ones.

    If one of SHOWN_TOGETHER is named, all of them are included.
    """
    available = kinds_named(names)
    chosen: dict[str, FactKind] = {}
    for name in names:
        if name not in available:
            raise UserError(f"no column '{name}'; known columns: {', '.join(available)}")
        for companion in SHOWN_TOGETHER if name in SHOWN_TOGETHER else (name,):
            chosen[companion] = available[companion]
    return list(chosen.values())


def all_kinds(sections: Sequence[TableSection]) -> list[FactKind]:
    """Return the kinds of all facts that the sections' backends have."""
    measured = kinds_of(dict.fromkeys(section.backend for section in sections))
    return with_estimates((entry for section in sections for entry in section.entries), measured)


def with_estimates(entries: Iterable[TableEntry], kinds: Iterable[FactKind]) -> list[FactKind]:
    """Add the kinds of estimates to `kinds` if any of `entries` has them.

    What the estimates are for comes last.
    """
    if not any(ESTIMATE.name in entry.facts for entry in entries):
        return list(kinds)
    return [ESTIMATE, BOUND_BY, *kinds, ESTIMATE_KEY]


def _key(value: FactValue) -> object:
    """Return a key that is equal for equal values: True is not 1, and every NaN is the same."""
    return type(value), repr(value) if isinstance(value, float) else value


PlainValue = int | float | str | None


def table_rows(sections: Sequence[TableSection]) -> list[dict[str, PlainValue]]:
    """Return the sections as plain rows.

    Their keys are id, kernel, target, name, config values, facts, problem, duplicate_of. A
    config value that has the name of another column appears as `config.NAME`. Element types and
    the launch status are text.
    """
    rows: list[dict[str, PlainValue]] = []
    for entry in (entry for section in sections for entry in section.entries):
        variant = entry.variant
        row: dict[str, PlainValue] = {
            "id": variant.id,
            "kernel": variant.kernel.name,
            "target": str(variant.target),
            "name": entry.name,
        }
        kinds = with_estimates([entry], kinds_for(variant.target.backend))
        facts = {kind.name: _plain(entry.value(kind.name)) for kind in kinds}
        used_names = {*row, *facts, "problem", "duplicate_of"}
        for name, value in entry.chosen.items():
            row[f"config.{name}" if name in used_names else name] = _plain(value)
        row |= facts
        row |= {"problem": entry.problem or None, "duplicate_of": entry.duplicate_of}
        rows.append(row)
    return rows


def _plain(value: FactValue | Value) -> PlainValue:
    if isinstance(value, tuple):
        return format_value(value)
    return value if isinstance(value, int | float | str | None) else str(value)
