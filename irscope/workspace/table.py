"""The comparison table: which variants and facts it has, in which order, and which value is best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irscope.analysis.duplicates import duplicate_groups
from irscope.facts.fact import Fact, FactKind, FactValue, status_of
from irscope.facts.registry import kinds_for
from irscope.model import Status, UserError, Value, Variant

# Registers mislead without the others: where ptxas gives up it reports 32 and kilobytes of stack.
BOUND = ("registers", "stack", "n_spills")


@dataclass(frozen=True)
class TableEntry:
    """One variant of the table.

    `name` is its short name, `facts` its facts by name. `problem` says in one line why it failed
    or cannot launch ("" where it can); such a variant is never ranked. `twin` is the number of the
    first variant with the same machine code, None where it is the first or alone.
    """

    variant: Variant
    name: str
    facts: Mapping[str, Fact]
    problem: str = ""
    twin: int | None = None

    def value(self, name: str) -> FactValue:
        """The value of the fact called `name`; None where it is not known."""
        return self.facts[name].value if name in self.facts else None


@dataclass(frozen=True)
class TableSection:
    """The variants of one kernel for one target, which are what can be compared."""

    kernel: str
    target: str
    entries: tuple[TableEntry, ...]

    @property
    def backend(self) -> str:
        """The target's backend, which decides what facts there are."""
        return self.entries[0].variant.target.backend

    @property
    def title(self) -> str:
        """What stands above the section."""
        count = len(self.entries)
        return f"{self.kernel}  {self.target}  {count} variant{'s' if count != 1 else ''}"


def entries(
    variants: Sequence[Variant], names: Mapping[int, str], facts: Mapping[int, Mapping[str, Fact]]
) -> list[TableEntry]:
    """The entries of `variants`; `names` and `facts` are by variant id."""
    twins = {later.id: first.id for first, *others in duplicate_groups(variants, facts) for later in others}
    return [
        TableEntry(variant, names[variant.id], own, _problem(variant, own), twins.get(variant.id))
        for variant in variants
        for own in [facts.get(variant.id, {})]
    ]


def sections(
    entries: Sequence[TableEntry], sort: str | None, kinds: Sequence[FactKind]
) -> list[TableSection]:
    """The entries by kernel and target, each section sorted by `sort`.

    `sort` is a fact's or a config's name, None for the capture's order; the best or least value stands
    first, unknown ones behind all known, those with a problem last. Raises UserError, naming what
    there is, where `sort` names neither.
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
    """The config values that tell the section's variants apart; all of them where none does."""
    configs = [dict(entry.variant.config.values) for entry in section.entries]
    names = list(dict.fromkeys(name for config in configs for name in config))
    missing = object()
    telling = [name for name in names if len({repr(config.get(name, missing)) for config in configs}) > 1]
    return telling or names


def named_apart(section: TableSection) -> bool:
    """Whether the config alone tells every variant of the section from the others."""
    return len({entry.variant.config for entry in section.entries}) == len(section.entries)


def best(section: TableSection, kind: FactKind) -> FactValue:
    """The best value of a fact among variants that can launch; None where there is nothing to choose."""
    values = [entry.value(kind.name) for entry in section.entries if not entry.problem]
    numbers = [value for value in values if isinstance(value, int | float)]
    if not kind.better or len(set(numbers)) < 2:
        return None
    if kind.name == "ms" and len({entry.value("ms_key") for entry in section.entries} - {None}) > 1:
        return None  # times of different problems
    return min(numbers) if kind.better == "low" else max(numbers)


def chosen_kinds(names: Sequence[str], kinds: Sequence[FactKind]) -> list[FactKind]:
    """The kinds called `names` in that order. Raises UserError, naming the known ones.

    Of those that mislead alone, all come where one is asked for.
    """
    known = {kind.name: kind for kind in kinds}
    chosen: dict[str, FactKind] = {}
    for name in names:
        if name not in known:
            raise UserError(f"no column '{name}'; there is: {', '.join(known)}")
        for other in BOUND if name in BOUND else (name,):
            chosen[other] = known[other]
    return list(chosen.values())


def default_kinds(section: TableSection) -> list[FactKind]:
    """The kinds that a person is shown: those of the backend of which something is known.

    Not among them is what the notes say of each variant.
    """
    return [
        kind
        for kind in kinds_for(section.backend)
        if kind.name not in ("launchable", "code")
        and any(entry.value(kind.name) is not None for entry in section.entries)
    ]


def telling_kinds(section: TableSection, kinds: Sequence[FactKind]) -> list[FactKind]:
    """Those of `kinds` that tell the section's variants apart; of those that mislead alone, all or none."""
    telling = {kind.name for kind in kinds if len({repr(e.value(kind.name)) for e in section.entries}) > 1}
    if telling.intersection(BOUND):
        telling.update(BOUND)
    return [kind for kind in kinds if kind.name in telling]


def minor(kind: FactKind) -> bool:
    """Whether few ask for a fact: the time of one stage, sizes, what a time was measured for."""
    return kind.name.endswith(("_seconds", "_size", "_key"))


def _problem(variant: Variant, facts: Mapping[str, Fact]) -> str:
    status = status_of(variant, facts)
    return status.problem if status is not None else ""


def _check_sort(entries: Sequence[TableEntry], sort: str, kinds: Sequence[FactKind]) -> None:
    known = [kind.name for kind in kinds]
    known += [name for entry in entries for name, _ in entry.variant.config.values]
    if sort not in known:
        raise UserError(f"cannot sort by '{sort}'; there is: {', '.join(dict.fromkeys(known))}")


def _sorted(entries: list[TableEntry], sort: str | None, kinds: Sequence[FactKind]) -> list[TableEntry]:
    if sort is None:
        return entries
    kind = next((kind for kind in kinds if kind.name == sort), None)

    def key(entry: TableEntry) -> tuple[bool, bool, float, str]:
        value: Value | Status = entry.value(kind.name) if kind else entry.variant.config.get(sort)
        number = float(value) if isinstance(value, int | float) else 0.0
        if kind and kind.better == "high":
            number = -number
        return bool(entry.problem), value is None, number, str(value)

    return sorted(entries, key=key)


PlainValue = int | float | str | None


def table_rows(sections: Sequence[TableSection]) -> list[dict[str, PlainValue]]:
    """The sections as plain rows: id, kernel, target, name, config values, facts, problem, duplicate_of.

    A config value that has the name of another column appears as `config.NAME`. Element types and the
    launch status are text.
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
        facts = {kind.name: _plain(entry.value(kind.name)) for kind in kinds_for(variant.target.backend)}
        taken = {*row, *facts, "problem", "duplicate_of"}
        for name, value in variant.config.values:
            row[f"config.{name}" if name in taken else name] = _plain(value)
        row |= facts
        row |= {"problem": entry.problem or None, "duplicate_of": entry.twin}
        rows.append(row)
    return rows


def _plain(value: FactValue | Value) -> PlainValue:
    return value if isinstance(value, int | float | str | None) else str(value)
