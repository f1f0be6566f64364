"""JUnit XML, which Jenkins, GitLab and others show as test results: a test case per kernel and target.

There is no official schema; this is the subset that all of them read (testsuites, testsuite, testcase,
failure, error, system-out).
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from irscope.document.ci.problems import CiProblem, CiReport
from irscope.model.text import printable


def junit_lines(report: CiReport) -> Iterator[str]:
    """Yield the lines of the document."""
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
