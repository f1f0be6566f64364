"""`irscope table --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from irscope.report.json.records import json_value, variant_record
from irscope.report.json.stream import Records
from irscope.workspace import FactKind, TableEntry, TableSection

SCHEMA = "irscope.table/1"


def table_document(
    sections: Sequence[TableSection], kinds: Sequence[FactKind], capture: str
) -> dict[str, Any]:
    """The JSON document; an unknown fact is null."""
    return {
        "schema": SCHEMA,
        "capture": capture,
        "columns": [kind.to_json() for kind in kinds],
        "variants": Records(
            [entry for section in sections for entry in section.entries], partial(_entry, kinds=kinds)
        ),
    }


def _entry(entry: TableEntry, kinds: Sequence[FactKind]) -> dict[str, Any]:
    return {
        **variant_record(entry.variant, entry.name),
        "problem": entry.problem or None,
        "same_code_as": entry.duplicate_of,
        "facts": {kind.name: json_value(entry.value(kind.name)) for kind in kinds},
    }
