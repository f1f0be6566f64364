"""`irscope explain --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irscope.workspace import GlossaryEntry

SCHEMA = "irscope.explain/1"


def explain_document(entries: Sequence[GlossaryEntry]) -> dict[str, Any]:
    """The JSON document."""
    return {"schema": SCHEMA, "entries": list(map(_entry, entries))}


def _entry(entry: GlossaryEntry) -> dict[str, Any]:
    return {
        "word": entry.word,
        "names": list(entry.names),
        "stages": list(entry.stages),
        "text": entry.text,
        "related": list(entry.related),
        "see": {"title": entry.see.title, "url": entry.see.url or None} if entry.see else None,
    }
