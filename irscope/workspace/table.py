"""The comparison table: its variants, columns, formatted cells, best values and notes, before any format.

Every view lays out the same `TableView`; which columns vary and which value is best is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from irscope.analysis.duplicates import StageReuse, duplicate_groups, stage_reuse
from irscope.facts.estimate_kinds import BOUND_BY, ESTIMATE, ESTIMATE_KEY, ESTIMATE_KINDS
from irscope.facts.fact import Fact, FactKind, FactValue, column_of, status_of, value_named
from irscope.facts.registry import facts_named, kinds_for, kinds_of
from irscope.facts.spills import IMPROVED_BY_SPILLS, spills
from irscope.model import Status, UserError, Value, Variant, format_value
from irscope.model.text import natural_key, one_line, pluralize
from irscope.model.varying import varying

# A register count misleads without the others: if ptxas gives up, it reports 32 and kilobytes of stack.
BOUND = ("registers", "stack", "n_spills")
# Every view shows this for a value that could not be determined.
UNKNOWN = "?"
# The times of a launch; the fact NAME_key says which one.
_TIMES = ("ms", ESTIMATE.name)


@dataclass(frozen=True, slots=True)
class TableEntry:
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
        """The config values and the environment; Triton's version if it varies among the variants."""
        own = self.variant.settings
        return own if self.triton is None else {**own, "triton": self.triton}

    def value(self, name: str) -> FactValue:
        """The value of the fact called `name`; None if it is unknown."""
        return value_named(self.facts, name)

    @property
    def note(self) -> str:
        """The variant's state in a narrow column: `failed`, `no launch`, `= #2` or nothing."""
        if self.variant.failure:
            return "failed"
        if self.problem:
            return "no launch"
        return f"= #{self.duplicate_of}" if self.duplicate_of is not None else ""


@dataclass(frozen=True)
class TableSection:
    """The variants of one kernel for one target: only these can be compared.

    `kernel` and `target` are the names. `entries` are the rows, in the order of the capture or sorted.
    """

    kernel: str
    target: str
    entries: tuple[TableEntry, ...]

    @property
    def backend(self) -> str:
        """The target's backend, which determines the facts."""
        return self.entries[0].variant.target.backend

    @property
    def title(self) -> str:
        """Kernel, target and number of variants."""
        return f"{self.kernel}  {self.target}  {pluralize(len(self.entries), 'variant')}"

    @property
    def origin(self) -> str:
        """The computation of a generated kernel, if that of all variants is the same; "" if not."""
        found = {entry.variant.origin for entry in self.entries}
        origin = found.pop() if len(found) == 1 else None
        return one_line(origin.sentence) if origin else ""


@dataclass(frozen=True, slots=True)
class TableCell:
    """A value as text. `best`: it is the best of its column.

    The text is "" if the variant cannot have a value (it failed, or its config lacks the name) and UNKNOWN
    if the value could not be determined.
    """

    text: str
    value: FactValue | Value = None
    best: bool = False


@dataclass(frozen=True)
class ConfigColumn:
    """A config value of all entries."""

    name: str
    cells: tuple[TableCell, ...]


@dataclass(frozen=True)
class FactColumn:
    """A fact of all entries; `best` is the best value, None if there is nothing to choose."""

    kind: FactKind
    cells: tuple[TableCell, ...]
    best: FactValue
    varies: bool

    @cached_property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return not any(isinstance(cell.value, str | Status) for cell in self.cells)

    @property
    def bound(self) -> bool:
        """Whether the column is shown only together with the others in BOUND."""
        return self.kind.name in BOUND


@dataclass(frozen=True)
class TableView:
    """A section with its columns.

    `configs` are the config values that vary (all if none does); `identified`: they identify every
    variant, so that a view needs no column for names.
    """

    section: TableSection
    configs: tuple[ConfigColumn, ...]
    facts: tuple[FactColumn, ...]
    identified: bool

    @property
    def entries(self) -> tuple[TableEntry, ...]:
        """The rows."""
        return self.section.entries

    @cached_property
    def varying_facts(self) -> tuple[FactColumn, ...]:
        """The facts of which the variants that compiled have several values."""
        compiled = [index for index, entry in enumerate(self.entries) if entry.variant.failure is None]
        return tuple(
            column for column in self.facts if len({column.cells[index].text for index in compiled}) > 1
        )

    @property
    def constants(self) -> list[str]:
        """The values that all compiled variants share: `num_ctas=1`, `Stack 0 B`."""
        chosen = [entry.chosen for entry in self.entries]
        first = chosen[0]
        names = [name for name in first if all(name in c and c[name] == first[name] for c in chosen)]
        shown = {column.name for column in self.configs}
        compiled = [index for index, entry in enumerate(self.entries) if entry.variant.failure is None]
        facts = [column for column in self.facts if column not in self.varying_facts] if compiled else []
        texts = [(column.kind, column.cells[compiled[0]].text) for column in facts]
        return [
            *(f"{name}={format_value(first[name])}" for name in names if name not in shown),
            *(" ".join(filter(None, (kind.title, text, kind.abbreviated_unit))) for kind, text in texts),
        ]

    @property
    def duplicates(self) -> int:
        """How many launchable variants have the machine code of an earlier one; edits are not counted."""
        own = (entry for entry in self.entries if entry.variant.edit is None)
        return sum(entry.duplicate_of is not None and not entry.problem for entry in own)

    @property
    def stage_reuse(self) -> StageReuse:
        """Which variants reused stages of another one, and the seconds that saved."""
        facts = {entry.variant.id: entry.facts for entry in self.entries}
        # In the capture's order, in which the columns of a large one are read by the block.
        variants = sorted((entry.variant for entry in self.entries), key=lambda variant: variant.id)
        return stage_reuse(variants, facts)


