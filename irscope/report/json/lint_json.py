"""`irscope lint --format json`; docs/json-schemas.md describes it."""

from __future__ import annotations

from typing import Any

from irscope.workspace import LintResult

SCHEMA = "irscope.lint/1"


def lint_document(result: LintResult) -> dict[str, Any]:
    """The JSON document."""
    return {
        "schema": SCHEMA,
        "files": result.files,
        "unread": [{"file": file, "reason": reason} for file, reason in result.unread],
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
            for problem in result.problems
        ],
    }
