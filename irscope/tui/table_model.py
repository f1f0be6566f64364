"""The content of the table of variants: columns, rows and cells, before any drawing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import islice

from irscope.model import Variant
from irscope.model.process import cycles_not_collected, keep_from_search
from irscope.workspace import Fact, FactTable, Scope, TableRow, Workspace
from irscope.workspace.compiler_version import version_name
from irscope.workspace.first_difference import equal_text, first_differences
from irscope.workspace.table_columns import (
    UNMEASURED,
    Column,
    ColumnSummary,
    columns,
    constants_text,
    shown_columns,
    summarize_columns,
)
from irscope.workspace.table_rows import Folding, matching, rows, sorted_variants

# Longer cells are cut; the status line has them in full.
MAX_CELL = 40
# The folded groups that determine the width of a column: the first ones.
_MEASURED_GROUPS = 20
# Of more variants, Python's search for cycles would be a pause that users notice.
_MANY = 1000


class TableModel:
    """The variants of the chosen kernel and target, sorted, filtered and folded."""

    def __init__(self) -> None:
        self.facts = FactTable()
        self.scope = Scope()
        self.folding = Folding()
        self.constants = False
        self.estimated = False  # whether some variants have the facts of an estimate
        self.query = ""
        self.sort: tuple[str, bool] | None = None  # the name of a column, descending
        self.a: Variant | None = None
        self.all: list[Variant] = []  # every variant, in the chosen order
        self.matching: list[Variant] = []
        self.rows: list[TableRow] = []
        self.columns: Sequence[Column] = ()
        self.summaries: Sequence[ColumnSummary] = ()
        self.shown: list[int] = []
        self._widths: dict[int, int] = {}
        self._groups: list[TableRow] = []
        self._longest: dict[int, int] = {}  # the longest cell of each column
        self._workspace: Workspace | None = None
        self._scoped: list[Variant] = []

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
        self.columns = columns(
            self._scoped,
            self.facts.kinds(self._scoped, self.estimated),
            self.facts,
            workspace.in_progress,
            partial(version_name, workspace),
            lambda: self.a,
            partial(first_differences, workspace),
        )
        self._longest.clear()
        self.summaries = summarize_columns(self.columns, self._scoped, self.facts)
        self.arrange()

    def arrange(self) -> None:
        """Sorts, filters and folds the rows, and determines which columns are shown, and their widths."""
        by = self.column_named(self.sort[0]) if self.sort else None
        if self.sort and by is not None:
            self.all = sorted_variants(self.all, by, self.sort[1])
            self._scoped = [variant for variant in self.all if variant in self.scope]
        self.matching = matching(self.query, self.columns, self._scoped, self.summaries)
        self.rows = rows(self.matching, self.facts, self.folding)
        self.shown = shown_columns(self.columns, self.summaries, len(self._scoped), self.constants)
        self._groups = list(islice((row for row in self.rows if row.equal), _MEASURED_GROUPS))
        self._widths.clear()

    def width(self, place: int) -> int:
        """Return the width of a column: of its title and its longest cell.

        It is measured when the column is first on screen.
        """
        if place not in self._widths:
            self._widths[place] = self._measured_width(place)
        return self._widths[place]

    def _measured_width(self, place: int) -> int:
        column = self.columns[place]
        if place not in self._longest:
            counts = self.summaries[place].counts
            texts = counts if column.fact is None else map(column.write, counts)
            self._longest[place] = max((len(str(text)) for text in texts), default=1)
        grouped = (len(self.cell(row, column)) for row in self._groups) if column.fact is None else ()
        return max(len(column.title), min(max(self._longest[place], *grouped, 1), MAX_CELL))

    def column_named(self, name: str) -> Column | None:
        """Return a column by its name, or None if there is none."""
        return next((column for column in self.columns if column.name == name), None)

    def index_of(self, variant: int) -> int | None:
        """Return the row that has the variant with this id, or None if it is hidden."""
        indices = (i for i, row in enumerate(self.rows) if any(v.id == variant for v in row.variants))
        return next(indices, None)

    def cell(self, row: TableRow, column: Column) -> str:
        """Return the text of a cell: of a folded row, all values of its variants."""
        variant = row.variant
        if column.name == "state" and row.equal:
            return equal_text(row.equal)
        if column.fact is None:
            return column.joined_text(row.variants)
        measured = variant.id in self.facts or variant.failure is not None
        return column.text(variant) if measured else UNMEASURED

    def problem(self, variant: Variant) -> str:
        """Return why a variant has no facts to compare, or "" if it has.

        The reason is its error, or how far its compilation is.
        """
        workspace = self._workspace
        if workspace is not None and variant.id in workspace.in_progress:
            return workspace.in_progress.status(variant.id)
        return self.facts.problem(variant)

    def mark(self, place: int, variant: Variant) -> str:
        """`best` or `worst` if the value of a variant is that of its column; else ""."""
        column = self.columns[place]
        return self.summaries[place].mark(variant, column.value(variant)) if column.fact else ""

    @property
    def duplicates_folded(self) -> int:
        """Return how many variants are folded into the row of an equal one."""
        return len(self.matching) - len(self.rows)

    @property
    def count_text(self) -> str:
        """Return how many variants are shown of how many: `3 of 10 match warps=8  matmul_kernel cuda:90`."""
        parts = []
        if self.query:
            parts.append(f"{len(self.matching):,} of {len(self._scoped):,} match {self.query}")
        if self.scope != Scope():
            parts.append(f"{self.scope}: {len(self._scoped):,} of {len(self.all):,} variants")
        if self.duplicates_folded:
            parts.append(f"{self.duplicates_folded:,} equal folded")
        return ", ".join(parts)

    @property
    def constants_text(self) -> str:
        """Return the values that the variants have in common; "" while these columns are shown too."""
        return "" if self.constants else constants_text(self.columns, self.summaries, len(self._scoped))
