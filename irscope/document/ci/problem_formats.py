"""Problems as GitHub's annotations, JUnit XML, SARIF 2.1.0 (OASIS, 2020) and a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote, urlsplit
from xml.sax.saxutils import escape, quoteattr

import irscope
from irscope.document.ci.problems import ERROR, CiProblem, CiReport, Row
from irscope.model import UserError
from irscope.model.text import code, one_line, printable


def github_lines(report: CiReport) -> Iterator[str]:
    """Yield a workflow command per problem, error and note, then the summary.

    `::error file=kernels/matmul.py,line=53,title=...::message` marks a line of a pull request. GitHub shows
    ten errors, ten warnings and ten notices per step; the worst come first.
    https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
    """
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


def junit_lines(report: CiReport) -> Iterator[str]:
    """Yield the lines of JUnit XML: a test case per kernel and target.

    There is no official schema; this is the subset that Jenkins, GitLab and others read (testsuites,
    testsuite, testcase, failure, error, system-out).
    """
    by_subject: dict[str, list[CiProblem]] = {subject: [] for subject in report.subjects}
    for problem in report.problems:
        by_subject.setdefault(problem.subject, []).append(problem)
    failures = sum(bool(problems) for problems in by_subject.values())
    counts = (
        f'tests="{len(by_subject) + len(report.errors)}" failures="{failures}" errors="{len(report.errors)}"'
    )
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f"<testsuites {counts}>"
    yield f"  <testsuite name={_attribute(report.command)} {counts}>"
    for file, reason in report.errors:
        yield f"    <testcase name={_attribute(file or 'comparison')} classname={_attribute(report.command)}>"
        yield f"      <error message={_attribute(reason)}/>"
        yield "    </testcase>"
    for subject, problems in by_subject.items():
        yield from _case(report, subject, problems)
    lines = [*report.notes, report.summary]
    yield f"    <system-out>{_text(chr(10).join(lines))}</system-out>"
    yield "  </testsuite>"
    yield "</testsuites>"


def _case(report: CiReport, subject: str, problems: list[CiProblem]) -> Iterator[str]:
    head = f"    <testcase name={_attribute(subject)} classname={_attribute(report.command)}"
    if not problems:
        yield f"{head}/>"
        return
    location = f' file={_attribute(problems[0].file)} line="{problems[0].line}"' if problems[0].file else ""
    yield f"{head}{location}>"
    # Readers of JUnit show only the first failure of a test case.
    kinds = ", ".join(dict.fromkeys(problem.rule.name for problem in problems))
    message = _attribute("; ".join(problem.message for problem in problems))
    yield f"      <failure type={_attribute(kinds)} message={message}>"
    for problem in problems:
        where = f"{problem.file}:{problem.line}: " if problem.file else ""
        yield _text(f"{where}{problem.title}")
        yield from (f"  {_text(line)}" for line in problem.details)
    yield "      </failure>"
    yield "    </testcase>"


def _attribute(text: str) -> str:
    return quoteattr(_valid(text))


def _text(text: str) -> str:
    return escape(_valid(text))


def _valid(text: str) -> str:
    """`text` with only characters that XML 1.0 allows: no control codes, U+FFFE or U+FFFF."""
    return printable(text).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


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


_WORST = 5
# GitHub refuses comments of more than 65,536 characters.
_MAX_CHARACTERS = 60_000
_MAX_NOTES = 20


def markdown_lines(report: CiReport, url: str | None) -> Iterator[str]:
    """Yield the lines of a comment: the outcome, the worst five variants, the others collapsed, a link.

    `url` is the address of a full report. Everything from a capture is in code spans: GitHub turns `#3` and
    `@name` elsewhere into links and mentions.
    """
    yield f"### {report.command}: {'failed' if report.failed else 'passed'}"
    yield from ("", code(report.summary))
    if report.errors:
        yield ""
        yield from (f"- {code(f'{file}: {reason}' if file else reason)}" for file, reason in report.errors)
    if report.rows:
        yield ""
        yield from _table(report.rows[:_WORST])
    if rest := report.rows[_WORST:]:
        yield from _details(f"{len(rest):,} more", _table(rest))
    if report.notes:
        notes = [f"- {code(note)}" for note in report.notes[:_MAX_NOTES]]
        if len(report.notes) > _MAX_NOTES:
            notes.append(f"- {len(report.notes) - _MAX_NOTES} more")
        yield from _details("Not matched, and edits", notes)
    if url:
        yield from ("", f"[Full report]({checked_url(url)})")


def checked_url(url: str) -> str:
    """`url` for a Markdown link. Raises UserError if it is not an http or https address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UserError(f"--report-url: '{one_line(url)}' is not an http or https address")
    return quote(url, safe=":/?#@!$&'*+,;=%-._~")


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield "| where | condition | which | result |"
    yield "| --- | --- | --- | --- |"
    size = 0
    for index, row in enumerate(rows):
        line = f"| {' | '.join(map(code, row))} |"
        size += len(line)
        if size > _MAX_CHARACTERS:
            yield ""
            yield f"{len(rows) - index} more are omitted; the JSON has all"
            return
        yield line


def _details(title: str, lines: Sequence[str] | Iterator[str]) -> Iterator[str]:
    yield from ("", f"<details><summary>{title}</summary>", "")
    yield from lines
    yield from ("", "</details>")
