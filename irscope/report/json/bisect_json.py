"""`irscope bisect --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from typing import Any

from irscope.bisecting.attributing import CutResult, Mixed
from irscope.bisecting.bisection import Bisection, Cause, SourceCause, VersionReading
from irscope.bisecting.changes import Changes
from irscope.bisecting.commits import CommitReading, CommitSearch
from irscope.bisecting.conclusion import conclusion
from irscope.bisecting.criteria import Reading
from irscope.bisecting.git import Commit
from irscope.bisecting.pass_search import PassResult
from irscope.report.json.records import json_value
from irscope.report.terminal.rows_text import unified
from irscope.workspace import summarize

SCHEMA = "irscope.bisect/1"


def bisect_document(found: Bisection, most_rows: int) -> dict[str, Any]:
    """The JSON document; it has at most `most_rows` lines of each diff."""
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
        "layers": list(cause.candidates),
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
        "summary": summarize(changes.diff),
        "lines": rows[:most_rows],
        "more_lines": max(len(rows) - most_rows, 0),
        "python": [
            {"file": line.file, "line": line.line, "text": line.text, "operations": line.operations}
            for line in changes.python
        ],
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
        "edits": [
            {"function": edit.function, "file": edit.file, "line": edit.line, "text": edit.text}
            for edit in cause.edits
        ],
        "divergence": cause.divergence or None,
        "stages": dict(cause.stages),
        "changes": None if cause.changes is None else _changes(cause.changes, most_rows),
    }
