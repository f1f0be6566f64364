"""The facts of variants that are measured one by one, while a view already shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property

from irscope.facts.duplicates import duplicate_groups
from irscope.facts.fact import (
    ESTIMATE,
    ESTIMATE_KINDS,
    FactKind,
    Facts,
    FactValue,
    column_of,
    columns_of,
    status_of,
    value_named,
)
from irscope.facts.occupancy import REPORTED_SPILLS, spills
from irscope.facts.registry import LAUNCHABLE, STACK, facts_named, kinds_of
from irscope.model import Status, Variant

_NONE: Facts = {}
_ESTIMATED = {kind.name: kind for kind in ESTIMATE_KINDS}
# If all of these are 0 or unknown, a variant does not spill.
_SIGNS_OF_SPILLS = tuple(kind.name for kind in (STACK, *REPORTED_SPILLS))


def kinds_named(names: Iterable[str]) -> dict[str, FactKind]:
    """Return kinds of facts by name, with those of estimates: at least those in `names` that exist."""
    return {**facts_named(set(names) - _ESTIMATED.keys()), **_ESTIMATED}


def needs_estimates(names: Iterable[str]) -> bool:
    """Check whether a fact among `names` is one of an estimate."""
    return not _ESTIMATED.keys().isdisjoint(names)


class FactTable:
    """The facts of the variants measured so far, `known` by variant id and name.

    Groups of duplicates, and which variants spill, are computed again after variants were added or removed.
    """

    def __init__(self) -> None:
        self.known: dict[int, Facts] = {}
        self._variants: dict[int, Variant] = {}  # those of `known`, in its order

    def add(self, variant: Variant, facts: Facts) -> None:
        """Add the facts of a variant."""
        self.add_all([variant], {variant.id: facts})

    def add_all(self, variants: Iterable[Variant], facts: Mapping[int, Facts]) -> None:
        """Add the facts of those variants that have some, by their ids.

        Facts can be added to those of a variant, as estimates are; to change them, remove them first.
        """
        measured = {variant.id: variant for variant in variants if variant.id in facts}
        if not self.known.keys() >= measured.keys():
            self._changed()
        self._variants.update(measured)
        self.known.update((id_, facts[id_]) for id_ in measured)

    def remove(self, variant: int) -> None:
        """Remove the facts of a variant that changed."""
        self.known.pop(variant, None)
        self._variants.pop(variant, None)
        self._changed()

    def _changed(self) -> None:
        for name in ("spilling", "with_problem", "_firsts"):
            vars(self).pop(name, None)

    @cached_property
    def spilling(self) -> Set[int]:
        """Return the ids of the variants that spill registers."""
        ids, rows = list(self.known), list(self.known.values())
        signs = columns_of(rows, _SIGNS_OF_SPILLS)
        suspects = {index for sign in signs for index, value in enumerate(sign) if value}
        return {ids[index] for index in suspects if spills(rows[index])}

    @cached_property
    def with_problem(self) -> Set[int]:
        """Return the ids of the measured variants that failed or cannot be launched."""
        launches = column_of(self.known.values(), LAUNCHABLE.name)
        return {
            variant.id
            for variant, launch in zip(self._variants.values(), launches, strict=True)
            if variant.failure is not None or (isinstance(launch, Status) and not launch.ok)
        }

    @cached_property
    def _firsts(self) -> Mapping[int, int]:
        """Map the ids of duplicates to that of the first variant with the same machine code."""
        groups = duplicate_groups([self._variants[id_] for id_ in sorted(self._variants)], self.known)
        return {duplicate.id: first.id for first, *duplicates in groups for duplicate in duplicates}

    def duplicate_of(self, variant: Variant) -> int | None:
        """Return the id of the first measured variant with the same machine code; None if it is this one."""
        return self._firsts.get(variant.id)

    @staticmethod
    def kinds(variants: Iterable[Variant], estimated: bool) -> list[FactKind]:
        """Return the kinds of facts that the variants can have; if `estimated`, those of estimates too."""
        backends = dict.fromkeys(variant.target.backend for variant in variants)
        return [*kinds_of(backends), *(ESTIMATE_KINDS if estimated else ())]

    def has_estimate(self, variant: int) -> bool:
        """Check whether a variant was estimated."""
        return ESTIMATE.name in self.known.get(variant, _NONE)

    def __contains__(self, variant: int) -> bool:
        return variant in self.known

    def values(self, variant: int, names: Iterable[str]) -> list[FactValue]:
        """Return the values of some facts of a variant; None if one is unknown."""
        facts = self.known.get(variant, _NONE)
        return [value_named(facts, name) for name in names]

    def column(self, name: str, variants: Sequence[Variant]) -> list[FactValue]:
        """Return the values of a fact of several variants; None if unknown."""
        return column_of(self._rows(variants), name)

    def columns(self, names: Sequence[str], variants: Sequence[Variant]) -> list[Sequence[FactValue]]:
        """Return the values of several facts of several variants; None if unknown."""
        return columns_of(self._rows(variants), names)

    def _rows(self, variants: Sequence[Variant]) -> list[Facts]:
        known = self.known
        return [known.get(variant.id, _NONE) for variant in variants]

    def problem(self, variant: Variant) -> str:
        """Say in one line why a variant failed or cannot be launched; "" if it can."""
        status = status_of(variant, self.known.get(variant.id, _NONE))
        return "" if status is None else status.problem
