"""`irscope lint` for a person."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.model.text import one_line, pluralize
from irscope.report.terminal.styles import PLAIN, Paint
from irscope.workspace import LintResult, relative_file


def lint_text(result: LintResult, paint: Paint = PLAIN) -> Iterator[str]:
    """Two lines per problem, then the total."""
    for problem in result.problems:
        place = one_line(f"{relative_file(problem.file)}:{problem.line}:{problem.column}:")
        rule = f"{problem.rule.code} {problem.rule.name}:"
        yield f"{place} {paint(rule, 'warning')} {one_line(problem.message)}"
        yield f"    {one_line(problem.fix)}"
    files = pluralize(result.files, "file")
    if result.problems:
        yield f"{pluralize(len(result.problems), 'problem')} in {files}"
    else:
        yield f"{files}: no problems found"
