"""The comparison table as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence

from irscope.model import Value, format_value
from irscope.model.text import one_line
from irscope.workspace import FactKind, FactValue, TableSection


def table_csv(sections: Sequence[TableSection], kinds: Sequence[FactKind]) -> Iterator[str]:
    """Yield a line per variant under one heading; an unknown fact is empty."""
    entries = [entry for section in sections for entry in section.entries]
    configs = list(dict.fromkeys(name for entry in entries for name in entry.chosen))
    writer = csv.writer(_LineFile(), lineterminator="\n")
    facts = [kind.name for kind in kinds]
    heading = ["id", "kernel", "target", "variant", *configs, *facts, "problem", "same_code_as"]
    yield writer.writerow(map(_cell, heading))
    for entry in entries:
        variant = entry.variant
        values = entry.chosen
        row: list[FactValue] = [variant.id, variant.kernel.name, str(variant.target), entry.name]
        row += [_config(values, name) for name in configs]
        row += [entry.value(name) for name in facts]
        yield writer.writerow(map(_cell, [*row, entry.problem, entry.duplicate_of]))


class _LineFile:
    """A file whose `write` returns the line, which `writerow` then returns."""

    def write(self, line: str) -> str:
        """Return the line."""
        return line


def _config(values: Mapping[str, Value], name: str) -> str | None:
    return format_value(values[name]) if name in values else None


def _cell(value: FactValue) -> FactValue:
    """`value` so that a spreadsheet treats it as text and not as a formula."""
    if not isinstance(value, str):
        return value
    text = one_line(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
