"""The findings as a table: what differs, in A, in B, and where to look at it.

"Occupancy: 50% -> 12.5%, limited by registers" is the row Occupancy | 50% | 12.5%, limited by registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irscope.facts.registry import FACT_NAMED
from irscope.findings.finding import Finding, Severity
from irscope.model.text import display_line
from irscope.workspace.comparison import Comparison
from irscope.workspace.table import STATE
from irscope.workspace.why_lines import StageLine, evidence_line

# A longer value of A, or several instructions, are easier to read in the sentence. "[4, 8]" is one value.
# Another change (`[8, 4], warpsPerCTA [8, 1] -> [4, 1]`) is not a value of B.
_MOST_WORDS = 4
# The signs of severities, so that no color is needed, and whether a color stresses them.
_SIGNS = (
    (Severity.FAILURE, "x"), (Severity.IDENTICAL, "="), (Severity.SPILLS, "!"), (Severity.OCCUPANCY, "•"),
    (Severity.COUNT, "·"),
)  # fmt: skip


@dataclass(frozen=True)
class FindingRow:
    """A finding as a row: what differs, its value in A and in B, and where to look at it.

    `a` is "" if the finding is not about two short values; `what` is the whole sentence then. `sign` says how
    much it matters: x for a failure, = for equal code, ! for another result, tensor cores and spills, a dot
    for loops, memory and occupancy, a small dot for all others.
    """

    finding: Finding
    sign: str
    what: str
    a: str
    b: str
    where: str
    target: FindingTarget


@dataclass(frozen=True)
class FindingTarget:
    """The place where a finding can be seen: a line of a stage, else a screen, else a column of the table.

    `screen` is "why", "passes" or "layout", `column` the name of a fact, and `subject` what to look for
    there. `variant` is the id of the variant whose error a finding is about.
    """

    line: StageLine | None = None
    screen: str = ""
    column: str = ""
    subject: str = ""
    variant: int | None = None


def finding_rows(pair: Comparison, findings: Sequence[Finding]) -> list[FindingRow]:
    """Return the findings as rows, in their order."""
    return [_row(pair, finding) for finding in findings]


def _row(pair: Comparison, finding: Finding) -> FindingRow:
    target = _target(pair, finding)
    sign = next(sign for severity, sign in _SIGNS if finding.severity >= severity)
    what, a, b = finding.cells
    if " -> " in b or (not a.startswith("[") and (", " in a or len(a.split()) > _MOST_WORDS)):
        what, a, b = finding.text, "", ""
    return FindingRow(finding, sign, what, a, b, _where(pair, target), target)


def _target(pair: Comparison, finding: Finding) -> FindingTarget:
    line = evidence_line(finding)
    if line is not None:
        return FindingTarget(line)
    screen, column = finding.declared.screen, finding.declared.column
    if column == STATE:
        variant = pair.b if finding.subject == "B" else pair.a
        return FindingTarget(column=column, variant=variant.id)
    if column:
        return FindingTarget(column=column)
    if screen == "passes" and not any(pair.workspace.passes(variant) for variant in pair.variants):
        screen = "why"
    return FindingTarget(screen=screen, subject=finding.subject)


def _where(pair: Comparison, target: FindingTarget) -> str:
    if target.line is not None:
        return f"{target.line.stage}:{target.line.line + 1}{'' if target.line.right else ' of A'}"
    if target.variant is not None:
        return f"error of #{target.variant}"
    if target.column:
        return f"column {display_line(FACT_NAMED[target.column].title)}"
    return f"{target.screen} screen"