def table_view(section: TableSection, kinds: Sequence[FactKind] | None = None) -> TableView:
    """A section with the columns of `kinds` (None: those that a person is shown)."""
    shown = default_kinds(section) if kinds is None else kinds
    facts = tuple(_fact_column(section, kind) for kind in shown)
    return TableView(section, _config_columns(section), facts, _identified(section))


def _identified(section: TableSection) -> bool:
    """Whether no two variants have the same config."""
    seen = {tuple(entry.chosen.items()) for entry in section.entries}
    return len(seen) == len(section.entries)


def _config_columns(section: TableSection) -> tuple[ConfigColumn, ...]:
    """Equal values share a cell: a table of 100,000 variants has millions of cells."""
    shared: dict[object, TableCell] = {}
    absent = TableCell("")
    columns: dict[str, list[TableCell]] = {name: [] for name in config_names(section)}
    for entry in section.entries:
        settings = entry.chosen
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
    """Equal values share a cell."""
    top = best(section, kind)
    shared: dict[object, TableCell] = {}
    cells = []
    for entry, value in zip(section.entries, _values(section.entries, kind.name), strict=True):
        failed = value is None and entry.variant.failure is not None
        marked = top is not None and value == top and can_be_best(entry, kind)
        key = type(value), value, failed, marked
        if key not in shared:
            text = kind.format(value) if value is not None else "" if failed else UNKNOWN
            shared[key] = TableCell(text, value, marked)
        cells.append(shared[key])
    return FactColumn(kind, tuple(cells), top, bool(varying_kinds(section, [kind])))


def entries(
    variants: Sequence[Variant], names: Mapping[int, str], facts: Mapping[int, Mapping[str, Fact]]
) -> list[TableEntry]:
    """The entries of `variants`; `names` and `facts` are by variant id."""
    groups = duplicate_groups(variants, facts)
    duplicates = {later.id: first.id for first, *others in groups for later in others}
    versions = {variant.toolchain.versions.get("triton", "") for variant in variants}
    return [
        TableEntry(
            variant,
            names[variant.id],
            own,
            _problem(variant, own),
            duplicates.get(variant.id),
            variant.toolchain.versions.get("triton", "") if len(versions) > 1 else None,
        )
        for variant in variants
        for own in [facts.get(variant.id, {})]
    ]


def sections(
    entries: Sequence[TableEntry], sort: str | None, kinds: Sequence[FactKind]
) -> list[TableSection]:
    """The entries by kernel and target, each section sorted by `sort`.

    `sort` is the name of a fact or config value (None: the capture's order). The best or smallest value
    comes first, unknown values after known ones, variants with a problem last. Raises UserError, listing the
    known names, if `sort` is unknown.
    """
    if sort is not None:
        _check_sort(entries, sort, kinds)
    groups: dict[tuple[str, str], list[TableEntry]] = {}
    for entry in entries:
        groups.setdefault((entry.variant.kernel.name, str(entry.variant.target)), []).append(entry)
    return [
        TableSection(kernel, target, tuple(_sorted(group, sort, kinds)))
        for (kernel, target), group in groups.items()
    ]


def config_names(section: TableSection) -> list[str]:
    """The config values and environment that vary within the section; all of them if none does."""
    names = varying(entry.chosen for entry in section.entries)
    return names or list(dict.fromkeys(name for entry in section.entries for name in entry.chosen))


def best(section: TableSection, kind: FactKind) -> FactValue:
    """The best value of a fact among variants that can launch; None if there is nothing to choose.

    A variant that spills has few registers, and many resident warps, only because of that.
    """
    launchable = [entry for entry in section.entries if not entry.problem]
    numbers = _numbers(launchable, kind)
    if not kind.better or len(set(numbers)) < 2:
        return None
    if kind in IMPROVED_BY_SPILLS:
        numbers = _numbers([entry for entry in launchable if can_be_best(entry, kind)], kind)
    if not numbers:
        return None
    keys = {entry.value(f"{kind.name}_key") for entry in section.entries} - {None}
    if kind.name in _TIMES and len(keys) > 1:
        return None  # times of different problems
    return min(numbers) if kind.better == "low" else max(numbers)


