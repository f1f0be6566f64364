"""`irscope diff` for a person: findings, a line per stage, then the rows of the stages asked for.

`irscope diff OLD NEW` for a person.

The outcome of `irscope diff --fail-on` for a person.

`irscope why` for a person.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from irscope.document.report_content import PairReport
from irscope.document.terminal.row_text import rows_text, unified
from irscope.document.terminal.styles import PLAIN, Paint
from irscope.model.records import FrozenValue
from irscope.model.text import one_line, pluralize
from irscope.workspace import Change, StageDiff, summarize
from irscope.workspace.diff_rows import reads_differently, source_line_counts

MAX_SOURCE_LINES = 20


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DiffOptions(FrozenValue):
    """The options of `diff_text`: `width` columns (None: a pipe, nothing is cut), `context` equal rows
    next to a change, at most `rows` lines of rows (None: all), and all findings or the most important ones.
    """

    width: int | None = None
    context: int = 3
    rows: int | None = None
    all_findings: bool = False


def diff_text(pair: PairReport, options: DiffOptions, paint: Paint) -> Iterator[str]:
    """Yield the lines of the report."""
    comparison = pair.comparison
    for index, side in enumerate("AB"):
        yield paint(side, "heading") + one_line(f"  {comparison.describe(index)}")
    config = comparison.config_text or "identical configs"
    difference = "; ".join(filter(None, [config, comparison.input_text, comparison.mismatch]))
    yield one_line(f"   {difference}")
    yield from (f"   {origin}" for origin in comparison.origins)
    yield ""
    yield from _findings(pair, options.all_findings, paint)
    yield ""
    yield from _stages(pair, paint)
    left = options.rows
    for name in pair.shown:
        yield ""
        rows = list(_rows(pair.diffs[name], options, paint))
        yield from _header(pair.diffs[name], options, paint)
        yield from rows[:left]
        if left is not None:
            yield from more_rows(len(rows) - left, paint)
            left = max(left - len(rows), 0)


def more_rows(number: int, paint: Paint = PLAIN) -> Iterator[str]:
    """Yield the line that counts omitted rows, if there are any."""
    if number > 0:
        yield paint(f"{pluralize(number, 'more row')}: --all-rows", "dim")


def diff_unified(pair: PairReport, context: int, paint: Paint) -> Iterator[str]:
    """Only the rows asked for, under the two file lines that tools for unified diffs expect."""
    for name in pair.shown:
        for index, sign in enumerate(("---", "+++")):
            yield paint(one_line(f"{sign} {pair.comparison.heading(index)} {name}"), "heading")
        yield from unified(pair.diffs[name], context, paint, strict=True)


def _findings(pair: PairReport, every: bool, paint: Paint) -> Iterator[str]:
    findings = pair.comparison.findings
    listed = findings if every else pair.comparison.main_findings
    yield paint("Findings", "heading")
    for number, finding in enumerate(listed, 1):
        yield one_line(f"{number:>3}. {finding.text}")
    if more := len(findings) - len(listed):
        yield paint(f"     {pluralize(more, 'more finding')}: --all-findings", "dim")
    if not findings:
        yield "     none: no fact differs"


def _stages(pair: PairReport, paint: Paint) -> Iterator[str]:
    yield paint("Stages", "heading")
    if not pair.diffs:
        yield "     A and B have no text stage in common"
    width = max(map(len, pair.diffs), default=0)
    for name, diff in pair.diffs.items():
        yield f"  {name:<{width}}  {one_line(summarize(diff))}"


def _header(diff: StageDiff, options: DiffOptions, paint: Paint) -> Iterator[str]:
    left, right = (document.text.rstrip().count("\n") + 1 for document in (diff.left, diff.right))
    yield paint(f"{diff.stage}: {left:,} and {right:,} lines", "heading")
    quiet = sum(row.change is Change.LAYOUT and not reads_differently(diff, row) for row in diff.rows)
    if quiet:
        yield paint(f"{quiet} have equal text but a changed layout (marked ~ where shown)", "dim")
    if diff.equal:
        yield "equal except for names and locations"
    yield from _source_lines(diff, options.rows is None, paint)


def _rows(diff: StageDiff, options: DiffOptions, paint: Paint) -> Iterator[str]:
    if not diff.equal:
        yield from rows_text(diff, options.width, options.context, paint)


def _source_lines(diff: StageDiff, every: bool, paint: Paint) -> Iterator[str]:
    """Yield how many instructions of each class a source line became.

    An operation can become hundreds.
    """
    changes = source_line_counts(diff)
    for change in changes if every else changes[:MAX_SOURCE_LINES]:
        numbers = f"{change.left:>6} -> {change.right}"
        line = f"{change.line} (A)" if change.removed else str(change.line)
        yield one_line(f"  line {line:<5} {change.opcode:<40} {numbers}")
    more = 0 if every else len(changes) - MAX_SOURCE_LINES
    if more > 0:
        yield paint(f"  {more:,} more by source line: --all-rows", "dim")
