"""`irscope diff` for a person: findings, a line per stage, then the rows of the stages asked for."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.model.text import one_line
from irscope.report.pair_report import PairReport
from irscope.report.terminal.rows_text import rows_text, unified
from irscope.report.terminal.styles import Paint
from irscope.workspace import StageDiff, reads_differently, source_line_counts, summarize

# More than a person reads; the JSON has all.
MAX_FINDINGS = 15
MAX_SOURCE_LINES = 20


def diff_text(pair: PairReport, width: int | None, context: int, paint: Paint) -> Iterator[str]:
    """The lines of the report, `width` columns wide (None: a pipe, nothing is cut)."""
    comparison = pair.comparison
    for index, side in enumerate("AB"):
        yield paint(side, "heading") + one_line(f"  {comparison.describe(index)}")
    yield one_line(f"   {comparison.config_text or 'identical configs'}")
    yield ""
    yield from _findings(pair, paint)
    yield ""
    yield from _stages(pair, paint)
    for name in pair.shown:
        yield ""
        yield from _rows(pair.diffs[name], width, context, paint)


def diff_unified(pair: PairReport, context: int, paint: Paint) -> Iterator[str]:
    """Only the rows asked for, under the two file lines that tools for unified diffs expect."""
    for name in pair.shown:
        for index, sign in enumerate(("---", "+++")):
            yield paint(one_line(f"{sign} {pair.comparison.heading(index)} {name}"), "heading")
        yield from unified(pair.diffs[name], context, paint, strict=True)


def _findings(pair: PairReport, paint: Paint) -> Iterator[str]:
    findings = pair.comparison.findings
    yield paint("Findings", "heading")
    for number, finding in enumerate(findings[:MAX_FINDINGS], 1):
        yield one_line(f"{number:>3}. {finding.text}")
    more = len(findings) - MAX_FINDINGS
    if more > 0:
        yield paint(f"     {more} smaller findings are omitted; --format json has all", "dim")
    if not findings:
        yield "     none: no fact differs"


def _stages(pair: PairReport, paint: Paint) -> Iterator[str]:
    yield paint("Stages", "heading")
    if not pair.diffs:
        yield "     A and B have no text stage in common"
    width = max(map(len, pair.diffs), default=0)
    for name, diff in pair.diffs.items():
        yield f"  {name:<{width}}  {one_line(summarize(diff))}"


def _rows(diff: StageDiff, width: int | None, context: int, paint: Paint) -> Iterator[str]:
    left, right = (document.text.rstrip().count("\n") + 1 for document in (diff.left, diff.right))
    yield paint(f"{diff.stage}: {left:,} and {right:,} lines", "heading")
    quiet = sum(bool(row.change) and not reads_differently(diff, row) for row in diff.rows)
    if quiet:
        yield paint(f"{quiet} have equal text but a changed layout (marked ~ where shown)", "dim")
    if diff.equal:
        yield "equal except for names and locations"
        return
    yield from _source_lines(diff, paint)
    yield from rows_text(diff, width, context, paint)


def _source_lines(diff: StageDiff, paint: Paint) -> Iterator[str]:
    """How many instructions of each class a source line became; an operation can become hundreds."""
    changes = source_line_counts(diff)
    for change in changes[:MAX_SOURCE_LINES]:
        numbers = f"{change.left:>6} -> {change.right}"
        line = f"{change.line} (A)" if change.removed else str(change.line)
        yield one_line(f"  line {line:<5} {change.opcode:<40} {numbers}")
    more = len(changes) - MAX_SOURCE_LINES
    if more > 0:
        yield paint(f"  {more} more by source line are omitted; --format json has all", "dim")
