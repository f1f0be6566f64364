"""`irscope lint` as text, JSON and SARIF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

import irscope
from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.model.text import one_line, pluralize, printable
from irscope.report.terminal.paint import PLAIN, Paint

SCHEMA = "irscope.lint/1"
SARIF_VERSION = "2.1.0"
SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


@dataclass(frozen=True)
class Linted:
    """What was linted: the number of `files` (a capture is one) and the `problems`, in order.

    `unread` are the files that could not be read, each with why.
    """

    files: int
    problems: Sequence[Diagnostic]
    unread: Sequence[tuple[str, str]] = ()


def lint_text(linted: Linted, paint: Paint = PLAIN) -> Iterator[str]:
    """Two lines for each problem, then how many there are."""
    for problem in linted.problems:
        place = one_line(f"{problem.file}:{problem.line}:{problem.column}:")
        rule = f"{problem.rule.code} {problem.rule.name}:"
        yield f"{place} {paint(rule, 'warning')} {one_line(problem.message)}"
        yield f"    {one_line(problem.fix)}"
    files = pluralize(linted.files, "file")
    if linted.problems:
        yield f"{pluralize(len(linted.problems), 'problem')} in {files}"
    else:
        yield f"{files}: nothing found"


def lint_document(linted: Linted) -> dict[str, Any]:
    """The JSON document; docs/json-schemas.md describes it."""
    return {
        "schema": SCHEMA,
        "files": linted.files,
        "unread": [{"file": file, "reason": reason} for file, reason in linted.unread],
        "problems": [
            {
                "code": problem.rule.code,
                "rule": problem.rule.name,
                "file": problem.file,
                "line": problem.line,
                "column": problem.column,
                "message": problem.message,
                "fix": problem.fix,
            }
            for problem in linted.problems
        ],
    }


def sarif_document(linted: Linted, rules: Sequence[Rule]) -> dict[str, Any]:
    """The problems in SARIF 2.1.0 (OASIS, 2020), as code hosts read them; `rules` are all there are."""
    at = {rule: index for index, rule in enumerate(rules)}
    driver = {
        "name": "irscope",
        "version": irscope.__version__,
        "rules": [
            {
                "id": rule.code,
                "name": rule.name,
                "shortDescription": {"text": rule.summary},
                "help": {"text": f"irscope explain {rule.name}"},
            }
            for rule in rules
        ],
    }
    invocation = {
        "executionSuccessful": not linted.unread,
        "toolExecutionNotifications": [
            {"level": "error", "message": {"text": printable(f"{file}: {reason}")}}
            for file, reason in linted.unread
        ],
    }
    results = [_result(problem, at[problem.rule]) for problem in linted.problems]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": results,
    }
    return {"$schema": SARIF_SCHEMA, "version": SARIF_VERSION, "runs": [run]}


def _result(problem: Diagnostic, index: int) -> dict[str, Any]:
    return {
        "ruleId": problem.rule.code,
        "ruleIndex": index,
        "level": "warning",
        "message": {"text": printable(f"{problem.message}. {problem.fix}")},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(problem.file)},
                    "region": {"startLine": max(problem.line, 1), "startColumn": max(problem.column, 1)},
                }
            }
        ],
    }


def _uri(file: str) -> str:
    """A path as a URI reference, relative where the path is."""
    path = PurePath(file)
    return quote(path.as_posix()) if not path.is_absolute() else path.as_uri()
