"""The comparison table as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from irscope.model.text import one_line
from irscope.workspace import FactKind, FactValue, TableSection


def table_csv(sections: Sequence[TableSection], kinds: Sequence[FactKind]) -> Iterator[str]:
    """Yield a line per variant under one heading; an unknown fact is empty."""
    configs = list(dict.fromkeys(column.name for section in sections for column in section.other_columns))
    writer = csv.writer(_LineFile(), lineterminator="\n")
    facts = [kind.name for kind in kinds]
    heading = ["id", "kernel", "target", "variant", *configs, *facts, "problem", "same_code_as"]
    yield writer.writerow(map(_cell, heading))
    for section in sections:
        texts = {column.name: section.cells(column) for column in section.other_columns}
        for index, variant in enumerate(section.variants):
            row: list[FactValue] = [variant.id, section.kernel, section.target, section.names[variant.id]]
            row += [texts[name][index].text or None if name in texts else None for name in configs]
            row += [section.facts.value(variant.id, name) for name in facts]
            problem, duplicate = section.facts.problem(variant), section.facts.duplicate_of(variant)
            yield writer.writerow(map(_cell, [*row, problem, duplicate]))


class _LineFile:
    """A file whose `write` returns the line, which `writerow` then returns."""

    def write(self, line: str) -> str:
        """Return the line."""
        return line


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
