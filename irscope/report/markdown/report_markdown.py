"""`irscope report --format markdown`: for an issue or a pull request, within the limits of a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.model.text import clipped, code, markdown_escaped, pluralize
from irscope.report.capture_report import CaptureReport
from irscope.report.markdown.diff_markdown import folded, pair_summary
from irscope.report.markdown.table_markdown import table_markdown
from irscope.report.pair_report import PairReport
from irscope.report.terminal.rows_text import unified
from irscope.workspace import TableSection, default_kinds, table_view, varying_kinds

# The maximum length of a comment on GitHub, in characters.
LIMIT = 65_536
_CONTEXT = 2
# The tables take at most a third of the space.
_TABLE_SHARE = 3
# Space for the frame of a folded block and a few lines; with less, the block is omitted.
_MIN_BLOCK = 400
_MAX_WIDTH = 300
# More rows of a stage than a person reads in a comment.
_MAX_LINES = 100
# The columns of a comment's table, if they vary; the page has all.
_COLUMNS = (
    "ms", "chosen", "registers", "stack", "n_spills", "shared", "occupancy", "load_width", "matrix",
    "instructions", "conversions", "seconds",
)  # fmt: skip


def report_markdown(report: CaptureReport, limit: int = LIMIT) -> str:
    """The report in at most `limit` characters; it says how much is omitted.

    Rows of the diffs are omitted first, then the last pairs, then rows of the tables.
    """
    title, summary = clipped(report.title, _MAX_WIDTH), f"{report.capture}: {report.summary}"
    lines = [f"# {markdown_escaped(title)}", "", markdown_escaped(summary)]
    for section in report.sections:
        lines += _table(section, limit // _TABLE_SHARE // len(report.sections))
    pairs = [
        ["", f"## Pair {number}: {code(title)}", "", *pair_summary(pair)]
        for number, (title, pair) in enumerate(zip(report.pair_titles, report.pairs, strict=True), 1)
    ]
    kept = len(pairs)
    while kept and _size(lines, *pairs[:kept]) > limit - _MIN_BLOCK:
        kept -= 1
    lines += _with_rows(pairs[:kept], report.pairs, limit - _MIN_BLOCK - _size(lines, *pairs[:kept]))
    if kept < len(pairs):
        lines += [
            "",
            f"{pluralize(len(pairs) - kept, 'pair')} omitted, because the comment would be too long.",
        ]
    return "\n".join(lines) + "\n"


def _table(section: TableSection, room: int) -> Iterator[str]:
    """The table of a section, without columns that do not vary, and with the rows that fit."""
    kinds = varying_kinds(section, [kind for kind in default_kinds(section) if kind.name in _COLUMNS])
    lines: list[str] = []
    size = 0
    for line in table_markdown(table_view(section, kinds)):
        size += len(line) + 1
        if size > room:
            break
        lines.append(line)
    rule = next((place for place, line in enumerate(lines) if line.startswith("| ---")), len(lines))
    kept = max(0, len(lines) - rule - 1)
    if kept:
        yield from ("", *lines)
    if omitted := len(section.entries) - kept:
        yield from ("", f"{pluralize(omitted, 'variant')} omitted; irscope table shows all.")


def _with_rows(pairs: Sequence[Sequence[str]], reports: Sequence[PairReport], room: int) -> Iterator[str]:
    """The pairs, each followed by the rows of its stages; every stage gets an equal share of the space."""
    differing = [
        [name for name in report.shown if not report.diffs[name].equal] for report in reports[: len(pairs)]
    ]
    left = sum(map(len, differing))
    without = 0
    for pair, names, report in zip(pairs, differing, reports, strict=False):
        yield from pair
        for name in names:
            block = _block(report, name, room // left)
            without += not block
            room -= _size(block)
            left -= 1
            yield from block
    if without:
        yield from ("", f"The rows of {pluralize(without, 'stage')} are omitted; irscope diff shows them.")


def _block(pair: PairReport, name: str, room: int) -> list[str]:
    """The rows of a stage that fit; nothing if only a few would."""
    if room < _MIN_BLOCK:
        return []
    every = [clipped(line, _MAX_WIDTH) for line in unified(pair.diffs[name], _CONTEXT, strict=True)]
    shown: list[str] = []
    room -= _MIN_BLOCK
    for line in every[:_MAX_LINES]:
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    more = len(every) - len(shown)
    note = ["", f"{pluralize(more, 'more line')} omitted; irscope diff shows them."] if more else []
    return [*folded(name, shown), *note] if shown else []


def _size(*blocks: Sequence[str]) -> int:
    return sum(len(line) + 1 for block in blocks for line in block)
