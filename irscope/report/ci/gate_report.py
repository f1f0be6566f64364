"""`irscope diff --fail-on` and `irscope check` as reports for continuous integration."""

from __future__ import annotations

from irscope.model.text import one_line
from irscope.report.ci.problems import CiReport, CiRule, VariantProblem, grouped, rows_of, subject_of
from irscope.workspace import CheckResult, GateResult, Violation

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
    "removed": CiRule(
        "IRS406", "removed-variant", "A variant of OLD has no counterpart", "add the config or launch again"
    ),
    "added": CiRule(
        "IRS407", "added-variant", "A variant of NEW has no counterpart", "compile OLD for the same configs"
    ),
}
GATE_RULES = (_LIMIT, _CHANGE, *_WORDS.values())


def gate_report(result: GateResult) -> CiReport:
    """The report on a gate."""
    found = list(map(_of_violation, result.violations))
    return CiReport(
        command="irscope diff",
        rules=GATE_RULES,
        subjects=_subjects(result),
        problems=grouped(found),
        rows=rows_of(found),
        summary=result.summary,
        errors=[("", one_line(problem)) for problem in result.problems],
        notes=[one_line(note) for note in (*result.notes, *(f"{k}, {text}" for k, text in result.edits))],
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
    """The report on the expectations about a capture."""
    found = [
        VariantProblem(_EXPECTATION, one.variant, one.name, one.unmet.comparison.text, one.found)
        for one in result.failures
    ]
    return CiReport(
        command="irscope check",
        rules=(_EXPECTATION,),
        subjects=list(dict.fromkeys(one_line(subject_of(variant)) for variant in result.checked)),
        problems=grouped(found),
        rows=rows_of(found),
        summary=result.lines[-1],
    )
