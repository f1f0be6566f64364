"""SARIF 2.1.0 (OASIS, 2020), which code hosts read."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any
from urllib.parse import quote

import irscope
from irscope.document.ci.problems import CiProblem, CiReport
from irscope.model.text import printable

SARIF_VERSION = "2.1.0"
SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# The name of the fingerprint; its version changes if it is computed in another way.
_FINGERPRINT = "irscope/v1"


def sarif_document(report: CiReport) -> dict[str, Any]:
    """Return the report as SARIF."""
    index_of = {rule: index for index, rule in enumerate(report.rules)}
    driver = {
        "name": "irscope",
        "version": irscope.__version__,
        "rules": [
            {
                "id": rule.code,
                "name": rule.name,
                "shortDescription": {"text": rule.summary},
                "help": {"text": rule.help},
            }
            for rule in report.rules
        ],
    }
    notifications = [("error", f"{file}: {reason}" if file else reason) for file, reason in report.errors]
    notifications += [("note", note) for note in report.notes]
    invocation = {
        "executionSuccessful": not report.errors,
        "toolExecutionNotifications": [
            {"level": level, "message": {"text": printable(text)}} for level, text in notifications
        ],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": [_result(problem, index_of[problem.rule]) for problem in report.problems],
    }
    return {"$schema": SARIF_SCHEMA, "version": SARIF_VERSION, "runs": [run]}


def _result(problem: CiProblem, index: int) -> dict[str, Any]:
    details = len(problem.details) > 1 and problem.level == "error"
    lines = [problem.message, *problem.details] if details else [problem.message]
    result: dict[str, Any] = {
        "ruleId": problem.rule.code,
        "ruleIndex": index,
        "level": problem.level,
        "message": {"text": printable("\n".join(lines))},
        "partialFingerprints": {_FINGERPRINT: problem.fingerprint},
    }
    if problem.file:
        region = {"startLine": problem.line, "startColumn": problem.column}
        artifact = {"uri": _uri(problem.file)}
        result["locations"] = [{"physicalLocation": {"artifactLocation": artifact, "region": region}}]
    return result


def _uri(file: str) -> str:
    """Return a path as a URI reference, relative if the path is relative."""
    path = PurePath(file)
    return quote(path.as_posix(), errors="replace") if not path.is_absolute() else path.as_uri()
