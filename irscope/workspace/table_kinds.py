"""The facts that are columns of the comparison table: all, those asked for, those that a person is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irscope.facts.estimate_kinds import BOUND_BY, ESTIMATE, ESTIMATE_KEY, ESTIMATE_KINDS
from irscope.facts.fact import FactKind, FactValue
from irscope.facts.registry import facts_named, kinds_for, kinds_of
from irscope.model import UserError
from irscope.workspace.table_sections import TableEntry, TableSection, values_of

# A register count misleads without the others: if ptxas gives up, it reports 32 and kilobytes of stack.
SHOWN_TOGETHER = ("registers", "stack", "n_spills")


def chosen_kinds(names: Sequence[str]) -> list[FactKind]:
    """The kinds called `names`, in that order. Raises UserError, listing the known ones.

    If one of SHOWN_TOGETHER is named, all of them are included.
    """
    known = {**facts_named(names), **{kind.name: kind for kind in ESTIMATE_KINDS}}
    chosen: dict[str, FactKind] = {}
    for name in names:
        if name not in known:
            raise UserError(f"no column '{name}'; known columns: {', '.join(known)}")
        for other in SHOWN_TOGETHER if name in SHOWN_TOGETHER else (name,):
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
    """Those of `kinds` whose values vary within the section; of SHOWN_TOGETHER, all or none."""
    names = {kind.name for kind in kinds}
    if names.intersection(SHOWN_TOGETHER):
        names.update(SHOWN_TOGETHER)
    found = {name for name in names if len(set(map(_key, values_of(section.entries, name)))) > 1}
    if found.intersection(SHOWN_TOGETHER):
        found.update(SHOWN_TOGETHER)
    return [kind for kind in kinds if kind.name in found]


def _key(value: FactValue) -> object:
    """Equal keys, equal values: True is not 1, and every NaN is the same."""
    return type(value), repr(value) if isinstance(value, float) else value


def minor(kind: FactKind) -> bool:
    """Whether a fact is secondary: the time of one stage, a size, what a time was measured for."""
    return kind.name.endswith(("_seconds", "_size", "_key"))
