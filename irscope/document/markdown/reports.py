"""The comparison table as Markdown: every column, regardless of width.

`irscope report --format markdown`: for an issue or a pull request, within the limits of a comment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from irscope.document.comparison_content import pair_content
from irscope.document.markdown.document_markdown import folded, markdown_lines, table_row
from irscope.document.report_content import CaptureReport, PairReport
from irscope.document.terminal.row_text import unified
from irscope.model import Variant
from irscope.model.text import clipped, code, markdown_escaped, pluralize
from irscope.workspace import FactColumn, TableSection
from irscope.workspace.table import Cell


def table_markdown(section: TableSection) -> Iterator[str]:
    """Yield the lines of a section as a GitHub table with bold best values."""
    heading = ["#", *(code(column.name) for column in section.configs)]
    heading += [*(column.kind.title for column in section.fact_columns), "note"]
    yield from (
        f"### {code(section.kernel)} {section.target}",
        "",
        *([markdown_escaped(section.origin), ""] if section.origin else ()),
        table_row(heading),
        table_row(["---"] * len(heading)),
    )
    configs = [map(_config, section.cells(column)) for column in section.configs]
    facts = [map(partial(_fact, column), section.cells(column)) for column in section.fact_columns]
    for variant, *cells in zip(section.variants, *configs, *facts, strict=True):
        number = code(f"#{variant.id}")  # GitHub would link a bare #1 to an issue
        yield table_row([number, *cells, _note(section, variant)])


def _config(cell: Cell) -> str:
    return code(cell.text) if cell.text else ""


def _fact(column: FactColumn, cell: Cell) -> str:
    text = code(cell.text) if cell.text and cell.value is not None and not column.numeric else cell.text
    return f"**{text}**" if cell.best else text


def _note(section: TableSection, variant: Variant) -> str:
    if problem := section.facts.problem(variant):
        return code(problem)
    first = section.facts.duplicate_of(variant)
    return "" if first is None else f"code of {code(f'#{first}')}"


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
    """Return the report in at most `limit` characters; it says how much is omitted.

    Rows of the diffs are omitted first, then the last pairs, then rows of the tables.
    """
    title, summary = clipped(report.title, _MAX_WIDTH), f"{report.capture}: {report.summary}"
    lines = [f"# {markdown_escaped(title)}", "", markdown_escaped(summary)]
    for section in report.sections:
        lines += _table(section, limit // _TABLE_SHARE // len(report.sections))
    lines += _devices(report, limit // _TABLE_SHARE)
    pairs = [
        ["", f"## Pair {number}: {code(title)}", "", *markdown_lines(pair_content(pair))]
        for number, (title, pair) in enumerate(zip(report.pair_titles, report.pairs, strict=True), 1)
    ]
    pair_count = len(pairs)
    while pair_count and _size(lines, *pairs[:pair_count]) > limit - _MIN_BLOCK:
        pair_count -= 1
    lines += _with_rows(
        pairs[:pair_count], report.pairs, limit - _MIN_BLOCK - _size(lines, *pairs[:pair_count])
    )
    if pair_count < len(pairs):
        lines += [
            "",
            f"{pluralize(len(pairs) - pair_count, 'pair')} omitted, because the comment would be too long.",
        ]
    return "\n".join(lines) + "\n"


def _table(section: TableSection, room: int) -> Iterator[str]:
    """Yield the table of a section, without columns that do not vary, and with the rows that fit."""
    lines: list[str] = []
    size = 0
    for line in table_markdown(section.showing(section.varying_kinds(_COLUMNS))):
        size += len(line) + 1
        if size > room:
            break
        lines.append(line)
    rule = next((index for index, line in enumerate(lines) if line.startswith("| ---")), len(lines))
    row_count = max(0, len(lines) - rule - 1)
    if row_count:
        yield from ("", *lines)
    if omitted := len(section.variants) - row_count:
        yield from ("", f"{pluralize(omitted, 'variant')} omitted; irscope table shows all.")


def _devices(report: CaptureReport, room: int) -> list[str]:
    """Return the matrices of other devices, or that they are omitted, if they need more than `room`."""
    if not report.devices:
        return []
    from irscope.document.device_content import device_content

    lines = ["", "## Other devices", "", *markdown_lines(device_content(report.devices))]
    fits = _size(lines) <= room
    return lines if fits else ["", "Other devices are omitted; irscope table --devices shows them."]


def _with_rows(pairs: Sequence[Sequence[str]], reports: Sequence[PairReport], room: int) -> Iterator[str]:
    """Yield the pairs, each followed by the rows of its stages; stages share the space equally."""
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
    """Return the rows of a stage that fit, or nothing if only a few would."""
    if room < _MIN_BLOCK:
        return []
    every = [clipped(line, _MAX_WIDTH) for line in unified(pair.diffs[name], _CONTEXT, strict=True)]
    fitting: list[str] = []
    room -= _MIN_BLOCK
    for line in every[:_MAX_LINES]:
        room -= len(line) + 1
        if room < 0:
            break
        fitting.append(line)
    more = len(every) - len(fitting)
    note = ["", f"{pluralize(more, 'more line')} omitted; irscope diff shows them."] if more else []
    return ["", *folded(name, fitting), *note] if fitting else []


def _size(*blocks: Sequence[str]) -> int:
    return sum(len(line) + 1 for block in blocks for line in block)
