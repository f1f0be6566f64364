"""`irscope bisect --format markdown`: a report to paste into an issue."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.bisecting.bisection import Bisection
from irscope.bisecting.conclusion import EvidenceTable, conclusion, evidence
from irscope.model.text import code, markdown_escaped
from irscope.report.markdown.diff_markdown import folded
from irscope.report.terminal.bisect_text import made_text, more_lines, python_lines, titled_changes
from irscope.report.terminal.rows_text import unified

_CONTEXT = 1


def bisect_markdown(found: Bisection, most_rows: int) -> Iterator[str]:
    """The lines: the conclusion, then the evidence in tables and in blocks that a page can fold."""
    yield f"### {code(found.kernel)} {found.target}"
    yield from ("", code(found.name)) if found.name else ()
    yield ""
    yield from (f"- {markdown_escaped(line)}" for line in conclusion(found))
    for table in evidence(found):
        yield from _table(table)
    for title, changes in titled_changes(found):
        yield from ("", f"**{markdown_escaped(title)}**", "")
        yield from (f"- {markdown_escaped(line)}" for line in python_lines(changes))
        rows = list(unified(changes.diff, _CONTEXT, strict=True))
        yield from folded(
            f"{changes.stage}, good to bad", [*rows[:most_rows], *more_lines(len(rows) - most_rows)]
        )
    yield from ("", f"Made by irscope bisect: {made_text(found)}.")


def _table(table: EvidenceTable) -> Iterator[str]:
    yield from ("", f"**{markdown_escaped(table.title)}**", "")
    yield _row(table.heading)
    yield _row(["---"] * len(table.heading), escaped=True)
    yield from (_row(row) for row in table.rows)


def _row(cells: tuple[str, ...] | list[str], escaped: bool = False) -> str:
    return f"| {' | '.join(cell if escaped else markdown_escaped(cell) for cell in cells)} |"
