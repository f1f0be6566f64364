"""The comparison table as CSV, JSON and Markdown: every column, whatever the width."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from irscope.facts.fact import FactKind, FactValue
from irscope.model import format_value
from irscope.model.text import code, one_line
from irscope.report.json.records import json_value, variant_record
from irscope.workspace.table import TableEntry, TableSection, best, config_names

SCHEMA = "irscope.table/1"


def table_document(
    sections: Sequence[TableSection], kinds: Sequence[FactKind], capture: str
) -> dict[str, Any]:
    """The JSON document of `irscope table`; a fact that could not be had is null."""
    return {
        "schema": SCHEMA,
        "capture": capture,
        "columns": [kind.to_json() for kind in kinds],
        "variants": [_record(entry, kinds) for section in sections for entry in section.entries],
    }


def table_csv(sections: Sequence[TableSection], kinds: Sequence[FactKind]) -> str:
    """One line a variant under one heading; a fact that could not be had is empty."""
    configs = list(
        dict.fromkeys(
            name for s in sections for entry in s.entries for name, _ in entry.variant.config.values
        )
    )
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    heading = ["id", "kernel", "target", "variant", *configs, *(kind.name for kind in kinds)]
    writer.writerow(map(_csv_cell, [*heading, "problem", "same_code_as"]))
    for entry in (entry for section in sections for entry in section.entries):
        variant = entry.variant
        values = dict(variant.config.values)
        writer.writerow(
            map(
                _csv_cell,
                [
                    variant.id,
                    variant.kernel.name,
                    str(variant.target),
                    entry.name,
                    *(format_value(values[name]) if name in values else None for name in configs),
                    *(entry.value(kind.name) for kind in kinds),
                    entry.problem,
                    entry.twin,
                ],
            )
        )
    return file.getvalue()


def table_markdown(section: TableSection, kinds: Sequence[FactKind]) -> str:
    """A section as a GitHub table; the best value is bold, those with a problem are listed below."""
    configs = config_names(section)
    heading = ["#", *map(code, configs), *(kind.title for kind in kinds), "note"]
    lines = [
        f"### {code(section.kernel)} {section.target}",
        "",
        _markdown_row(heading),
        _markdown_row(["---"] * len(heading)),
    ]
    tops = {kind.name: best(section, kind) for kind in kinds}
    for entry in section.entries:
        values = dict(entry.variant.config.values)
        cells = [code(f"#{entry.variant.id}")]  # GitHub takes a bare #1 for an issue
        cells += [code(format_value(values[name])) if name in values else "" for name in configs]
        cells += [_markdown_fact(entry, kind, tops[kind.name]) for kind in kinds]
        twin = f"code of {code(f'#{entry.twin}')}" if entry.twin else ""
        cells.append(code(entry.problem) if entry.problem else twin)
        lines.append(_markdown_row(cells))
    return "\n".join(lines) + "\n"


def _record(entry: TableEntry, kinds: Sequence[FactKind]) -> dict[str, Any]:
    return {
        **variant_record(entry.variant, entry.name),
        "problem": entry.problem or None,
        "same_code_as": entry.twin,
        "facts": {kind.name: json_value(entry.value(kind.name)) for kind in kinds},
    }


def _markdown_fact(entry: TableEntry, kind: FactKind, top: FactValue) -> str:
    value = entry.value(kind.name)
    if value is None:
        return "" if entry.variant.failure else "?"
    text = code(value) if isinstance(value, str) else str(entry.facts[kind.name])
    return f"**{text}**" if top is not None and value == top and not entry.problem else text


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _csv_cell(value: FactValue) -> FactValue:
    """`value` so that a spreadsheet takes it for text, not for a formula."""
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
