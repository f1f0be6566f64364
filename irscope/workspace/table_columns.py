"""The table of variants in the app: all its columns and which are shown, its rows, and its filter.

num_warps  Regs  Occupancy  Differs in       the columns that vary, most telling first
all: num_stages=3, target cuda:90, Stack 0   `constants_text` lists the others

The filter has words that a row must contain, and comparisons (conditions.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from irscope.facts.fact import FactKind
from irscope.model import Variant
from irscope.model.records import grouped
from irscope.workspace.conditions import FactComparison, failure_of, parse_filter, spellings
from irscope.workspace.fact_table import FactTable
from irscope.workspace.first_difference import state
from irscope.workspace.live import InProgress
from irscope.workspace.table import (
    DIFFERS,
    FactColumn,
    TableColumn,
    TableSection,
    fact_column,
    minor,
    setting_columns,
)

# The names of columns that are neither a fact nor a config value.
NUMBER, STATE = "#", "state"
_ALWAYS = (NUMBER, DIFFERS)
_VERSIONS = ("triton", "source")

# Columns.


def columns(
    variants: Sequence[Variant],
    kinds: Sequence[FactKind],
    facts: FactTable,
    in_progress: InProgress,
    age: Callable[[Variant], str] = lambda _: "",
    a: Callable[[], Variant | None] = lambda: None,
    differences: Callable[[Variant, Sequence[Variant]], Sequence[str]] = lambda _, some: [""] * len(some),
) -> list[TableColumn]:
    """Return the columns for `variants`, most telling first: number, what was chosen, facts, state.

    `facts` and `in_progress` may change later. `age` is how old a variant's source is, or which
    file has it; `a` is the variant that the others are compared with, and `differences` the
    first stage in which each differs from it.
    """
    first_stages: dict[tuple[int, int], str] = {}  # of many variants, artifacts are read from the file

    def differs(some: Sequence[Variant]) -> list[str]:
        first = a()
        if first is None:
            return [""] * len(some)
        unknown = [variant for variant in some if (first.id, variant.id) not in first_stages]
        for variant, stage in zip(unknown, differences(first, unknown), strict=True):
            first_stages[first.id, variant.id] = stage
        return [first_stages[first.id, variant.id] for variant in some]

    # The facts of most interest come first, those of least interest last: the time and size of each stage.
    with_own_column = [kind for kind in kinds if not kind.in_state]
    ordered = sorted(with_own_column, key=lambda kind: (kind.place, minor(kind)))
    before = [kind for kind in ordered if kind.place < 0]
    after = [kind for kind in ordered if kind.place > 0]
    rest = [kind for kind in ordered if not kind.place]
    return [
        TableColumn("#", NUMBER, lambda some: [variant.id for variant in some], str, numeric=True),
        *_chosen(variants, age),
        *(fact_column(kind, facts) for kind in before),
        TableColumn("Differs in", DIFFERS, differs),
        _per_variant("state", lambda variant: state(variant, facts, in_progress)),
        *(fact_column(kind, facts) for kind in (*after, *rest)),
    ]


def _chosen(variants: Sequence[Variant], age: Callable[[Variant], str]) -> list[TableColumn]:
    """Return the choices made for each variant: kernel, target, versions, config, argument types."""
    settings = setting_columns({variant.id: variant.settings for variant in variants})
    result = [
        _per_variant("kernel", lambda variant: variant.kernel.name, " "),
        _per_variant("target", lambda variant: str(variant.target), " "),
        _per_variant("triton", lambda variant: variant.toolchain.versions.get("triton", "?"), " ", True),
        _per_variant("source", age, " ", True),
        *settings,
    ]
    # The variants of a capture share equal specializations: each is hashed once.
    specializations = set({id(v.specialization): v.specialization for v in variants}.values())
    if len(specializations) > 1:
        arguments = dict.fromkeys(argument.name for arguments in specializations for argument in arguments)
        result += [_argument(name) for name in arguments if name not in {column.name for column in settings}]
    return result


def _per_variant(
    name: str, text: Callable[[Variant], str], sign: str = "=", joins: bool = False
) -> TableColumn:
    return TableColumn(name, name, lambda some: [text(variant) for variant in some], joins=joins, sign=sign)


def _argument(name: str) -> TableColumn:
    def text(variant: Variant) -> str:
        return next((str(argument) for argument in variant.specialization if argument.name == name), "")

    return _per_variant(name, text)


def shown_columns(section: TableSection, constants: bool = False) -> list[int]:
    """Return the places of the columns to show: those that vary, and constant ones if `constants`.

    The state is shown if some variants have equal machine code; problems have their own text in
    the row. If nothing varies (one variant), all columns are shown that say something.
    """
    single = len(section.variants) == 1
    indices = []
    for index, column in enumerate(section.columns):
        summary = section.summaries[column]
        if column.name == STATE:
            shown = any(str(text).startswith("=") for text in summary.counts)
        else:
            stands_out = summary.varies or (single and bool(summary.counts))
            shown = (stands_out or constants or column.name in _ALWAYS) and _informative(section, column)
        if shown:
            indices.append(index)
    return indices


def _informative(section: TableSection, column: TableColumn) -> bool:
    """Check whether a column says something: a fact is known and not 0 or absent for some variant.

    A stack of 0 is informative, because registers without it mislead.
    """
    if not isinstance(column, FactColumn):
        return True
    empty = () if column.name == "stack" else (0, column.kind.absent, "none")
    return any(value not in empty for value in section.summaries[column].counts)


def constants_text(section: TableSection) -> str:
    """Return the values of all variants: `all: num_ctas=1, target cuda:90, Stack 0`; "" if none."""

    def rank(column: TableColumn) -> int:
        """Rank choices first, then results; the versions, which rarely matter, last."""
        if column.name in _VERSIONS:
            return 3
        return 2 if isinstance(column, FactColumn) else int(column.name in ("kernel", "target"))

    candidates = [c for c in section.columns if c.name not in (STATE, *_ALWAYS) and _informative(section, c)]
    texts = section.constants(sorted(candidates, key=rank))
    return f"all: {', '.join(texts)}" if texts else ""


# Rows.


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


# The filter.


def matching(query: str, section: TableSection, variants: Sequence[Variant]) -> list[Variant]:
    """Return the `variants` of a section that match every word of `query`, in order.

    A condition names a column by its name, or by its title with or without the unit. Any other
    word must occur in one of the columns, in any case, other than the stage that differs from A.
    """
    matches = list(variants)
    titled = (
        (c.name, c.kind.title if isinstance(c, FactColumn) else c.title, c.title) for c in section.columns
    )
    for item in parse_filter(query.lower(), spellings(titled)):
        if isinstance(item, str):
            matches = _containing(item, section, matches)
        else:
            column = next(column for column in section.columns if column.name == item.fact)
            matches = _passing(column, item, matches)
    return matches


def _passing(column: TableColumn, comparison: FactComparison, variants: Sequence[Variant]) -> list[Variant]:
    """Return the variants for which a comparison holds: of numbers, or of the text that is shown."""
    written = isinstance(comparison.value, str)
    values = column.values(variants)
    passed = {
        value: not failure_of(comparison, column.write(value).lower() if written else value)
        for value in set(values)
    }
    return [variant for variant, value in zip(variants, values, strict=True) if passed[value]]


def _containing(word: str, section: TableSection, variants: Sequence[Variant]) -> list[Variant]:
    """Return the variants with the word in any column."""
    matching_ids: set[int] = set()
    left = variants
    for column, summary in section.summaries.items():
        # Most columns have no value with the word, and their values need not be read.
        if left and any(word in summary.write(value).lower() for value in summary.counts):
            values = column.values(left)
            matches = {value for value in set(values) if word in column.write(value).lower()}
            matching_ids.update(v.id for v, value in zip(left, values, strict=True) if value in matches)
            left = [v for v, value in zip(left, values, strict=True) if value not in matches]
    return [variant for variant in variants if variant.id in matching_ids]
