"""`irscope lint` as a report for continuous integration."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from irscope.model.text import one_line
from irscope.report.ci.problems import WARNING, CiProblem, CiReport, CiRule, fingerprint
from irscope.report.terminal.lint_text import lint_text
from irscope.workspace import Diagnostic, LintResult, Rule, relative_file


def lint_report(result: LintResult, rules: Sequence[Rule]) -> CiReport:
    """The report on the problems that rules found; `rules` are all rules, whether they found any or not."""
    known = {
        rule: CiRule(rule.code, rule.name, rule.summary, f"irscope explain {rule.name}") for rule in rules
    }
    return CiReport(
        command="irscope lint",
        rules=tuple(known.values()),
        subjects=[one_line(relative_file(path)) for path in result.paths],
        problems=_numbered([_problem(one, known[one.rule]) for one in result.problems]),
        rows=[
            (one_line(relative_file(one.file)), one.rule.name, f"line {one.line}", one_line(one.message))
            for one in result.problems
        ],
        summary=list(lint_text(result))[-1],
        errors=[(one_line(relative_file(file)), one_line(reason)) for file, reason in result.unread],
    )


def _problem(found: Diagnostic, rule: CiRule) -> CiProblem:
    file = relative_file(found.file)
    return CiProblem(
        rule=rule,
        level=WARNING,
        subject=one_line(file),
        file=file,
        line=max(found.line, 1),
        column=max(found.column, 1),
        title=f"{rule.code} {rule.name}",
        message=one_line(f"{found.message}. {found.fix}"),
        details=(one_line(found.message), one_line(found.fix)),
        # Line numbers in the message move with unrelated edits.
        fingerprint=fingerprint(rule.code, file, re.sub(r"\d+", "0", found.message)),
    )


def _numbered(problems: Sequence[CiProblem]) -> list[CiProblem]:
    """The problems with fingerprints that differ: the second of the same kind in a file gets a number."""
    seen: Counter[str] = Counter()
    numbered = []
    for problem in problems:
        number = seen[problem.fingerprint]
        seen[problem.fingerprint] += 1
        own = fingerprint(problem.fingerprint, str(number)) if number else problem.fingerprint
        numbered.append(replace(problem, fingerprint=own))
    return numbered
