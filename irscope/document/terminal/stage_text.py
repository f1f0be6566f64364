"""The stages of a diff on a terminal: how their lines changed, then the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irscope.document.blocks import StageDiffs
from irscope.document.terminal.row_text import rows_text, unified
from irscope.document.terminal.styles import PLAIN, Paint
from irscope.model.text import one_line, pluralize
from irscope.workspace import Change, StageDiff
from irscope.workspace.diff_rows import reads_differently, source_line_counts

if TYPE_CHECKING:
    from irscope.document.report_content import PairReport

MAX_SOURCE_LINES = 20


def stages_text(block: StageDiffs, width: int | None, paint: Paint) -> Iterator[str]:
    """Yield the rows of each stage, at most `most` in all, below its heading if the block has headings."""
    left = block.most
    for diff in block.diffs:
        rows = [] if diff.equal and block.headed else list(rows_text(diff, width, block.context, paint))
        if block.headed:
            yield ""
            yield from _header(diff, block.most is None, paint)
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


def _header(diff: StageDiff, every: bool, paint: Paint) -> Iterator[str]:
    left, right = (document.text.rstrip().count("\n") + 1 for document in (diff.left, diff.right))
    yield paint(f"{diff.stage}: {left:,} and {right:,} lines", "heading")
    quiet = sum(row.change is Change.LAYOUT and not reads_differently(diff, row) for row in diff.rows)
    if quiet:
        yield paint(f"{quiet} have equal text but a changed layout (marked ~ where shown)", "dim")
    if diff.equal:
        yield "equal except for names and locations"
    yield from _source_lines(diff, every, paint)


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
