"""Measuring the facts of one variant, and their JSON form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from irscope.facts.artifacts import VariantArtifacts
from irscope.facts.fact import Fact, FactKind, FactValue, ReadStage
from irscope.facts.registry import FACT_KINDS, LAUNCHABLE, kinds_for
from irscope.model import Status, Variant
from irscope.model.status import parse_status

__all__ = ["FACTS_VERSION", "FACT_KINDS", "StoredFacts", "from_json", "measure", "to_json"]

# Count up whenever the JSON value of a fact changes, so that stored facts are measured again. A new fact
# needs no new version: variants whose stored facts lack it are measured again.
FACTS_VERSION = 4

_VALUE_TYPES = frozenset((int, float, bool, str, type(None)))


class StoredFacts(Mapping[str, Fact]):
    """Facts that a capture stores, in table order; each is made when it is asked for.

    A capture of 10,000 variants has 500,000 facts, of which a screen shows 500. `plain` has their values.
    """

    __slots__ = ("_kinds", "plain")

    def __init__(self, plain: Mapping[str, FactValue], kinds: Mapping[str, FactKind]) -> None:
        self.plain = plain
        self._kinds = kinds

    def __getitem__(self, name: str) -> Fact:
        return Fact(self._kinds[name], self.plain[name])

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._kinds if name in self.plain)

    def __len__(self) -> int:
        return len(self.plain)

    def __contains__(self, name: object) -> bool:
        return name in self.plain


def measure(variant: Variant, read: ReadStage) -> dict[str, Fact]:
    """Every fact that applies to the variant's backend, by name in table order.

    `read` returns a stage's content. A fact whose artifact is missing has the value None. Takes a few
    milliseconds: nothing is disassembled or parsed.
    """
    measurement = VariantArtifacts(variant, read)
    found = ((kind, kind.measure(measurement)) for kind in kinds_for(variant.target.backend))
    return {kind.name: Fact(kind, measured.value, measured.evidence) for kind, measured in found}


def to_json(facts: Mapping[str, Fact]) -> dict[str, int | float | str | None]:
    """The facts as {name: value}, without evidence; a Status is "yes" or "no: REASON"."""
    return {name: json_value(fact.value) for name, fact in facts.items()}


def json_value(value: FactValue) -> int | float | str | None:
    """A fact's value as JSON has it."""
    return str(value) if isinstance(value, Status) else value


def from_json(values: Mapping[str, Any], backend: str | None = None) -> StoredFacts:
    """The facts that `to_json` wrote, in table order; unknown names and malformed values are skipped.

    `backend` is that of the variant; without one, the facts that a plug-in adds are unknown.
    """
    kinds = _named_kinds(backend)
    known: dict[str, FactValue]
    if values.keys() == kinds.keys() and _VALUE_TYPES.issuperset(map(type, values.values())):
        known = dict(values)
    else:
        known = {
            name: values[name] for name in kinds if name in values and type(values[name]) in _VALUE_TYPES
        }
    if LAUNCHABLE.name in known:
        text = known[LAUNCHABLE.name]
        known[LAUNCHABLE.name] = parse_status(text) if isinstance(text, str) else None
    return StoredFacts(known, kinds)


@cache
def _named_kinds(backend: str | None) -> Mapping[str, FactKind]:
    return {kind.name: kind for kind in (FACT_KINDS if backend is None else kinds_for(backend))}
