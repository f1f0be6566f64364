"""`irscope bisect` as text: the conclusion, the evidence in tables, and the lines that changed."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.bisecting.bisection import Bisection
from irscope.bisecting.changes import Changes
from irscope.bisecting.conclusion import EvidenceTable, conclusion, evidence
from irscope.model.text import clipped, display_line, duration, one_line, pluralize
from irscope.report.terminal.rows_text import unified
from irscope.report.terminal.styles import PLAIN, Paint
from irscope.workspace import summarize

_CONTEXT = 1


def bisect_text(found: Bisection, most_rows: int, width: int | None, paint: Paint = PLAIN) -> Iterator[str]:
    """The lines; at most `most_rows` of the diff, and tables that fit `width` columns."""
    yield paint(one_line(f"{found.kernel} {found.target} {found.name}".rstrip()), "heading")
    yield from (one_line(line) for line in conclusion(found))
    for table in evidence(found):
        yield ""
        yield from _table(table, width, paint)
    for title, changes in titled_changes(found):
        yield ""
        yield paint(one_line(title), "heading")
        yield from (one_line(line) for line in python_lines(changes))
        rows = [display_line(line) for line in unified(changes.diff, _CONTEXT, strict=True)]
        yield from (clipped(row, width) if width else row for row in rows[:most_rows])
        yield from more_lines(len(rows) - most_rows)
    yield ""
    yield made_text(found)


def titled_changes(found: Bisection) -> Iterator[tuple[str, Changes]]:
    """The diffs to show, each with its title."""
    if found.source_cause is not None and found.source_cause.changes is not None:
        changes = found.source_cause.changes
        yield f"Lines of {changes.stage} that changed ({changes.inputs}): {summarize(changes.diff)}", changes
    if found.cause is not None and found.cause.changes is not None:
        changes = found.cause.changes
        yield f"Lines of {changes.stage} that changed ({changes.inputs}): {summarize(changes.diff)}", changes


def python_lines(changes: Changes) -> Iterator[str]:
    """The lines of Python that the changed operations come from."""
    for line in changes.python:
        yield f"{line.file}:{line.line}: {pluralize(line.operations, 'operation')}: {line.text}".rstrip(": ")


def more_lines(number: int) -> list[str]:
    """The line that ends a diff of which `number` lines are left out."""
    return [f"{pluralize(number, 'more line')}: --rows"] if number > 0 else []


def made_text(found: Bisection) -> str:
    """How much was built, and how long it took."""
    built = pluralize(found.built, "build") if found.built else "everything from the cache"
    return f"{built}, {duration(found.seconds)}"


def _table(table: EvidenceTable, width: int | None, paint: Paint) -> Iterator[str]:
    yield paint(table.title, "heading")
    rows = [tuple(map(one_line, row)) for row in (table.heading, *table.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.heading) - 1)]
    for number, row in enumerate(rows):
        cells = [*(cell.ljust(size) for cell, size in zip(row, widths, strict=False)), row[-1]]
        line = f"  {'  '.join(cells)}".rstrip()
        yield paint(clipped(line, width) if width else line, "" if number else "dim")
