"""`irscope lint --format sarif`: SARIF 2.1.0 (OASIS, 2020), which code hosts read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

import irscope
from irscope.model.text import printable
from irscope.workspace import Diagnostic, LintResult, Rule

SARIF_VERSION = "2.1.0"
SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif_document(result: LintResult, rules: Sequence[Rule]) -> dict[str, Any]:
    """The problems as SARIF; `rules` are all rules, whether they found something or not."""
    index_of = {rule: index for index, rule in enumerate(rules)}
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
        "executionSuccessful": not result.unread,
        "toolExecutionNotifications": [
            {"level": "error", "message": {"text": printable(f"{file}: {reason}")}}
            for file, reason in result.unread
        ],
    }
    results = [_result(problem, index_of[problem.rule]) for problem in result.problems]
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
    """A path as a URI reference, relative if the path is relative."""
    path = PurePath(file)
    return quote(path.as_posix()) if not path.is_absolute() else path.as_uri()
