"""`irscope diff --fail-on` and `irscope check` as reports for continuous integration.

`irscope lint` as a report for continuous integration.

One report in each format for continuous integration.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from irscope.document.ci.problem_formats import github_lines, junit_lines, markdown_lines, sarif_document
from irscope.document.ci.problems import (
    WARNING,
    CiProblem,
    CiReport,
    CiRule,
    VariantProblem,
    fingerprint,
    grouped,
    rows_of,
    subject_of,
)
from irscope.document.json.records import to_json
from irscope.document.variant_content import lint_summary
from irscope.model.files import relative_file
from irscope.model.text import one_line
from irscope.workspace import Diagnostic, GateResult, LintResult
from irscope.workspace.conditions import CheckResult
from irscope.workspace.gate import Violation

_EXPECTATION = CiRule(
    "IRS301",
    "expectation",
    "An expectation about a variant's facts does not hold",
    "irscope table CAPTURE shows the facts; change the kernel, its configs or the expectation",
)
_LIMIT = CiRule(
    "IRS401",
    "fact-limit",
    "A fact of a variant is beyond a limit",
    "irscope diff OLD NEW shows what changed; spills>+0 ignores those of OLD",
)
_CHANGE = CiRule(
    "IRS402",
    "fact-change",
    "A fact of a variant moved too far",
    "irscope diff OLD NEW shows what changed, and the edits of the kernel that changed it",
)
_WORDS = {
    "worse": CiRule(
        "IRS403", "worse", "A fact of a variant got worse", "irscope diff OLD NEW shows what changed and why"
    ),
    "new-failures": CiRule(
        "IRS404",
        "new-failure",
        "A variant no longer compiles or launches",
        "irscope list NEW shows the compiler's messages",
    ),
    "changed": CiRule(
        "IRS405",
        "changed-code",
        "A variant has other machine code",
        "merge both captures, then compare the two variants with irscope diff",
    ),
    "bits": CiRule(
        "IRS408",
        "other-bits",
        "A variant computes other bits from the same inputs",
        "irscope diff OLD NEW shows the edits; merge both captures, then irscope bits shows what decides",
    ),
    "removed": CiRule(
        "IRS406", "removed-variant", "A variant of OLD has no counterpart", "add the config or launch again"
    ),
    "added": CiRule(
        "IRS407", "added-variant", "A variant of NEW has no counterpart", "compile OLD for the same configs"
    ),
}
GATE_RULES = (_LIMIT, _CHANGE, *_WORDS.values())


def gate_report(result: GateResult) -> CiReport:
    """Return the report on a gate."""
    problems = list(map(_of_violation, result.violations))
    return CiReport(
        command="irscope diff",
        rules=GATE_RULES,
        subjects=_subjects(result),
        problems=grouped(problems),
        rows=rows_of(problems),
        summary=result.summary,
        errors=[("", one_line(problem)) for problem in result.problems],
        notes=[
            one_line(note)
            for note in (*result.unchecked, *result.notes, *(f"{k}, {text}" for k, text in result.edits))
        ],
    )


def _subjects(result: GateResult) -> list[str]:
    return list(dict.fromkeys(one_line(subject_of(variant)) for variant in result.variants))


def _of_violation(found: Violation) -> VariantProblem:
    condition = found.condition
    rule = _WORDS.get(condition.text) or (_CHANGE if condition.relative else _LIMIT)
    # The file of a variant that only OLD has is in another checkout.
    placed = found.pair.b is not None
    return VariantProblem(rule, found.pair.variant, found.name, condition.text, found.text, placed)


def check_report(result: CheckResult) -> CiReport:
    """Return the report on the expectations about a capture."""
    problems = [
        VariantProblem(
            _EXPECTATION, failure.variant, failure.name, failure.unmet.comparison.text, failure.found
        )
        for failure in result.failures
    ]
    return CiReport(
        command="irscope check",
        rules=(_EXPECTATION,),
        subjects=list(dict.fromkeys(one_line(subject_of(variant)) for variant in result.checked)),
        problems=grouped(problems),
        rows=rows_of(problems),
        summary=result.lines[-1],
    )


def lint_report(result: LintResult) -> CiReport:
    """Return the report on the problems that rules found."""
    ci_rules = {
        rule: CiRule(rule.code, rule.name, rule.summary, f"irscope explain {rule.name}")
        for rule in result.rules
    }
    return CiReport(
        command="irscope lint",
        rules=tuple(ci_rules.values()),
        subjects=[one_line(relative_file(path)) for path in result.paths],
        problems=_numbered(
            [_problem(diagnostic, ci_rules[diagnostic.rule]) for diagnostic in result.problems]
        ),
        rows=[
            (
                one_line(relative_file(diagnostic.file)),
                diagnostic.rule.name,
                f"line {diagnostic.line}",
                one_line(diagnostic.message),
            )
            for diagnostic in result.problems
        ],
        summary=lint_summary(result),
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
    """Give each problem its own fingerprint: the second of the same kind in a file gets a number."""
    occurrences: Counter[str] = Counter()
    numbered = []
    for problem in problems:
        number = occurrences[problem.fingerprint]
        occurrences[problem.fingerprint] += 1
        unique = fingerprint(problem.fingerprint, str(number)) if number else problem.fingerprint
        numbered.append(replace(problem, fingerprint=unique))
    return numbered


def ci_lines(report: CiReport, form: str, url: str | None) -> Iterator[str]:
    """Yield the lines of `report` as "github", "junit", "sarif" or "markdown".

    `url` is the address of a full report.
    """
    if form == "github":
        return github_lines(report)
    if form == "junit":
        return junit_lines(report)
    if form == "sarif":
        return iter(to_json(sarif_document(report)).splitlines())
    return markdown_lines(report, url)
