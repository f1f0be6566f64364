"""The facts of variants that are measured one by one, while a view already shows them.

The facts of an open capture's variants: measured when they are first asked for, and stored on request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from irscope.facts.duplicates import duplicate_groups
from irscope.facts.fact import (
    ESTIMATE,
    ESTIMATE_KINDS,
    Fact,
    FactKind,
    FactValue,
    column_of,
    columns_of,
    status_of,
    value_named,
)
from irscope.facts.occupancy import REPORTED_SPILLS, spills
from irscope.facts.registry import CODE, LAUNCHABLE, STACK, facts_named, kinds_for
from irscope.model import Status, UserError, Variant
from irscope.targets import backend_of

if TYPE_CHECKING:
    from irscope.workspace.workspace import Workspace


_NONE: Mapping[str, Fact] = {}
_ESTIMATED = {kind.name: kind for kind in ESTIMATE_KINDS}
# If all of these are 0 or unknown, a variant does not spill.
_SIGNS_OF_SPILLS = tuple(kind.name for kind in (STACK, *REPORTED_SPILLS))
_INDEXED = (CODE.name, LAUNCHABLE.name, *_SIGNS_OF_SPILLS)


def kinds_named(names: Iterable[str]) -> dict[str, FactKind]:
    """Return kinds of facts by name, with those of estimates: at least those in `names` that exist."""
    return {**facts_named(set(names) - _ESTIMATED.keys()), **_ESTIMATED}


def needs_estimates(names: Iterable[str]) -> bool:
    """Check whether a fact among `names` is one of an estimate."""
    return not _ESTIMATED.keys().isdisjoint(names)


class FactTable:
    """The facts of the variants measured so far, by variant id and name."""

    def __init__(self) -> None:
        self._facts: dict[int, Mapping[str, Fact]] = {}
        # The machine code of each variant that has one, the variants by machine code, and the first of each
        # group of duplicates by the ids of the others, but for the codes whose variants changed since.
        self._codes: dict[int, FactValue] = {}
        self._by_code: dict[FactValue, dict[int, Variant]] = {}
        self._firsts: dict[int, int] = {}
        self._changed: set[FactValue] = set()
        # The variants that spill, and those that failed or cannot be launched.
        self._spilling: set[int] = set()
        self._with_problem: set[int] = set()

    def add(self, variant: Variant, facts: Mapping[str, Fact]) -> None:
        """Add the facts of a variant."""
        self.add_all([variant], {variant.id: facts})

    def add_all(self, variants: Iterable[Variant], facts: Mapping[int, Mapping[str, Fact]]) -> None:
        """Add the facts of those variants that have some, by their ids."""
        measured = [variant for variant in variants if variant.id in facts]
        for variant in measured:
            if variant.id in self._facts:
                self.remove(variant.id)
        rows = [facts[variant.id] for variant in measured]
        self._facts.update(zip([variant.id for variant in measured], rows, strict=True))
        codes, launches, *signs = columns_of(rows, _INDEXED)
        for variant, code, launch in zip(measured, codes, launches, strict=True):
            if code is not None:
                self._codes[variant.id] = code
                self._by_code.setdefault(code, {})[variant.id] = variant
                self._changed.add(code)
            if variant.failure is not None or (isinstance(launch, Status) and not launch.ok):
                self._with_problem.add(variant.id)
        for index in {index for sign in signs for index, value in enumerate(sign) if value}:
            if spills(rows[index]):
                self._spilling.add(measured[index].id)

    def remove(self, variant: int) -> None:
        """Remove the facts of a variant that changed."""
        code = self._codes.pop(variant, None)
        if code is not None:
            del self._by_code[code][variant]
            self._firsts.pop(variant, None)
            self._changed.add(code)
        self._facts.pop(variant, None)
        self._spilling.discard(variant)
        self._with_problem.discard(variant)

    @property
    def known(self) -> Mapping[int, Mapping[str, Fact]]:
        """Return the facts of the measured variants, by id and name."""
        return self._facts

    @property
    def spilling(self) -> Set[int]:
        """Return the ids of the variants that spill registers."""
        return self._spilling

    @property
    def with_problem(self) -> Set[int]:
        """Return the ids of the measured variants that failed or cannot be launched."""
        return self._with_problem

    @staticmethod
    def kinds(variants: Iterable[Variant], estimated: bool) -> list[FactKind]:
        """Return the kinds of facts that the variants can have; if `estimated`, those of estimates too."""
        backends = dict.fromkeys(variant.target.backend for variant in variants)
        kinds = dict.fromkeys(kind for backend in backends for kind in kinds_for(backend))
        return [*kinds, *(ESTIMATE_KINDS if estimated else ())]

    def has_estimate(self, variant: int) -> bool:
        """Check whether a variant was estimated."""
        return ESTIMATE.name in self._facts.get(variant, _NONE)

    def __contains__(self, variant: int) -> bool:
        return variant in self._facts

    def get(self, variant: int, name: str) -> Fact | None:
        """Return a fact; None if the variant does not have it or is not measured yet."""
        return self._facts.get(variant, {}).get(name)

    def value(self, variant: int, name: str) -> FactValue:
        """Return the value of a fact; None if it is unknown."""
        return value_named(self._facts.get(variant, _NONE), name)

    def column(self, name: str, variants: Sequence[Variant]) -> list[FactValue]:
        """Return the values of a fact of several variants; None if unknown."""
        return column_of(self._rows(variants), name)

    def columns(self, names: Sequence[str], variants: Sequence[Variant]) -> list[Sequence[FactValue]]:
        """Return the values of several facts of several variants; None if unknown."""
        return columns_of(self._rows(variants), names)

    def _rows(self, variants: Sequence[Variant]) -> list[Mapping[str, Fact]]:
        facts = self._facts
        return [facts.get(variant.id, _NONE) for variant in variants]

    def status(self, variant: Variant) -> Status | None:
        """Return whether a variant compiled and can be launched; None if that is unknown."""
        return status_of(variant, self._facts.get(variant.id, {}))

    def problem(self, variant: Variant) -> str:
        """Say in one line why a variant failed or cannot be launched; "" if it can."""
        status = self.status(variant)
        return "" if status is None else status.problem

    def duplicate_of(self, variant: Variant) -> int | None:
        """Return the id of the first measured variant with the same machine code; None if it is this one."""
        if self._changed:
            self._group_duplicates()
        return self._firsts.get(variant.id)

    def _group_duplicates(self) -> None:
        """Group the variants of all codes that changed, which is faster than one code at a time."""
        changed = [variant for code in self._changed for variant in self._by_code[code].values()]
        changed.sort(key=lambda variant: variant.id)
        for variant in changed:
            self._firsts.pop(variant.id, None)
        groups = duplicate_groups(changed, self._facts)
        self._firsts.update(
            (duplicate.id, first.id) for first, *duplicates in groups for duplicate in duplicates
        )
        self._changed.clear()


class MeasuredFacts:
    """The facts that were measured so far, with their evidence."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._known: dict[int, Mapping[str, Fact]] = {}

    def of(self, variant: Variant) -> Mapping[str, Fact]:
        """Return a variant's facts by name in table order; measure again while it is being compiled."""
        from irscope.facts.measure import measure

        cached = self._known.get(variant.id)
        if cached is not None:
            return cached
        measured = self._known[variant.id] = measure(variant, partial(self._read, variant))
        # Checked after the assignment: the variant may have been compiled while this thread measured it.
        if variant.id in self._workspace.in_progress or self._workspace.live.is_outdated(variant):
            self._known.pop(variant.id, None)
        return measured

    def forget(self, ids: Iterable[int]) -> None:
        """Drop the facts of variants that changed."""
        for id_ in ids:
            self._known.pop(id_, None)

    def _read(self, variant: Variant, stage: str) -> bytes | None:
        """Return a stored stage; derive assembly that only a disassembler has (SPIR-V)."""
        workspace = self._workspace
        if stage == backend_of(variant.target).assembly and workspace.contents.derivable(variant, stage):
            with suppress(UserError):
                return workspace.contents.find(variant, stage)
        return workspace.contents.read(variant, stage)
