"""`irscope explain` for a person."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from irscope.report.terminal.styles import Paint
from irscope.workspace import GlossaryEntry

# Longer lines are tiring to read, even if the terminal is wider.
_MAX_WIDTH = 100


def explain_text(entries: Sequence[GlossaryEntry], width: int | None, paint: Paint) -> Iterator[str]:
    """The lines of the entries, wrapped at `width` (None: at the maximum)."""
    wrap = min(width or _MAX_WIDTH, _MAX_WIDTH)
    for index, entry in enumerate(entries):
        if index:
            yield ""
        yield paint(entry.word, "heading") + f"  ({', '.join(entry.stages)})"
        yield from textwrap.wrap(entry.text, wrap)
        if entry.names:
            yield from textwrap.wrap(f"also: {', '.join(entry.names)}", wrap)
        if entry.related:
            yield from textwrap.wrap(f"related: {', '.join(entry.related)}", wrap)
        if entry.see:
            yield f"see: {entry.see.title}" + (f", {entry.see.url}" if entry.see.url else "")


def glossary_text(entries: Sequence[GlossaryEntry]) -> Iterator[str]:
    """A line per entry: the word, the stage that has it, and its first sentence."""
    width = max(len(entry.word) for entry in entries)
    for entry in entries:
        yield f"{entry.word:<{width}}  {entry.stages[0]:<6}  {entry.text.partition('. ')[0].rstrip('.')}"
