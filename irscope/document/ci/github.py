"""Annotations of GitHub Actions: workflow commands that a job prints.

`::error file=kernels/matmul.py,line=53,title=...::message` marks a line of a pull request. GitHub shows ten
errors, ten warnings and ten notices per step; the worst come first.
https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from collections.abc import Iterator

from irscope.document.ci.problems import ERROR, CiProblem, CiReport
from irscope.model.text import printable


def github_lines(report: CiReport) -> Iterator[str]:
    """Yield a workflow command per problem, error and note, then the summary."""
    for file, reason in report.errors:
        yield _command(ERROR, reason, file=file, title=f"{report.command}: incomplete")
    yield from map(_annotation, report.problems)
    yield from (_command("notice", note, title=report.command) for note in report.notes)
    yield printable(f"{report.command}: {report.summary}")


def _annotation(problem: CiProblem) -> str:
    message = "\n".join(problem.details) if len(problem.details) > 1 else problem.message
    position = {"line": str(problem.line), "col": str(problem.column)} if problem.file else {}
    return _command(problem.level, message, file=problem.file, **position, title=problem.title)


def _command(level: str, message: str, **properties: str) -> str:
    parameters = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{level} {parameters}::{_data(message)}"


def _data(text: str) -> str:
    """Escaped as the runner decodes it, so that no text starts another command."""
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
