"""The table of variants, which every view shows: its columns, the text of a cell, and which values are best.

A terminal, a report, a spreadsheet and the app lay out the same `TableSection`. Its columns compute cells
only when they are asked for, and its facts may still be measured while a view shows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import chain
from typing import NamedTuple, TypeVar

from irscope.facts.duplicates import StageReuse, stage_reuse
from irscope.facts.fact import ESTIMATE, ESTIMATE_KEY, FactKind, FactValue
from irscope.facts.occupancy import IMPROVED_BY_SPILLS
from irscope.model import Status, Target, Value, Variant, format_value
from irscope.model.records import frozen, grouped
from irscope.model.text import natural_key, one_line, pluralize
from irscope.workspace.fact_table import FactTable

# The texts of a fact that could not be determined, and of one that is still to be measured.
UNKNOWN, UNMEASURED = "?", "·"
# A register count misleads without the others: if ptxas gives up, it reports 32 and kilobytes of stack.
SHOWN_TOGETHER = ("registers", "stack", "n_spills")
# A value is marked if at most one in this many variants has it.
_RARE = 4
# The times of a launch; the fact NAME_key says which one.
_TIMES = ("ms", ESTIMATE.name)
# Types whose equal values are written alike; True is not 1, and -0.0 is equal to 0.0.
_WRITTEN_ALIKE = frozenset((int, str, type(None)))
# Every table has Triton's options, so the app's columns have short titles for them.
_SHORT_TITLES = {"num_warps": "warps", "num_stages": "stages", "num_ctas": "ctas"}
# The names of the app's columns of a variant's state, and of the first stage that differs from A.
STATE, DIFFERS = "state", "differs"

ColumnValue = FactValue | Value
# For sorting: numbers, then text, then unknown values.
SortKey = tuple[int, float, str]
_Problem = tuple[str, Target]
_C = TypeVar("_C", bound="TableColumn")


@dataclass(frozen=True, eq=False)
class TableColumn:
    """A column: a heading, and a value for each variant.

    `name` is the full name of the fact or option; `joins`: a row of several variants shows all their values.
    `values` returns the values of variants, None if unknown; `write` makes text of one. `sign` is between the
    name and a value that all variants have.
    """

    title: str
    name: str
    values: Callable[[Sequence[Variant]], Sequence[ColumnValue]]
    write: Callable[[ColumnValue], str] = lambda value: "" if value is None else str(value)
    numeric: bool = False
    joins: bool = False
    sign: str = "="

    def constant_text(self, text: str) -> str:
        """Write the column as if all variants have this value: `num_ctas=1`, `target cuda:90`."""
        return f"{self.name}{self.sign}{text}"


@dataclass(frozen=True, eq=False, kw_only=True)
class FactColumn(TableColumn):
    """The column of a fact."""

    kind: FactKind

    def constant_text(self, text: str) -> str:
        """Write the column as if all variants have this value: `Stack 0 bytes`."""
        return self.kind.titled(text)


def fact_column(kind: FactKind, facts: FactTable) -> FactColumn:
    """Return the column of a fact; `facts` may change later."""

    def write(value: ColumnValue) -> str:
        return kind.format(value) if isinstance(value, int | float | str | Status) else ""

    def values(some: Sequence[Variant]) -> Sequence[ColumnValue]:
        return facts.column(kind.name, some)

    return FactColumn(kind.heading, kind.name, values, write, bool(kind.unit), kind=kind)


def setting_columns(settings: Mapping[int, Mapping[str, Value]]) -> list[TableColumn]:
    """Return a column for each name in the settings, which are by variant id."""
    return [_setting(name, settings) for name in dict.fromkeys(chain.from_iterable(settings.values()))]


def _setting(name: str, settings: Mapping[int, Mapping[str, Value]]) -> TableColumn:
    def values(some: Sequence[Variant]) -> Sequence[ColumnValue]:
        settings_of_each = [settings.get(variant.id) or variant.settings for variant in some]
        # None is a value too, and not an unknown one.
        return [
            ("None" if chosen[name] is None else chosen[name]) if name in chosen else None
            for chosen in settings_of_each
        ]

    numeric = str not in {type(chosen.get(name)) for chosen in settings.values()}
    return TableColumn(_SHORT_TITLES.get(name, name), name, values, _setting_text, numeric, joins=True)


def _setting_text(value: ColumnValue) -> str:
    if value is None or isinstance(value, Status):
        return ""
    return "None" if value == "None" else format_value(value)


@frozen
class BestValues:
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
    variants: Sequence[Variant],
    facts: FactTable,
    counts: Mapping[ColumnValue, int] | None,
) -> BestValues:
    """Determine the best value among the variants of one kernel for one target, for every view.

    Variants that cannot be launched do not count. Those that spill have few registers, and many
    resident warps, only because of that. Times of different problems have no order. `counts` saves
    time if it is known how many variants have each value.
    """

    def numbers(excluded: Set[int]) -> dict[float, int]:
        ranked = counts
        if ranked is None or excluded:
            ranked = Counter(facts.column(kind.name, [v for v in variants if v.id not in excluded]))
        return {value: count for value, count in ranked.items() if isinstance(value, int | float)}

    problems = set(facts.column(f"{kind.name}_key", variants)) if kind.name in _TIMES else set()
    if not kind.better or len(problems - {None}) > 1 or len(numbers(facts.with_problem)) < 2:
        return BestValues()
    excluded = _excluded(kind, facts)
    ranked = numbers(excluded)
    if not ranked:
        return BestValues()
    low, high = min(ranked), max(ranked)
    best, worst = (low, high) if kind.better == "low" else (high, low)
    few = max(1, sum(ranked.values()) // _RARE)
    marks = {value: mark for value, mark in ((worst, "worst"), (best, "best")) if ranked[value] <= few}
    return BestValues(best, marks, excluded)


def _excluded(kind: FactKind, facts: FactTable) -> Set[int]:
    """Return the variants whose values of a fact do not count: they cannot run, or have it by spilling."""
    return facts.with_problem | facts.spilling if kind in IMPROVED_BY_SPILLS else facts.with_problem


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """The values of a column in a table, with the number of variants that have each.

    Those of a fact are of variants that compiled and were measured, others are texts already; `write` makes
    text of one. `unknown` is how many variants have none. `best` returns the best values among the variants
    of a problem, a kernel for a target.
    """

    counts: Mapping[ColumnValue, int]
    unknown: int = 0
    write: Callable[[ColumnValue], str] = str
    best: Callable[[_Problem], BestValues] = lambda _: BestValues()

    @cached_property
    def constant(self) -> str | None:
        """Return the text that all variants have; None if several have others, or none is known."""
        texts = map(self.write, self.counts)
        first = next(texts, None)
        return None if self.unknown or any(text != first for text in texts) else first

    @cached_property
    def longest(self) -> int:
        """Return the length of the longest text."""
        return max((len(self.write(value)) for value in self.counts), default=0)

    @property
    def varies(self) -> bool:
        """Return True if some variants have another text than others."""
        return bool(self.counts) and self.constant is None


class Cell(NamedTuple):
    """A value as text; `mark` is "best", "worst" or "".

    The text is "" if the variant cannot have a value (it failed, or its config lacks the name), UNKNOWN (in
    the app "") if the value could not be determined, and UNMEASURED before that.
    """

    text: str
    value: ColumnValue = None
    mark: str = ""

    @property
    def best(self) -> bool:
        """Return True if the value is marked as the best of its column."""
        return self.mark == "best"


@dataclass(frozen=True, eq=False)
class TableSection:
    """The rows of a table, `variants` in order, and its `columns`.

    In a document the variants are of one kernel for one target: only these can be compared. `facts` may have
    those of more variants, and change later. `settings` are what was chosen for each variant, and `names` the
    short names, both by id; the app needs neither. `unknown` is the text of a fact that could not be
    determined.
    """

    variants: Sequence[Variant]
    facts: FactTable
    columns: Sequence[TableColumn] = ()
    settings: Mapping[int, Mapping[str, Value]] = field(default_factory=dict)
    names: Mapping[int, str] = field(default_factory=dict)
    unknown: str = UNKNOWN

    @property
    def kernel(self) -> str:
        """Return the name of the kernel."""
        return self.variants[0].kernel.name

    @property
    def target(self) -> str:
        """Return the target as text."""
        return str(self.variants[0].target)

    @property
    def title(self) -> str:
        """Return kernel, target and number of variants."""
        return f"{self.kernel}  {self.target}  {pluralize(len(self.variants), 'variant')}"

    @property
    def origin(self) -> str:
        """Return a generated kernel's computation, if that of all variants is the same; "" if not."""
        origins = {variant.origin for variant in self.variants}
        origin = origins.pop() if len(origins) == 1 else None
        return one_line(origin.sentence) if origin else ""

    def note(self, variant: Variant) -> str:
        """Return the state of a variant for a narrow column: `failed`, `no launch`, `= #2` or nothing."""
        if variant.failure is not None:
            return "failed"
        if variant.id in self.facts.with_problem:
            return "no launch"
        first = self.facts.duplicate_of(variant)
        return "" if first is None else f"= #{first}"

    @property
    def duplicates(self) -> int:
        """Number of launchable variants with the machine code of an earlier one, not counting edits."""
        launchable = [v for v in self.variants if v.id not in self.facts.with_problem and v.edit is None]
        return sum(self.facts.duplicate_of(variant) is not None for variant in launchable)

    @property
    def stage_reuse(self) -> StageReuse:
        """Return the variants that reused stages of another one, and the seconds that saved."""
        # In the capture's order, in which the columns of a large one are read by the block.
        return stage_reuse(sorted(self.variants, key=lambda variant: variant.id), self.facts.known)

    # Columns.

    @cached_property
    def summaries(self) -> Mapping[TableColumn, ColumnSummary]:
        """Count the values of all columns, which takes less time than one by one."""
        compiled = [variant for variant in self.variants if variant.failure is None]
        values = self.facts.columns([column.name for column in self.fact_columns], compiled)
        unmeasured = sum(variant.id not in self.facts for variant in compiled)
        problems = grouped(self.variants, _problem_of)
        summaries = {column: self._count_texts(column) for column in self.other_columns}
        for column, column_values in zip(self.fact_columns, values, strict=True):
            counts = Counter[ColumnValue](column_values)
            unknown = max(counts.pop(None, 0) - unmeasured, 0)
            best = cache(partial(self._best_values, column.kind, counts, problems))
            summaries[column] = ColumnSummary(counts, unknown, column.write, best)
        return summaries

    def _count_texts(self, column: TableColumn) -> ColumnSummary:
        """Count the texts of a column; none of the stages that differ from A, which are shown anyway."""
        if column.name == DIFFERS:
            return ColumnSummary({})
        values = column.values(self.variants)
        if _WRITTEN_ALIKE.issuperset(set(map(type, values))):
            counts: Counter[ColumnValue] = Counter()
            for value, count in Counter(values).items():
                counts[column.write(value)] += count
        else:
            counts = Counter(map(column.write, values))
        return ColumnSummary(counts, counts.pop("", 0))

    def _best_values(
        self,
        kind: FactKind,
        counts: Mapping[ColumnValue, int],
        problems: Mapping[_Problem, Sequence[Variant]],
        problem: _Problem,
    ) -> BestValues:
        own_counts = counts if len(problems) == 1 else None
        return best_values(kind, problems[problem], self.facts, own_counts)

    @cached_property
    def configs(self) -> list[TableColumn]:
        """Return the columns of config values that vary, of all if none does."""
        configs = [column for column in self.other_columns if self.summaries[column].counts]
        return self.varying(configs) or configs

    @cached_property
    def fact_columns(self) -> list[FactColumn]:
        """Return the columns of facts."""
        return [column for column in self.columns if isinstance(column, FactColumn)]

    @cached_property
    def other_columns(self) -> list[TableColumn]:
        """Return the columns that are not facts; in a document, the config values."""
        return [column for column in self.columns if not isinstance(column, FactColumn)]

    @cached_property
    def identified(self) -> bool:
        """Return True if the settings identify every variant, so that a view needs no column for names."""
        return len({tuple(self.settings[v.id].items()) for v in self.variants}) == len(self.variants)

    def varying(self, columns: Sequence[_C]) -> list[_C]:
        """Return those of `columns` whose texts vary between the variants that compiled."""
        return [column for column in columns if self.summaries[column].varies]

    def constants(self, columns: Sequence[TableColumn]) -> list[str]:
        """Return what all variants share: `num_ctas=1`, `Stack 0 bytes`; nothing if there is only one."""
        if len(self.variants) < 2:
            return []
        texts = ((column, self.summaries[column].constant) for column in columns)
        return [column.constant_text(text) for column, text in texts if text is not None]

    # Cells.

    def best(self, column: TableColumn) -> BestValues:
        """Return the best values of a fact among the variants, which are of one kernel and target."""
        return self.summaries[column].best(_problem_of(self.variants[0]))

    def cells(self, column: TableColumn) -> list[Cell]:
        """Return the cells of all rows; equal values share theirs.

        A table of 100,000 variants has millions of cells.
        """
        best = self.best(column)
        is_fact = isinstance(column, FactColumn)
        shared: dict[object, Cell] = {}
        cells = []
        for variant, value in zip(self.variants, column.values(self.variants), strict=True):
            mark = best.mark(variant.id, value)
            text = self._missing_text(column, variant) if value is None else None
            key = type(value), value if is_fact else repr(value), text, mark
            if key not in shared:
                shared[key] = Cell(column.write(value) if text is None else text, value, mark)
            cells.append(shared[key])
        return cells

    def cell(self, column: TableColumn, variant: Variant) -> Cell:
        """Return the cell of one variant, which may be of any kernel and target."""
        (value,) = column.values((variant,))
        text = self._missing_text(column, variant) if value is None else column.write(value)
        best = self.summaries[column].best(_problem_of(variant))
        return Cell(text, value, best.mark(variant.id, value))

    def _missing_text(self, column: TableColumn, variant: Variant) -> str:
        """Return the text of a cell without a value."""
        if not isinstance(column, FactColumn) or variant.failure is not None:
            return ""
        return self.unknown if variant.id in self.facts else UNMEASURED

    # Selections.

    def showing(self, kinds: Sequence[FactKind] | None = None) -> TableSection:
        """Return the section with the columns of these facts (None: those that a person is shown)."""
        selected = self.default_kinds if kinds is None else kinds
        own = {column.name: column.kind for column in self.fact_columns}  # in the words of the target
        facts = [fact_column(own.get(kind.name, kind), self.facts) for kind in selected]
        return replace(self, columns=[*self.other_columns, *facts])

    @cached_property
    def default_kinds(self) -> list[FactKind]:
        """Return the facts that a person is shown: those of which any value says something.

        Without those that the notes contain, whether a variant can launch and its machine code, and
        without those of things that no variant has, such as atomics.
        """
        kinds = []
        for column in self.fact_columns:
            kind = column.kind
            if kind.in_state or (kind is ESTIMATE_KEY and not self._differs(column)):
                continue
            values = (*self.summaries[column].counts, *column.values(self._failed))
            if any(value not in (None, kind.absent) for value in values):
                kinds.append(kind)
        return kinds

    def varying_kinds(self, names: Collection[str]) -> list[FactKind]:
        """Return the facts in `names` that vary, of those in SHOWN_TOGETHER all or none."""
        varying = {column.name for column in self.fact_columns if self._differs(column)}
        if not varying.isdisjoint(SHOWN_TOGETHER):
            varying.update(SHOWN_TOGETHER)
        return [kind for kind in self.default_kinds if kind.name in varying and kind.name in names]

    @cached_property
    def _failed(self) -> list[Variant]:
        return [variant for variant in self.variants if variant.failure is not None]

    def _differs(self, column: FactColumn) -> bool:
        """Return True if a fact varies, or if some variants failed, which lack it."""
        summary = self.summaries[column]
        return summary.varies or bool(self._failed and summary.counts)

    def sorted_by(self, name: str) -> TableSection:
        """Return the section sorted by a fact or config value.

        The best or smallest value comes first, unknown values after known ones, variants with a
        problem last.
        """
        column = next((column for column in reversed(self.columns) if column.name == name), None)
        variants = list(self.variants)
        if column is not None:
            variants = self.ranked(variants, column)
        variants.sort(key=lambda variant: variant.id in self.facts.with_problem)
        return replace(self, variants=variants)

    def ranked(
        self, variants: Sequence[Variant], column: TableColumn, worst_first: bool = False
    ) -> list[Variant]:
        """Sort variants by a column, the best or smallest value first; unknown values come last.

        So do the variants whose values do not count, so that the first one has the value marked as the best.
        """
        if not isinstance(column, FactColumn):
            return sorted_variants(variants, column, worst_first)
        in_order = sorted_variants(variants, column, (column.kind.better == "high") != worst_first)
        excluded = _excluded(column.kind, self.facts)
        return sorted(in_order, key=lambda variant: variant.id in excluded)


def _problem_of(variant: Variant) -> _Problem:
    return variant.kernel.name, variant.target


def sort_key(value: ColumnValue) -> SortKey:
    """Sort numbers, then text with its numbers as numbers, then unknown values."""
    if value is None:
        return 2, 0.0, ""
    return (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, natural_key(str(value)))


def sorted_variants(variants: Sequence[Variant], column: TableColumn, descending: bool) -> list[Variant]:
    """Sort the variants by a column, unknown values last; equal ones stay in their order."""
    values = column.values(variants)
    texts = {text: sort_key(text) for text in {value for value in values if isinstance(value, str)}}
    sort_keys = [texts[value] if isinstance(value, str) else sort_key(value) for value in values]
    keys = dict(zip([variant.id for variant in variants], sort_keys, strict=True))
    unknown = sort_key(None)[0]
    with_value = [variant for variant in variants if keys[variant.id][0] != unknown]
    rest = [variant for variant in variants if keys[variant.id][0] == unknown]
    return sorted(with_value, key=lambda variant: keys[variant.id], reverse=descending) + rest
