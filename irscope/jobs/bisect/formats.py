"""`irscope bisect` as text: the conclusion, the evidence in tables, and the lines that changed.

`irscope bisect --format markdown`: a report to paste into an issue.

`irscope bisect --format json`; docs/json-schemas.md describes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from irscope.document.json.records import json_value
from irscope.document.markdown.document_markdown import folded
from irscope.document.terminal.row_text import unified
from irscope.document.terminal.styles import PLAIN, Paint
from irscope.jobs.bisect.attribution import CutResult, Mixed
from irscope.jobs.bisect.bisection import Bisection, Cause, SourceCause, VersionReading
from irscope.jobs.bisect.changes import Changes
from irscope.jobs.bisect.commits import CommitReading, CommitSearch
from irscope.jobs.bisect.conclusion import EvidenceTable, conclusion, evidence
from irscope.jobs.bisect.criteria import Reading
from irscope.jobs.bisect.pass_search import PassResult
from irscope.jobs.repository import Commit
from irscope.model.text import clipped, code, display_line, duration, markdown_escaped, one_line, pluralize

_CONTEXT = 1


def bisect_text(found: Bisection, most_rows: int, width: int | None, paint: Paint = PLAIN) -> Iterator[str]:
    """Yield the lines; at most `most_rows` of the diff, and tables that fit `width` columns."""
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
    """Yield the diffs to show, each with its title."""
    for cause in (found.source_cause, found.cause):
        if cause is not None and (changes := cause.changes) is not None:
            title = f"Lines of {changes.stage} that changed ({changes.inputs}): {changes.diff.summary}"
            yield title, changes


def python_lines(changes: Changes) -> Iterator[str]:
    """Yield the lines of Python that the changed operations come from."""
    for line in changes.python:
        yield f"{line.file}:{line.line}: {pluralize(line.operations, 'operation')}: {line.text}".rstrip(": ")


def more_lines(number: int) -> list[str]:
    """Return the line that ends a diff of which `number` lines are left out."""
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


def bisect_markdown(found: Bisection, most_rows: int) -> Iterator[str]:
    """Yield the lines: the conclusion, then the evidence in tables and in blocks that a page can fold."""
    yield f"### {code(found.kernel)} {found.target}"
    yield from ("", code(found.name)) if found.name else ()
    yield ""
    yield from (f"- {markdown_escaped(line)}" for line in conclusion(found))
    for table in evidence(found):
        yield from _markdown_table(table)
    for title, changes in titled_changes(found):
        yield from ("", f"**{markdown_escaped(title)}**", "")
        yield from (f"- {markdown_escaped(line)}" for line in python_lines(changes))
        rows = list(unified(changes.diff, _CONTEXT, strict=True))
        shown = [*rows[:most_rows], *more_lines(len(rows) - most_rows)]
        yield from ("", *folded(f"{changes.stage}, good to bad", shown))
    yield from ("", f"Made by irscope bisect: {made_text(found)}.")


def _markdown_table(table: EvidenceTable) -> Iterator[str]:
    yield from ("", f"**{markdown_escaped(table.title)}**", "")
    yield _row(table.heading)
    yield _row(["---"] * len(table.heading), escaped=True)
    yield from (_row(row) for row in table.rows)


def _row(cells: tuple[str, ...] | list[str], escaped: bool = False) -> str:
    return f"| {' | '.join(cell if escaped else markdown_escaped(cell) for cell in cells)} |"


SCHEMA = "irscope.bisect/1"


def bisect_document(found: Bisection, most_rows: int) -> dict[str, Any]:
    """Return the JSON document; it has at most `most_rows` lines of each diff."""
    return {
        "schema": SCHEMA,
        "kernel": found.kernel,
        "target": found.target,
        "config": found.name,
        "criterion": found.criterion.text,
        "conclusion": conclusion(found),
        "versions": [_version(one) for one in found.versions],
        "worse": [list(pair) for pair in found.worse],
        "cause": None if found.cause is None else _cause(found.cause, most_rows),
        "commits": None if found.commits is None else _commits(found.commits, found.toolchain),
        "source": None if found.source_cause is None else _source(found.source_cause, most_rows),
        "interrupted": found.interrupted or None,
        "built": found.built,
        "seconds": round(found.seconds, 3),
    }


def _reading(reading: Reading | None) -> Any:
    return None if reading is None else json_value(reading.value)


def _version(one: VersionReading) -> dict[str, Any]:
    return {
        "version": one.label,
        "value": _reading(one.reading),
        "problem": one.problem or None,
        "tools": dict(one.tools),
    }


def _cause(cause: Cause, most_rows: int) -> dict[str, Any]:
    layers = cause.layers
    span = layers.located.span
    return {
        "good": cause.good,
        "bad": cause.bad,
        "values": [_reading(cause.pair.good.reading), _reading(cause.pair.bad.reading)],
        "layer": layers.layer,
        "layers": list(cause.layers.layers),
        "step": layers.step or None,
        "share": None if span is None else round(span.share, 3),
        "reason": layers.located.reason or None,
        "swaps": [_cut(cut) for cut in layers.cuts],
        "pass": None if cause.passes is None else _passes(cause.passes),
        "stages": dict(cause.stages),
        "changes": None if cause.changes is None else _changes(cause.changes, most_rows),
    }


def _cut(cut: CutResult) -> dict[str, Any]:
    return {
        "stage": cut.name,
        "good_to_bad": _mixed(cut.good_to_bad),
        "bad_to_good": _mixed(cut.bad_to_good),
        "problem": cut.problem or None,
    }


def _mixed(result: Mixed) -> dict[str, Any]:
    return {
        "value": result.text or None,
        "badness": result.badness,
        "problem": result.problem or None,
        "note": result.note or None,
    }


def _passes(found: PassResult) -> dict[str, Any]:
    return {
        "name": found.name,
        "candidates": list(found.candidates),
        "reason": found.reason or None,
        "options": list(found.options),
        "swaps": [
            {"after": test.after, "good_to_bad": test.good_to_bad, **_mixed(test.result)}
            for test in found.tests
        ],
    }


def _changes(changes: Changes, most_rows: int) -> dict[str, Any]:
    rows = list(unified(changes.diff, 1, strict=True))
    return {
        "stage": changes.stage,
        "inputs": changes.inputs,
        "summary": changes.diff.summary,
        "lines": rows[:most_rows],
        "more_lines": max(len(rows) - most_rows, 0),
        "python": [asdict(line) for line in changes.python],
    }


def _commits(search: CommitSearch, toolchain: str) -> dict[str, Any]:
    return {
        "toolchain": toolchain,
        "first_bad": None if search.first_bad is None else _commit(search.first_bad),
        "good": None if search.good_commit is None else _commit(search.good_commit),
        "candidates": [_commit(commit) for commit in search.candidates],
        "reason": search.reason or None,
        "tested": [_tested(one) for one in search.tested],
    }


def _tested(one: CommitReading) -> dict[str, Any]:
    return {**_commit(one.commit), "value": _reading(one.reading), "problem": one.problem or None}


def _commit(commit: Commit) -> dict[str, Any]:
    return {"sha": commit.sha, "subject": commit.subject, "author": commit.author, "date": commit.date}


def _source(cause: SourceCause, most_rows: int) -> dict[str, Any]:
    return {
        "edits": [asdict(edit) for edit in cause.edits],
        "divergence": cause.divergence or None,
        "stages": dict(cause.stages),
        "changes": None if cause.changes is None else _changes(cause.changes, most_rows),
    }
