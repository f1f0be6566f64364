"""The comparison table: its columns, formatted cells and best values, before any format.

Every document lays out the same `TableView`; which columns vary is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from irscope.facts.duplicates import StageReuse, stage_reuse
from irscope.facts.fact import FactKind, FactValue
from irscope.model import Status, Value, format_value
from irscope.model.records import FrozenValue, varying_keys
from irscope.workspace.table_sections import SHOWN_TOGETHER, TableEntry, TableSection

# Every view shows this for a value that could not be determined.
UNKNOWN = "?"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableCell(FrozenValue):
    """A value as text. `best`: it is marked as the best of its column.

    The text is "" if the variant cannot have a value (it failed, or its config lacks the name) and UNKNOWN
    if the value could not be determined.
    """

    text: str
    value: FactValue | Value = None
    best: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class ConfigColumn(FrozenValue):
    """A config value of all entries."""

    name: str
    cells: tuple[TableCell, ...]


@dataclass(frozen=True, eq=False, repr=False)
class FactColumn(FrozenValue):
    """A fact of all entries; `best` is the best value, None if there is nothing to choose."""

    kind: FactKind
    cells: tuple[TableCell, ...]
    best: FactValue

    @cached_property
    def numeric(self) -> bool:
        """Return True if the values are numbers."""
        return not any(isinstance(cell.value, str | Status) for cell in self.cells)

    @property
    def shown_together(self) -> bool:
        """Return True if the column is shown only together with the others in SHOWN_TOGETHER."""
        return self.kind.name in SHOWN_TOGETHER


@dataclass(frozen=True, eq=False, repr=False)
class TableView(FrozenValue):
    """A section with its columns.

    `configs` are the config values that vary (all if none does); `identified`: they identify every
    variant, so that a view needs no column for names.
    """

    section: TableSection
    configs: tuple[ConfigColumn, ...]
    facts: tuple[FactColumn, ...]
    identified: bool

    @classmethod
    def of_section(cls, section: TableSection, kinds: Sequence[FactKind] | None = None) -> TableView:
        """Return a section with the columns of `kinds` (None: those that a person is shown)."""
        selected = section.default_kinds() if kinds is None else kinds
        facts = tuple(_fact_column(section, kind) for kind in selected)
        configs = {tuple(entry.chosen.items()) for entry in section.entries}
        return cls(section, _config_columns(section), facts, len(configs) == len(section.entries))

    @property
    def entries(self) -> tuple[TableEntry, ...]:
        """Return the rows."""
        return self.section.entries

    @cached_property
    def _compiled_texts(self) -> list[tuple[FactColumn, set[str]]]:
        """Return each fact with the texts that it has for compiled variants."""
        compiled = [index for index, entry in enumerate(self.entries) if entry.variant.failure is None]
        return [(column, {column.cells[index].text for index in compiled}) for column in self.facts]

    @cached_property
    def varying_facts(self) -> tuple[FactColumn, ...]:
        """Return the facts that differ between the compiled variants."""
        return tuple(column for column, texts in self._compiled_texts if len(texts) > 1)

    @property
    def constants(self) -> list[str]:
        """Return the values that all compiled variants share: `num_ctas=1`, `Stack 0 B`."""
        chosen = [entry.chosen for entry in self.entries]
        first = chosen[0]
        names = [name for name in first if all(name in c and c[name] == first[name] for c in chosen)]
        column_names = {column.name for column in self.configs}
        return [
            *(f"{name}={format_value(first[name])}" for name in names if name not in column_names),
            *(column.kind.titled(*texts) for column, texts in self._compiled_texts if len(texts) == 1),
        ]

    @property
    def duplicates(self) -> int:
        """Number of launchable variants with the machine code of an earlier one, not counting edits."""
        compiled = (entry for entry in self.entries if entry.variant.edit is None)
        return sum(entry.duplicate_of is not None and not entry.problem for entry in compiled)

    @property
    def stage_reuse(self) -> StageReuse:
        """Return the variants that reused stages of another one, and the seconds that saved."""
        facts = {entry.variant.id: entry.facts for entry in self.entries}
        # In the capture's order, in which the columns of a large one are read by the block.
        variants = sorted((entry.variant for entry in self.entries), key=lambda variant: variant.id)
        return stage_reuse(variants, facts)


def _config_columns(section: TableSection) -> tuple[ConfigColumn, ...]:
    """Return the config columns; equal values share a cell.

    A table of 100,000 variants has millions of cells.
    """
    shared: dict[object, TableCell] = {}
    absent = TableCell("")
    chosen = [entry.chosen for entry in section.entries]
    names = varying_keys(chosen) or (name for settings in chosen for name in settings)
    columns: dict[str, list[TableCell]] = {name: [] for name in names}
    for settings in chosen:
        for name, cells in columns.items():
            if name not in settings:
                cells.append(absent)
                continue
            value = settings[name]
            key = type(value), repr(value)
            if key not in shared:
                shared[key] = TableCell(format_value(value), value)
            cells.append(shared[key])
    return tuple(ConfigColumn(name, tuple(cells)) for name, cells in columns.items())


def _fact_column(section: TableSection, kind: FactKind) -> FactColumn:
    """Return the column of a fact; equal values share a cell."""
    best = section.best_values(kind)
    shared: dict[object, TableCell] = {}
    cells = []
    for entry, value in zip(section.entries, section.values(kind.name), strict=True):
        failed = value is None and entry.variant.failure is not None
        marked = best.mark(entry.variant.id, value) == "best"
        key = type(value), value, failed, marked
        if key not in shared:
            text = kind.format(value) if value is not None else "" if failed else UNKNOWN
            shared[key] = TableCell(text, value, marked)
        cells.append(shared[key])
    return FactColumn(kind, tuple(cells), best.best)
