"""`irscope diff` for a person: findings, then the stages in a line each, then the rows asked for."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.diff.opcode_counts import by_source_line
from irscope.diff.rows import StageDiff
from irscope.diff.summary import summarize
from irscope.model.text import one_line
from irscope.report.pair_report import PairReport, heading
from irscope.report.terminal.diff_rows import reads_differently, side_by_side, unified
from irscope.report.terminal.paint import Paint

# Below this a half of the terminal is too narrow for a line of IR.
SIDE_BY_SIDE_WIDTH = 140
# More sentences than one reads; the JSON has all.
MAX_FINDINGS = 15
MAX_SOURCE_LINES = 20


def diff_text(comparison: PairReport, width: int | None, context: int, paint: Paint) -> Iterator[str]:
    """The lines of the report, `width` columns wide (None: a pipe, nothing is cut)."""
    yield from _sides(comparison, paint)
    yield ""
    yield from _findings(comparison, paint)
    yield ""
    yield from _stages(comparison, paint)
    for name in comparison.shown:
        yield ""
        yield from _rows(comparison.diffs[name], width, context, paint)


def diff_unified(comparison: PairReport, context: int, paint: Paint) -> Iterator[str]:
    """Only the rows asked for, under the two file lines that tools for unified diffs expect."""
    for name in comparison.shown:
        for index, sign in enumerate(("---", "+++")):
            yield paint(one_line(f"{sign} {heading(comparison, index)} {name}"), "heading")
        yield from unified(comparison.diffs[name], context, paint, strict=True)


def _sides(comparison: PairReport, paint: Paint) -> Iterator[str]:
    for index, side in enumerate("AB"):
        variant = comparison.variants[index]
        text = f"{heading(comparison, index)}  {variant.kernel.name}  {variant.target}"
        yield paint(side, "heading") + one_line(f"  {text}")
    changes = [f"{name} {a or 'unset'} -> {b or 'unset'}" for name, a, b in comparison.config_changes]
    yield one_line(f"   {', '.join(changes) or 'the same config'}")


def _findings(comparison: PairReport, paint: Paint) -> Iterator[str]:
    yield paint("Findings", "heading")
    for number, finding in enumerate(comparison.findings[:MAX_FINDINGS], 1):
        yield one_line(f"{number:>3}. {finding.text}")
    more = len(comparison.findings) - MAX_FINDINGS
    if more > 0:
        yield paint(f"     {more} smaller ones are left out; --format json has all", "dim")
    if not comparison.findings:
        yield "     none: no fact differs"


def _stages(comparison: PairReport, paint: Paint) -> Iterator[str]:
    yield paint("Stages", "heading")
    if not comparison.diffs:
        yield "     no stage that is text is in both"
    width = max(map(len, comparison.diffs), default=0)
    for name, diff in comparison.diffs.items():
        yield f"  {name:<{width}}  {one_line(summarize(diff))}"


def _rows(diff: StageDiff, width: int | None, context: int, paint: Paint) -> Iterator[str]:
    counts = (f"{document.text.rstrip().count(chr(10)) + 1:,}" for document in (diff.left, diff.right))
    title = f"{diff.stage}: {' and '.join(counts)} lines"
    yield paint(title, "heading")
    quiet = sum(bool(row.change) and not reads_differently(diff, row) for row in diff.rows)
    if quiet:
        yield paint(f"{quiet} of them read the same but carry a changed layout (~ where shown)", "dim")
    if diff.equal:
        yield "equal but for names and locations"
        return
    if diff.left.language != "mlir":
        yield from _by_source_line(diff, paint)
    if width is not None and width >= SIDE_BY_SIDE_WIDTH:
        yield from side_by_side(diff, context, width, paint)
    else:
        yield from unified(diff, context, paint)


def _by_source_line(diff: StageDiff, paint: Paint) -> Iterator[str]:
    """Where one operation has become hundreds of instructions: what each source line was made into."""
    changes = by_source_line(diff)
    for change in changes[:MAX_SOURCE_LINES]:
        numbers = f"{change.left:>6} -> {change.right}"
        yield one_line(f"  line {change.line:<5} {change.opcode:<40} {numbers}")
    more = len(changes) - MAX_SOURCE_LINES
    if more > 0:
        yield paint(f"  {more} more by source line are left out; --format json has all", "dim")
