"""`irscope report --format markdown`: for an issue or a pull request, no longer than one may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.model.text import clipped, code, markdown_escaped, pluralize
from irscope.report.markdown.diff_markdown import folded, in_words
from irscope.report.pair_report import PairReport
from irscope.report.report import Report
from irscope.report.table_formats import table_markdown
from irscope.report.terminal.diff_rows import unified
from irscope.workspace.table import TableSection, default_kinds, telling_kinds

# What GitHub takes in one comment, in characters.
LIMIT = 65_536
_MOST_FINDINGS = 10
_CONTEXT = 2
# The tables have at most this share of the room.
_TABLES = 3
# What is not to be had in less is left out: the frame of a folded block and a few lines.
_LEAST = 400
_LONGEST_LINE = 300
# More rows of a stage than one reads in a comment.
_MOST_LINES = 100
# What the table of a comment has of what varies; the page has all of it.
_COLUMNS = (
    "ms", "chosen", "registers", "stack", "n_spills", "shared", "occupancy", "load_width", "matrix",
    "instructions", "conversions", "seconds",
)  # fmt: skip


def report_markdown(report: Report, limit: int = LIMIT) -> str:
    """The report, of at most `limit` characters; what is left out is counted.

    First to go are the rows of the diffs, then pairs from the last on, then rows of the tables.
    """
    title, summary = clipped(report.title, _LONGEST_LINE), f"{report.capture}: {report.summary}"
    lines = [f"# {markdown_escaped(title)}", "", markdown_escaped(summary)]
    for section in report.sections:
        lines += _table(section, limit // _TABLES // len(report.sections))
    pairs = [
        ["", f"## Pair {number}: {code(title)}", "", *in_words(comparison, _MOST_FINDINGS)]
        for number, (title, comparison) in enumerate(
            zip(report.pair_titles, report.comparisons, strict=True), 1
        )
    ]
    kept = len(pairs)
    while kept and _size(lines, *pairs[:kept]) > limit - _LEAST:
        kept -= 1
    lines += _with_rows(pairs[:kept], report.comparisons, limit - _LEAST - _size(lines, *pairs[:kept]))
    if kept < len(pairs):
        lines += ["", f"{pluralize(len(pairs) - kept, 'pair')} left out, as this would be too long."]
    return "\n".join(lines) + "\n"


def _table(section: TableSection, room: int) -> Iterator[str]:
    """The section's table, without what is the same in all rows; as many rows as there is room for."""
    kinds = telling_kinds(section, [kind for kind in default_kinds(section) if kind.name in _COLUMNS])
    lines = table_markdown(section, kinds).rstrip().split("\n")
    heading = len(lines) - len(section.entries)
    kept = len(lines)
    while kept > heading and _size(lines[:kept]) > room:
        kept -= 1
    if kept > heading:
        yield from ("", *lines[:kept])
    if kept < len(lines):
        yield from ("", f"{pluralize(len(lines) - kept, 'variant')} left out.")


def _with_rows(pairs: Sequence[Sequence[str]], comparisons: Sequence[PairReport], room: int) -> Iterator[str]:
    """The pairs, each followed by the rows of its stages; every stage has the same share of the room."""
    differing = [
        [name for name in comparison.shown if not comparison.diffs[name].equal]
        for comparison in comparisons[: len(pairs)]
    ]
    left = sum(map(len, differing))
    without = 0
    for pair, names, comparison in zip(pairs, differing, comparisons, strict=False):
        yield from pair
        for name in names:
            block = _block(comparison, name, room // left)
            without += not block
            room -= _size(block)
            left -= 1
            yield from block
    if without:
        yield from ("", f"The rows of {pluralize(without, 'stage')} left out: irscope diff has them.")


def _block(comparison: PairReport, name: str, room: int) -> list[str]:
    """The rows of a stage, as many as there is room for; nothing where that is next to nothing."""
    if room < _LEAST:
        return []
    every = [clipped(line, _LONGEST_LINE) for line in unified(comparison.diffs[name], _CONTEXT, strict=True)]
    shown: list[str] = []
    room -= _LEAST
    for line in every[:_MOST_LINES]:
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    more = len(every) - len(shown)
    note = ["", f"{pluralize(more, 'more line')} left out: irscope diff has them."] if more else []
    return [*folded(name, shown), *note] if shown else []


def _size(*blocks: Sequence[str]) -> int:
    return sum(len(line) + 1 for block in blocks for line in block)
