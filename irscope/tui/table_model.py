"""The table of variants in the app, before any drawing: its columns, rows and cells, and its filter.

num_warps  Regs  Occupancy  Differs in       the columns that vary, most telling first
all: num_stages=3, target cuda:90, Stack 0   `constants_text` lists the others

The filter has words that a row must contain, and comparisons (conditions.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

from irscope.model import Variant
from irscope.model.process import cycles_not_collected, keep_from_search
from irscope.model.records import grouped
from irscope.workspace import (
    Fact,
    FactColumn,
    FactKind,
    FactTable,
    Scope,
    TableColumn,
    TableSection,
    Workspace,
)
from irscope.workspace.compiler_version import version_name
from irscope.workspace.first_difference import equal_text, first_differences, joined, state
from irscope.workspace.growth import InProgress
from irscope.workspace.table import (
    DIFFERS,
    STATE,
    Cell,
    fact_column,
    setting_columns,
)

if TYPE_CHECKING:
    from irscope.workspace.conditions import FactComparison

# Longer cells are cut; the status line has them in full.
MAX_CELL = 40
# The folded groups that determine the width of a column: the first ones.
_MEASURED_GROUPS = 20
# Of more variants, Python's search for cycles would be a pause that users notice.
_MANY = 1000
# Columns that are always shown, and those that matter least of what all variants have in common.
_ALWAYS = ("#", DIFFERS)
_VERSIONS = ("triton", "source")
BITS = "bits"

# Columns.


def columns(
    variants: Sequence[Variant],
    kinds: Sequence[FactKind],
    facts: FactTable,
    in_progress: InProgress,
    age: Callable[[Variant], str],
    differs: Callable[[Sequence[Variant]], Sequence[str]],
    bits: Mapping[int, tuple[str, str]],
) -> list[TableColumn]:
    """Return the columns for `variants`, most telling first: number, what was chosen, facts, state.

    `facts` and `in_progress` may change later. `age` is how old a variant's source is, or which
    file has it; `differs` returns the first stage in which each variant differs from A; `bits` has the
    classes of variants that compute the same bits, by id, each with what is wrong.
    """
    # The facts of most interest come first, those of least interest last: the time and size of each stage.
    with_own_column = [kind for kind in kinds if not kind.in_state]
    ordered = sorted(with_own_column, key=lambda kind: (kind.place or inf, kind.minor))
    before = [kind for kind in ordered if kind.place < 0]
    after = [kind for kind in ordered if kind.place >= 0]
    return [
        TableColumn("#", "#", lambda some: [variant.id for variant in some], str, numeric=True),
        *_chosen(variants, age),
        *(fact_column(kind, facts) for kind in before),
        _per_variant(BITS, lambda variant: bits.get(variant.id, ("",))[0], sign=" class ", joins=True),
        TableColumn("Differs in", DIFFERS, differs),
        _per_variant("state", lambda variant: state(variant, facts, in_progress)),
        *(fact_column(kind, facts) for kind in after),
    ]


def _chosen(variants: Sequence[Variant], age: Callable[[Variant], str]) -> list[TableColumn]:
    """Return the choices made for each variant: kernel, target, versions, config, argument types."""
    settings = setting_columns({variant.id: variant.settings for variant in variants})
    result = [
        _per_variant("kernel", lambda variant: variant.kernel.name, sign=" "),
        _per_variant("target", lambda variant: str(variant.target), sign=" "),
        _per_variant("triton", lambda v: v.toolchain.versions.get("triton", "?"), sign=" ", joins=True),
        _per_variant("source", age, sign=" ", joins=True),
        *settings,
    ]
    # The variants of a capture share equal specializations: each is hashed once.
    specializations = set({id(v.specialization): v.specialization for v in variants}.values())
    if len(specializations) > 1:
        arguments = dict.fromkeys(argument.name for arguments in specializations for argument in arguments)
        result += [_argument(name) for name in arguments if name not in {column.name for column in settings}]
    return result


def _per_variant(
    name: str, text: Callable[[Variant], str], *, sign: str = "=", joins: bool = False
) -> TableColumn:
    return TableColumn(name, name, lambda some: [text(variant) for variant in some], joins=joins, sign=sign)


def _argument(name: str) -> TableColumn:
    def text(variant: Variant) -> str:
        return next((str(argument) for argument in variant.specialization if argument.name == name), "")

    return _per_variant(name, text)


def shown_columns(section: TableSection, constants: bool) -> list[int]:
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
    from irscope.workspace.conditions import parse_filter, spellings  # after the first paint

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
    from irscope.workspace.conditions import failure_of  # after the first paint

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


class TableModel:
    """The variants of the chosen kernel and target, sorted, filtered and folded."""

    def __init__(self) -> None:
        self.facts = FactTable()
        self.scope = Scope()
        self.folding = Folding()
        self.constants = False
        self.estimated = False  # whether some variants have the facts of an estimate
        self.query = ""
        self.sort: tuple[str, bool] | None = None  # the name of a column, worst first
        self.bits: Mapping[
            int, tuple[str, str]
        ] = {}  # the class of equal bits, and a sentence about it, by id
        self.without_bits = ""  # why there are no classes
        self.a: Variant | None = None
        self.all: list[Variant] = []  # every variant, in the chosen order
        self.matching: list[Variant] = []
        self.rows: list[TableRow] = []
        self.section = TableSection((), self.facts)
        self.shown: list[int] = []
        self._widths: dict[int, int] = {}
        self._first_stages: dict[tuple[int, int], str] = {}  # by the ids of A and of a variant
        self._groups: list[TableRow] = []
        self._workspace: Workspace | None = None
        self._scoped: list[Variant] = []

    @property
    def columns(self) -> Sequence[TableColumn]:
        """Return every column; `shown` has the places of those that are shown."""
        return self.section.columns

    def load(self, workspace: Workspace, stored: Mapping[int, Mapping[str, Fact]]) -> None:
        """Take the variants of a capture and the facts that it stores."""
        self._workspace = workspace
        self.all = list(workspace.variants)
        with cycles_not_collected():
            self.facts.add_all(self.all, stored)
            if not any(variant in self.scope for variant in self.all):
                self.scope = Scope()
            self.refresh()
        if len(self.all) > _MANY:
            keep_from_search()

    def replace(self, workspace: Workspace, ids: Collection[int]) -> None:
        """Take variants that changed."""
        fresh = {variant.id: workspace.live.by_id(variant.id) for variant in self.all if variant.id in ids}
        for id_ in fresh:
            self.facts.remove(id_)
        self.all = [fresh.get(variant.id, variant) for variant in self.all]
        self.refresh()

    def refresh(self) -> None:
        """Determine the columns and the rows again, after variants, facts or the scope changed."""
        workspace = self._workspace
        if workspace is None:
            return
        self._scoped = [variant for variant in self.all if variant in self.scope]
        table_columns = columns(
            self._scoped,
            self.facts.kinds(self._scoped, self.estimated),
            self.facts,
            workspace.in_progress,
            partial(version_name, workspace),
            partial(self._differs, workspace),
            self.bits,
        )
        self._first_stages.clear()
        self.section = TableSection(self._scoped, self.facts, table_columns, unknown="")
        self.arrange()

    def _differs(self, workspace: Workspace, variants: Sequence[Variant]) -> list[str]:
        """Return the first stage in which each variant differs from A."""
        a = 0 if self.a is None else self.a.id
        # Of many variants, artifacts are read from the file.
        unknown = [variant for variant in variants if (a, variant.id) not in self._first_stages]
        for variant, stage in zip(unknown, first_differences(workspace, self.a, unknown), strict=True):
            self._first_stages[a, variant.id] = stage
        return [self._first_stages[a, variant.id] for variant in variants]

    def arrange(self) -> None:
        """Sorts, filters and folds the rows, and determines which columns are shown, and their widths."""
        by = self.place_of(self.sort[0]) if self.sort else None
        if self.sort and by is not None:
            self.all = self.section.ranked(self.all, self.columns[by], self.sort[1])
            self._scoped = [variant for variant in self.all if variant in self.scope]
        self.matching = matching(self.query, self.section, self._scoped)
        self.rows = rows(self.matching, self.facts, self.folding)
        self.shown = shown_columns(self.section, self.constants)
        self._groups = list(islice((row for row in self.rows if row.equal), _MEASURED_GROUPS))
        self._widths.clear()

    def width(self, place: int) -> int:
        """Return the width of a column: of its title and its longest cell.

        It is measured when the column is first on screen.
        """
        if place not in self._widths:
            column = self.columns[place]
            grouped = (len(self.cell(row, column).text) for row in self._groups)
            longest = max(self.section.summaries[column].longest, *grouped, 1)
            self._widths[place] = max(len(column.title), min(longest, MAX_CELL))
        return self._widths[place]

    def place_of(self, name: str) -> int | None:
        """Return the place of the column with a name, or None if there is none."""
        return next((place for place, column in enumerate(self.columns) if column.name == name), None)

    def index_of(self, variant: int) -> int | None:
        """Return the row that has the variant with this id, or None if it is hidden."""
        indices = (i for i, row in enumerate(self.rows) if any(v.id == variant for v in row.variants))
        return next(indices, None)

    def cell(self, row: TableRow, column: TableColumn) -> Cell:
        """Return a cell: of a folded row, all values of its variants if the column joins them."""
        if row.equal and column.name == STATE:
            return Cell(equal_text(row.equal))
        if row.equal and column.joins:
            values = [value for value in column.values(row.variants) if value is not None]
            return Cell(joined(values, column.write))
        return self.section.cell(column, row.variant)

    def problem(self, variant: Variant) -> str:
        """Return why a variant has no facts to compare, or "" if it has.

        The reason is its error, or how far its compilation is.
        """
        workspace = self._workspace
        if workspace is not None and variant.id in workspace.in_progress:
            return workspace.in_progress.status(variant.id)
        return self.facts.problem(variant)

    @property
    def count_text(self) -> str:
        """Return how many variants are shown of how many: `3 of 10 match warps=8  matmul_kernel cuda:90`."""
        parts = []
        if self.query:
            parts.append(f"{len(self.matching):,} of {len(self._scoped):,} match {self.query}")
        if self.scope != Scope():
            parts.append(f"{self.scope}: {len(self._scoped):,} of {len(self.all):,} variants")
        if folded := len(self.matching) - len(self.rows):
            parts.append(f"{folded:,} equal folded")
        return ", ".join(parts)

    @property
    def constants_text(self) -> str:
        """Return the values that the variants have in common; "" while these columns are shown too."""
        return "" if self.constants else constants_text(self.section)
