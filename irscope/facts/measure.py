"""Measuring the facts of one variant, and their JSON form.

Makes the rows of facts of a capture, which share their names and equal texts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from irscope.facts.fact import Fact, FactKind, FactRow, FactValue, ReadStage
from irscope.facts.registry import FACT_KINDS, LAUNCHABLE, kinds_for
from irscope.model import Status, Variant
from irscope.model.status import parse_status

# The types that the JSON values of facts have.
_TYPES = frozenset((int, float, str, type(None), bool))
# The types of a column of texts, of which some may be unknown.
_TEXTS = ({str}, {str, type(None)})
# So many texts of a fact are held once for all rows.
_MOST_SHARED = 2000


class FactColumns:
    """The facts that the rows of a backend have, in table order, and the texts that they share."""

    def __init__(self, backend: str, kinds: Sequence[FactKind]) -> None:
        self.backend, self.kinds = backend, tuple(kinds)
        names = [kind.name for kind in self.kinds]
        self._places = {name: position for position, name in enumerate(names)}
        self._shared: list[dict[FactValue, FactValue]] = [{} for _ in names]
        self._make = [_status if kind is LAUNCHABLE else _same for kind in self.kinds]

    def rows(self, columns: Mapping[str, Sequence[Any]]) -> list[FactRow] | None:
        """Return the rows of facts by column, as JSON has them, or None if a value is damaged.

        Raises KeyError if a fact was not measured.
        """
        checked = [self._checked(position, columns[kind.name]) for position, kind in enumerate(self.kinds)]
        if None in checked:
            return None
        return [FactRow(self.kinds, self._places, values) for values in zip(*checked, strict=True)]

    def _checked(self, place: int, column: Sequence[Any]) -> Sequence[FactValue] | None:
        """Return the values of a fact, of which equal texts are one object; None if one is damaged."""
        types = set(map(type, column))
        if not _TYPES.issuperset(types):
            return None
        if self.kinds[place] is not LAUNCHABLE and types not in _TEXTS:
            return column
        shared = self._shared[place]
        values = {text: shared[text] if text in shared else self._new(place, text) for text in set(column)}
        return [values[text] for text in column]

    def _new(self, place: int, text: FactValue) -> FactValue:
        value = self._make[place](text)
        if len(self._shared[place]) < _MOST_SHARED:
            self._shared[place][text] = value
        return value


def _same(text: FactValue) -> FactValue:
    return text


def _status(text: FactValue) -> FactValue:
    return parse_status(text) if isinstance(text, str) else None


__all__ = ["FACTS_VERSION", "FACT_KINDS", "from_json", "measure", "to_json"]

# Count up whenever the JSON value of a fact changes, so that stored facts are measured again. A new fact
# needs no new version: variants whose stored facts lack it are measured again.
FACTS_VERSION = 5

_VALUE_TYPES = (int, float, str, type(None))


def measure(variant: Variant, read: ReadStage, only: Collection[FactKind] | None = None) -> dict[str, Fact]:
    """Measure every fact that applies to the variant's backend, or `only` some, by name in table order.

    `read` returns a stage's content. A fact whose artifact is missing has the value None. Takes a
    few milliseconds: nothing is disassembled or parsed.
    """
    from irscope.facts.artifacts import VariantArtifacts

    measurement = VariantArtifacts(variant, read)
    kinds = (kind for kind in kinds_for(variant.target.backend) if only is None or kind in only)
    measurements = ((kind, kind.measure(measurement)) for kind in kinds)
    return {kind.name: Fact(kind, measured.value, measured.evidence) for kind, measured in measurements}


def to_json(facts: Mapping[str, Fact]) -> dict[str, int | float | str | None]:
    """Return the facts as {name: value}, without evidence; a Status is "yes" or "no: REASON"."""
    return {name: json_value(fact.value) for name, fact in facts.items()}


def json_value(value: FactValue) -> int | float | str | None:
    """Return a fact's value as JSON has it."""
    return str(value) if isinstance(value, Status) else value


def from_json(values: Mapping[str, Any], backend: str | None = None) -> dict[str, Fact]:
    """Return the facts that `to_json` wrote, in table order; skip unknown names and malformed values.

    `backend` is that of the variant; without one, the facts that a plug-in adds are unknown.
    """
    kinds = FACT_KINDS if backend is None else kinds_for(backend)
    facts = {
        kind.name: Fact(kind, values[kind.name])
        for kind in kinds
        if kind.name in values and isinstance(values[kind.name], _VALUE_TYPES)
    }
    if LAUNCHABLE.name in facts:
        text = values[LAUNCHABLE.name]
        facts[LAUNCHABLE.name] = Fact(LAUNCHABLE, parse_status(text) if isinstance(text, str) else None)
    return facts


def rows_from_json(
    stored: Mapping[str, Sequence[Any]], columns: FactColumns
) -> Sequence[Mapping[str, Fact]] | None:
    """Return the facts of several variants that `to_json` wrote, by name; None if one is missing."""
    try:
        rows = columns.rows(stored)
    except KeyError:
        return None
    if rows is not None:
        return rows
    documents = (dict(zip(stored, values, strict=True)) for values in zip(*stored.values(), strict=True))
    return [from_json(values, columns.backend) for values in documents]
