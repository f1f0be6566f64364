"""The entries of the comparison table: the variants with their facts, by kernel and target, sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irscope.analysis.duplicates import duplicate_groups
from irscope.facts.estimate_kinds import ESTIMATE_KINDS
from irscope.facts.fact import Fact, FactKind, FactValue, column_of, status_of, value_named
from irscope.facts.registry import kinds_of
from irscope.model import Status, UserError, Value, Variant
from irscope.model.frozen_value import FrozenValue
from irscope.model.text import natural_key, one_line, pluralize

if TYPE_CHECKING:
    from irscope.workspace.workspace import Workspace


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


def capture_sections(
    workspace: Workspace,
    kernel: str | None,
    target: str | None,
    sort: str | None,
    kinds: Sequence[FactKind] | None,
    estimate: bool,
) -> list[TableSection]:
    """The sections of a capture; see `Workspace.sections`."""
    variants = workspace.select(kernel, target)
    facts = workspace.all_facts(variants)
    if estimate:
        facts = {v.id: {**facts[v.id], **workspace.estimates.facts(v)} for v in variants}
    if kinds is None:
        own = kinds_of(dict.fromkeys(variant.target.backend for variant in variants))
        kinds = (*ESTIMATE_KINDS, *own) if estimate else own
    return sections(entries(variants, workspace.names, facts), sort, kinds)


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


def values_of(entries: Sequence[TableEntry], name: str) -> list[FactValue]:
    """The values of the fact called `name`; None if one is unknown."""
    return column_of([entry.facts for entry in entries], name)


def ranked_pairs(sections: Sequence[TableSection], most: int) -> list[tuple[Variant, Variant]]:
    """At most `most` pairs that differ in few values and much in their facts."""
    from irscope.analysis.pair_ranking import rank_pairs

    entries = [entry for section in sections for entry in section.entries]
    facts = {entry.variant.id: entry.facts for entry in entries}
    variants = sorted((entry.variant for entry in entries), key=lambda variant: variant.id)
    return rank_pairs(variants, facts, most)


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