def can_be_best(entry: TableEntry, kind: FactKind) -> bool:
    """Whether the value of a variant can be the best of its column."""
    return not entry.problem and not (kind in IMPROVED_BY_SPILLS and spills(entry.facts))


def _numbers(entries: Sequence[TableEntry], kind: FactKind) -> list[int | float]:
    return [value for value in _values(entries, kind.name) if isinstance(value, int | float)]


def _values(entries: Sequence[TableEntry], name: str) -> list[FactValue]:
    """The values of the fact called `name`; None if one is unknown."""
    return column_of([entry.facts for entry in entries], name)


def chosen_kinds(names: Sequence[str]) -> list[FactKind]:
    """The kinds called `names`, in that order. Raises UserError, listing the known ones.

    If one of BOUND is named, all of them are included.
    """
    known = {**facts_named(names), **{kind.name: kind for kind in ESTIMATE_KINDS}}
    chosen: dict[str, FactKind] = {}
    for name in names:
        if name not in known:
            raise UserError(f"no column '{name}'; known columns: {', '.join(known)}")
        for other in BOUND if name in BOUND else (name,):
            chosen[other] = known[other]
    return list(chosen.values())


def all_kinds(sections: Sequence[TableSection]) -> list[FactKind]:
    """The kinds of all facts that the sections' backends have."""
    measured = kinds_of(dict.fromkeys(section.backend for section in sections))
    return with_estimates((entry for section in sections for entry in section.entries), measured)


def with_estimates(entries: Iterable[TableEntry], kinds: Iterable[FactKind]) -> list[FactKind]:
    """`kinds` and those of estimates, if any of `entries` has them; what they are for comes last."""
    if not any(ESTIMATE.name in entry.facts for entry in entries):
        return list(kinds)
    return [ESTIMATE, BOUND_BY, *kinds, ESTIMATE_KEY]


def default_kinds(section: TableSection) -> list[FactKind]:
    """The kinds that a person is shown: those of the backend with at least one known value.

    Without the facts that the notes contain: whether a variant can launch, and its machine code; and
    without those of things that no variant has, such as atomics.
    """
    hidden = {"launchable", "code"}
    if not varying_kinds(section, [ESTIMATE_KEY]):
        hidden.add(ESTIMATE_KEY.name)
    return [
        kind
        for kind in with_estimates(section.entries, kinds_for(section.backend))
        if kind.name not in hidden
        and any(entry.value(kind.name) not in (None, kind.absent) for entry in section.entries)
    ]


def varying_kinds(section: TableSection, kinds: Sequence[FactKind]) -> list[FactKind]:
    """Those of `kinds` whose values vary within the section; of BOUND, all or none."""
    names = {kind.name for kind in kinds}.union(BOUND if any(kind.name in BOUND for kind in kinds) else ())
    found = {name for name in names if len(set(map(_key, _values(section.entries, name)))) > 1}
    if found.intersection(BOUND):
        found.update(BOUND)
    return [kind for kind in kinds if kind.name in found]


def _key(value: FactValue) -> object:
    """Equal keys, equal values: True is not 1, and every NaN is the same."""
    return type(value), repr(value) if isinstance(value, float) else value


def ranked_pairs(sections: Sequence[TableSection], most: int) -> list[tuple[Variant, Variant]]:
    """At most `most` pairs that differ in few values and much in their facts."""
    from irscope.analysis.pair_ranking import rank_pairs

    entries = [entry for section in sections for entry in section.entries]
    facts = {entry.variant.id: entry.facts for entry in entries}
    variants = sorted((entry.variant for entry in entries), key=lambda variant: variant.id)
    return rank_pairs(variants, facts, most)


def minor(kind: FactKind) -> bool:
    """Whether a fact is secondary: the time of one stage, a size, what a time was measured for."""
    return kind.name.endswith(("_seconds", "_size", "_key"))


def _problem(variant: Variant, facts: Mapping[str, Fact]) -> str:
    status = status_of(variant, facts)
    return status.problem if status is not None else ""


def _check_sort(entries: Sequence[TableEntry], sort: str, kinds: Sequence[FactKind]) -> None:
    known = [kind.name for kind in kinds]
    known += [name for entry in entries for name in entry.chosen]
    if sort not in known:
        raise UserError(f"cannot sort by '{sort}'; known names: {', '.join(dict.fromkeys(known))}")


def _sorted(entries: list[TableEntry], sort: str | None, kinds: Sequence[FactKind]) -> list[TableEntry]:
    if sort is None:
        return entries
    kind = next((kind for kind in kinds if kind.name == sort), None)

    def key(entry: TableEntry) -> tuple[bool, bool, float, str]:
        value: Value | Status = entry.value(kind.name) if kind else entry.chosen.get(sort)
        number = float(value) if isinstance(value, int | float) else 0.0
        if kind and kind.better == "high":
            number = -number
        return bool(entry.problem), value is None, number, natural_key(str(value))

    return sorted(entries, key=key)
