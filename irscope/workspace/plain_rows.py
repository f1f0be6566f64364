"""The comparison table as plain dicts, for Python and data frames."""

from __future__ import annotations

from collections.abc import Sequence

from irscope.facts.fact import FactValue
from irscope.facts.registry import kinds_for
from irscope.model import Value, format_value
from irscope.workspace.table_kinds import with_estimates
from irscope.workspace.table_sections import TableSection

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
        kinds = with_estimates([entry], kinds_for(variant.target.backend))
        facts = {kind.name: _plain(entry.value(kind.name)) for kind in kinds}
        taken = {*row, *facts, "problem", "duplicate_of"}
        for name, value in entry.chosen.items():
            row[f"config.{name}" if name in taken else name] = _plain(value)
        row |= facts
        row |= {"problem": entry.problem or None, "duplicate_of": entry.duplicate_of}
        rows.append(row)
    return rows


def _plain(value: FactValue | Value) -> PlainValue:
    if isinstance(value, tuple):
        return format_value(value)
    return value if isinstance(value, int | float | str | None) else str(value)
